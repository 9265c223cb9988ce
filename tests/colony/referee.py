"""Colony again in plain Python, cell by cell from the rules' text, sharing nothing with the package under test."""

from __future__ import annotations

CELLS = [(q, r) for r in range(-4, 5) for q in range(-4, 5) if -4 <= q + r <= 4]
OFFSETS = [(q, r) for r in range(-2, 3) for q in range(-2, 3)]
PASS = 793


def distance(a: tuple[int, int], b: tuple[int, int]) -> int:
    dq, dr = b[0] - a[0], b[1] - a[1]
    return (abs(dq) + abs(dr) + abs(dq + dr)) // 2


JUMPS = [offset for offset in OFFSETS if distance((0, 0), offset) == 2]


class Referee:
    """One game; ``board`` maps cells to "x", "o", "." or "#", and x moves first."""

    def __init__(self, board: str, start: str, holes_toward: str, claim_empty: bool, starter: int, max_turns: int):
        self.claim_empty, self.max_turns = claim_empty, max_turns
        self.seat = {"x": starter, "o": 1 - starter}
        self.to_move, self.turn = "x", 0
        self.moves = {"x": 0, "o": 0}
        self.board = dict.fromkeys(CELLS, ".")
        if board == "58":
            for q, r in [(1, 0), (0, -1), (-1, 1)]:
                self.board[(q, r) if holes_toward == "first" else (-q, -r)] = "#"
        corners = {"x": [(4, 0), (0, -4), (-4, 4)], "o": [(-4, 0), (0, 4), (4, -4)]}
        for side, cells in corners.items():
            for cell in cells if start == "three" else cells[:1]:
                self.board[cell] = side

    def moves_of(self, side: str) -> set[int]:
        actions = set()
        for origin in CELLS:
            if self.board[origin] != side:
                continue
            for number, target in enumerate(CELLS):
                if self.board[target] != ".":
                    continue
                if distance(origin, target) == 1:
                    actions.add(number * 13)
                elif distance(origin, target) == 2:
                    offset = (target[0] - origin[0], target[1] - origin[1])
                    actions.add(number * 13 + 1 + JUMPS.index(offset))
        return actions

    def legal(self) -> set[int]:
        return self.moves_of(self.to_move) or {PASS}

    def count(self, side: str) -> int:
        return sum(owner == side for owner in self.board.values())

    def play(self, action: int) -> None:
        other = "o" if self.to_move == "x" else "x"
        if action != PASS:
            target = CELLS[action // 13]
            if action % 13:
                dq, dr = JUMPS[action % 13 - 1]
                self.board[target[0] - dq, target[1] - dr] = "."
            self.board[target] = self.to_move
            for cell in CELLS:
                if distance(cell, target) == 1 and self.board[cell] == other:
                    self.board[cell] = self.to_move
            self.moves[self.to_move] += 1
        self.turn += 1
        self.to_move = other

    def over(self) -> bool:
        can = [bool(self.moves_of(side)) for side in "xo"]
        if not any(can) or 0 in (self.count("x"), self.count("o")) or self.turn >= self.max_turns:
            return True
        return self.claim_empty and can[0] != can[1]

    def result(self) -> list[float]:
        """Rewards by seat of a game that is over."""
        score = {side: self.count(side) for side in "xo"}
        can = {side: bool(self.moves_of(side)) for side in "xo"}
        if self.claim_empty and can["x"] != can["o"]:
            score["x" if can["x"] else "o"] += self.count(".")
        lead = (score["x"] > score["o"]) - (score["x"] < score["o"])
        return [float(lead if self.seat["x"] == seat else -lead) for seat in (0, 1)]

    def observation(self, seat: int) -> list[list[list[bool]]]:
        mine = "x" if self.seat["x"] == seat else "o"
        theirs = "o" if mine == "x" else "x"
        left = max(self.max_turns - self.turn, 0)
        facts = [self.claim_empty, *(left >> bit & 1 == 1 for bit in range(10))]
        symbols = [[self.board.get((q, r)) for q in range(-4, 5)] for r in range(-4, 5)]
        return [[[s == mine, s == theirs, s == ".", *facts] for s in row] for row in symbols]

    def text(self) -> str:
        rows = ["".join(self.board[cell] for cell in CELLS if cell[1] == r) for r in range(-4, 5)]
        return f"{'/'.join(rows)} {self.to_move} {self.turn} {self.seat['x']}"
