"""The rules of Stigmergy in plain Python, by brute force on axial coordinates: what the package is held to."""

DIRECTIONS = [(1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1)]


class Referee:
    """One game. Colours are "x" (Black) and "o"; a move is a cell's number (in (r, q) order) or "pass"."""

    def __init__(self, side, stones=None, to_move="x", passes=0):
        n = side - 1
        span = range(-n, n + 1)
        self.cells = [(q, r) for r in span for q in span if abs(q + r) <= n]
        self.number = {cell: i for i, cell in enumerate(self.cells)}
        self.adjacent = [sum((q + dq, r + dr) in self.number for dq, dr in DIRECTIONS) for q, r in self.cells]
        self.stones = dict(stones or {})  # number -> colour
        self.to_move = to_move
        self.passes = passes
        self._seen = {}

    @property
    def other(self):
        return "o" if self.to_move == "x" else "x"

    def seen(self, cell):
        """The colours of the stones in sight, as a string."""
        if cell not in self._seen:
            found = ""
            for dq, dr in DIRECTIONS:
                q, r = self.cells[cell]
                at = cell
                while at is not None and (at == cell or at not in self.stones):
                    q, r = q + dq, r + dr
                    at = self.number.get((q, r))
                found += self.stones.get(at, "")
            self._seen[cell] = found
        return self._seen[cell]

    def controls(self, colour, cell):
        return self.seen(cell).count(colour) > self.adjacent[cell] / 2

    def placements(self):
        return {c for c in range(len(self.cells)) if c not in self.stones and not self.controls(self.other, c)}

    def flips(self):
        return {c for c, colour in self.stones.items() if colour == self.other and self.controls(self.to_move, c)}

    def legal(self):
        everything_held = all(self.controls(self.to_move, cell) for cell in self.placements())
        return self.placements() | self.flips() | ({"pass"} if everything_held else set())

    def play(self, move):
        if move == "pass":
            self.passes += 1
        else:
            self.stones[move] = self.to_move
            self.passes = 0
            self._seen = {}
        self.to_move = self.other

    @property
    def over(self):
        return self.passes == 2

    def score(self):
        """(Black's, White's) without komi."""
        points = {"x": 0, "o": 0}
        for cell in range(len(self.cells)):
            for colour in points:
                held = self.stones.get(cell)
                points[colour] += held == colour or (held is None and self.controls(colour, cell))
        return points["x"], points["o"]
