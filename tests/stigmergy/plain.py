"""Stigmergy on strings with a negamax, in plain Python, and the solved boards, for the tests of the solver."""

import functools

from audamir_envs.stigmergy import solver

table = functools.cache(solver.solve)

SIX = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))


class Plain:
    """Stigmergy by coordinates and strings of "x" (Black), "o" and ".", and a negamax over it, for the side to move."""

    def __init__(self, side):
        n = side - 1
        self.cells = [(q, r) for r in range(-n, n + 1) for q in range(-n, n + 1) if abs(q + r) <= n]
        letters = {r: "abcdefg"[n - r] for _, r in self.cells}
        rows = {r: [q for q, row in self.cells if row == r] for _, r in self.cells}
        self.labels = [f"{letters[r]}{rows[r].index(q) + 1}" for q, r in self.cells]
        self.rays = []
        for q, r in self.cells:
            lines = ([(q + k * dq, r + k * dr) for k in range(1, 2 * n + 1)] for dq, dr in SIX)
            self.rays.append([[self.cells.index(at) for at in line if at in self.cells] for line in lines])
        self.best = functools.cache(self._best)
        self.control = functools.cache(self._control)

    def _control(self, board, colour):
        """The cells that a colour controls."""
        found = set()
        for cell, rays in enumerate(self.rays):
            stones = [next((board[at] for at in ray if board[at] != "."), ".") for ray in rays]
            adjacent = sum(len(ray) > 0 for ray in rays)
            if 2 * stones.count(colour) > adjacent:
                found.add(cell)
        return found

    def controls(self, board, cell, colour):
        return cell in self.control(board, colour)

    def actions(self, board, mover):
        enemy = "xo"[mover == "x"]
        found, open_cells = [], 0
        for cell, stone in enumerate(board):
            mine, theirs = self.controls(board, cell, mover), self.controls(board, cell, enemy)
            if (stone == "." and not theirs) or (stone == enemy and mine):
                found.append(cell)
            open_cells += stone == "." and not mine and not theirs
        return found + (["pass"] if not open_cells else [])

    def score(self, board, mover):
        enemy = "xo"[mover == "x"]
        mine = sum(s == mover or (s == "." and self.controls(board, c, mover)) for c, s in enumerate(board))
        return mine - sum(s == enemy or (s == "." and self.controls(board, c, enemy)) for c, s in enumerate(board))

    def after(self, board, mover, passed, action):
        """The margin for the mover after its action."""
        enemy = "xo"[mover == "x"]
        if action == "pass":
            return self.score(board, mover) if passed else -self.best(board, enemy, True)
        return -self.best(board[:action] + mover + board[action + 1 :], enemy, False)

    def _best(self, board, mover, passed):
        return max(self.after(board, mover, passed, action) for action in self.actions(board, mover))

    def arguments(self, board, mover, passed):
        stones = [[label for label, s in zip(self.labels, board, strict=True) if s == colour] for colour in "xo"]
        return *stones, "black" if mover == "x" else "white", passed
