"""A picture as a list of plain shapes that writers turn into SVG, pixels or JSON. Units: pixels, y grows downwards."""

from __future__ import annotations

import dataclasses
import math

Point = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Polygon:
    """A closed outline. Colours are ``#rrggbb`` or None for "not drawn"."""

    points: tuple[Point, ...]
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0


@dataclasses.dataclass(frozen=True)
class Circle:
    """A disc or ring; ``dash`` = (drawn, left out) lengths along the ring."""

    x: float
    y: float
    radius: float
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0
    dash: tuple[float, float] | None = None


@dataclasses.dataclass(frozen=True)
class Line:
    """A straight line."""

    start: Point
    end: Point
    stroke: str = "#000000"
    stroke_width: float = 1.0


@dataclasses.dataclass(frozen=True)
class Text:
    """One line of text, vertically centred at y; ``anchor`` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float = 12.0
    fill: str = "#000000"
    anchor: str = "middle"
    bold: bool = False


Shape = Polygon | Circle | Line | Text


@dataclasses.dataclass(frozen=True)
class Scene:
    """Shapes in drawing order on a background; ``title`` says in words what is seen."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    background: str = "#ffffff"
    title: str = ""


def hexagon(x: float, y: float, radius: float) -> tuple[Point, ...]:
    """Corners of a hexagon with a corner on top, as cells in horizontal rows have."""
    angles = [math.radians(60 * k - 90) for k in range(6)]
    return tuple((x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles)


def axial_centre(q: float, r: float, radius: float) -> Point:
    """The centre of cell (q, r) of a grid of such hexagons, the cell (0, 0) lying at (0, 0)."""
    return (radius * math.sqrt(3) * (q + r / 2), radius * 1.5 * r)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it, 1 to 21; text is readable from 4.5 on."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(fill: str, *inks: str) -> str:
    """The first of the inks that is readable on a colour, or else the one that is best to read on it."""
    readable = [ink for ink in inks if contrast(ink, fill) >= READABLE]
    return readable[0] if readable else max(inks, key=lambda ink: contrast(ink, fill))


READABLE = 4.5
"""The contrast that text needs."""
