"""Hexagonal boards drawn: where the cells are, their fields and labels, pieces and the lines of text below."""

from __future__ import annotations

from audamir_envs.drawing.places import Place
from audamir_envs.drawing.scene import Circle, Point, Polygon, Scene, Shape, Text, axial_centre, hexagon, ink_on
from audamir_envs.hexboard import HexBoard

GROUND, CELL, EDGE, INK = "#f7f5ef", "#e4ddca", "#b3a98f", "#3a362d"
_LABEL, _LABEL_ON_DARK = "#5c5442", "#f4f1e8"
_RADIUS = 26.0
_PIECE, _LIFT = 0.56 * _RADIUS, 0.16 * _RADIUS  # pieces lie above the middle, so that the labels stay free
_LABEL_PLACE = 0.62 * _RADIUS  # below the middle of the cell
_MARGIN, _LINE = 16.0, 22.0


class BoardPicture:
    """A scene of one board in the making. Shapes are drawn in the order of the calls."""

    def __init__(self, board: HexBoard, lines: int, min_width: float = 380.0) -> None:
        """Args: lines: of text below the board; min_width: so that the text fits below the smallest boards."""
        self._board = board
        self._lines = lines
        self.width = max(board.width * _RADIUS * 3**0.5, min_width) + 2 * _MARGIN
        self.height = (1.5 * board.width + 0.5) * _RADIUS + 2 * _MARGIN + lines * _LINE
        self._shapes: list[Shape] = []

    def add(self, *shapes: Shape) -> None:
        """Any other shapes."""
        self._shapes += shapes

    def centre(self, cell: int) -> Point:
        """The middle of a cell."""
        x, y = axial_centre(float(self._board.q[cell]), float(self._board.r[cell]), _RADIUS)
        return x + self.width / 2, y + _MARGIN + (1.5 * (self._board.side - 1) + 1) * _RADIUS

    def piece_centre(self, cell: int) -> Point:
        """Where a piece on a cell lies."""
        x, y = self.centre(cell)
        return x, y - _LIFT

    def cells(self, fills: list[str]) -> None:
        """Every cell in its colour with its label."""
        for cell, fill in enumerate(fills):
            x, y = self.centre(cell)
            outline = hexagon(x, y, _RADIUS)
            ink = ink_on(fill, _LABEL, _LABEL_ON_DARK, INK)
            self.add(
                Polygon(outline, fill=fill, stroke=EDGE, stroke_width=1.0),
                Text(x, y + _LABEL_PLACE, self._board.labels[cell], size=9.5, fill=ink),
            )

    def outline(self, cell: int, colour: str, width: float = 3.0) -> None:
        """Marks a cell inside its border."""
        self.add(Polygon(hexagon(*self.centre(cell), 0.93 * _RADIUS), stroke=colour, stroke_width=width))

    def piece(self, cell: int, colours: tuple[str, str], mark: str = "") -> None:
        """A piece in its colour, with an edge, and a mark on it that tells sides apart without colours."""
        self.add(*_piece(*self.piece_centre(cell), _PIECE, colours, mark))

    def ring(self, cell: int, colour: str, dash: tuple[float, float] | None = None, wider: float = 0.0) -> None:
        """A ring where a piece on the cell has its edge, or wider."""
        self.add(Circle(*self.piece_centre(cell), _PIECE + wider, stroke=colour, stroke_width=3.0, dash=dash))

    def line(self, number: int, parts: list[tuple[tuple[str, str] | None, str, str]]) -> None:
        """A line of text below the board: parts of a small piece (its colours, or none), the mark on it, and words."""
        size, small = 13.0, 7.0
        lengths = [(2 * small + 5 if colours else 0) + text_width(words, size) for colours, _, words in parts]
        gap = 14.0
        x = (self.width - sum(lengths) - gap * (len(parts) - 1)) / 2
        y = self.height - _MARGIN - (self._lines - 1 - number) * _LINE
        for (colours, mark, words), length in zip(parts, lengths, strict=True):
            start = x
            if colours:
                self.add(*_piece(x + small, y, small, colours, mark))
                start += 2 * small + 5
            if len(parts) == 1 and not colours:
                self.add(Text(self.width / 2, y, words, size=size, fill=INK))
            else:
                self.add(Text(start, y, words, size=size, fill=INK, anchor="start"))
            x += length + gap

    def places(self) -> tuple[Place, ...]:
        """The cells as places to click on."""
        return tuple(
            Place(label, self.centre(cell), hexagon(*self.centre(cell), _RADIUS))
            for cell, label in enumerate(self._board.labels)
        )

    def scene(self, title: str) -> Scene:
        """What was drawn."""
        return Scene(self.width, self.height, tuple(self._shapes), background=GROUND, title=title)


def text_width(words: str, size: float) -> float:
    """About how wide a text in Helvetica is."""
    return 0.54 * size * len(words)


def _piece(x: float, y: float, radius: float, colours: tuple[str, str], mark: str) -> list[Shape]:
    fill, edge = colours
    shapes: list[Shape] = [Circle(x, y, radius, fill=fill, stroke=edge, stroke_width=2.0 if radius > 10 else 1.2)]
    if mark:
        shapes.append(Text(x, y, mark, size=round(1.1 * radius), fill=ink_on(fill, "#ffffff", "#000000"), bold=True))
    return shapes
