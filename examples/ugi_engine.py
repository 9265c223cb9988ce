"""A player of Colony as a UGI engine, in plain Python and without this package: the move that turns most pieces.

    audamir evaluate colony-v0 "ugi:python examples/ugi_engine.py" weak --games 20

It reads positions and writes moves in the notation of docs/colony.md; every other line of it is the protocol.
"""

import random
import sys

SIDE = 5
CELLS = [(q, r) for r in range(1 - SIDE, SIDE) for q in range(1 - SIDE, SIDE) if abs(q + r) < SIDE]
ROWS = [[cell for cell in CELLS if cell[1] == r] for r in range(1 - SIDE, SIDE)]
LABEL = {cell: f"{'ihgfedcba'[r]}{place + 1}" for r, row in enumerate(ROWS) for place, cell in enumerate(row)}


def distance(a, b):
    """Steps between two cells."""
    q, r = a[0] - b[0], a[1] - b[1]
    return max(abs(q), abs(r), abs(q + r))


NEAR = {cell: [other for other in CELLS if distance(cell, other) == 1] for cell in CELLS}
FAR = {cell: [other for other in CELLS if distance(cell, other) == 2] for cell in CELLS}


class Position:
    """What stands where (``x``, ``o``, ``.``, ``#``) and who moves."""

    def __init__(self, text):
        rows, self.mover, turn, _ = text.split()
        symbols = rows.replace("/", "")
        self.board, self.turn = dict(zip(CELLS, symbols, strict=True)), int(turn)

    def moves(self):
        """(gain, origin or None, target) of every legal move."""
        own, enemy = self.mover, "o" if self.mover == "x" else "x"
        for target in (cell for cell in CELLS if self.board[cell] == "."):
            turned = sum(self.board[cell] == enemy for cell in NEAR[target])
            if any(self.board[cell] == own for cell in NEAR[target]):
                yield turned + 1, None, target
            yield from ((turned, cell, target) for cell in FAR[target] if self.board[cell] == own)

    def play(self, text):
        """Makes a move; ``pass`` changes the side alone."""
        own, enemy = self.mover, "o" if self.mover == "x" else "x"
        if text != "pass":
            *origin, target = ({label: cell for cell, label in LABEL.items()}[part] for part in text.split("-"))
            for cell in origin:
                self.board[cell] = "."
            self.board[target] = own
            self.board.update({cell: own for cell in NEAR[target] if self.board[cell] == enemy})
        self.mover, self.turn = enemy, self.turn + 1

    def best(self):
        """The notation of a move that gains most, ties broken at random."""
        moves = list(self.moves())
        if not moves:
            return "pass"
        gain = max(move[0] for move in moves)
        _, origin, target = random.choice([move for move in moves if move[0] == gain])
        return LABEL[target] if origin is None else f"{LABEL[origin]}-{LABEL[target]}"


def main():
    """Answers lines until ``quit`` or the end of the input."""
    start = "x...o/....../......./...#..../o....#..x/...#..../......./....../x...o x 0 0"
    position = Position(start)
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["ugi"]:
            print("id name greedy\nid author the examples of audamir-envs\nugiok")
        elif words == ["isready"]:
            print("readyok")
        elif words[:1] == ["position"]:
            text, _, moves = line.strip().partition(" moves ")
            position = Position(start if words[1] == "startpos" else text.split(" ", 2)[2])
            for move in moves.split():
                position.play(move)
        elif words[:1] == ["go"]:
            print(f"bestmove {position.best()}")
        elif words == ["quit"]:
            break
        sys.stdout.flush()


if __name__ == "__main__":
    main()
