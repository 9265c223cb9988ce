"""Scenes as SVG text."""

from __future__ import annotations

from xml.sax.saxutils import escape

from audamir_envs.drawing.scene import Circle, Line, Polygon, Scene, Shape, Text

FONT = "Helvetica, Arial, sans-serif"


def to_svg(scene: Scene) -> str:
    """The scene as one self-contained SVG document. Raises: TypeError for a shape that no scene has."""
    width, height = _number(scene.width), _number(scene.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'xml:space="preserve" role="img">'
    ]
    if scene.title:
        lines.append(f"<title>{escape(scene.title)}</title>")
    lines.append(f'<rect width="100%" height="100%" fill="{scene.background}"/>')
    lines.extend(element(shape) for shape in scene.shapes)
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def element(shape: Shape) -> str:
    """One shape as an SVG element. Raises: TypeError for a shape that no scene has."""
    match shape:
        case Polygon():
            points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
            paint = _paint(shape.fill, shape.stroke, shape.stroke_width)
            return f'<polygon points="{points}"{paint} stroke-linejoin="round"/>'
        case Circle():
            dash = "" if shape.dash is None else f' stroke-dasharray="{" ".join(map(_number, shape.dash))}"'
            place = f'cx="{_number(shape.x)}" cy="{_number(shape.y)}" r="{_number(shape.radius)}"'
            return f"<circle {place}{_paint(shape.fill, shape.stroke, shape.stroke_width)}{dash}/>"
        case Line():
            (x1, y1), (x2, y2) = shape.start, shape.end
            ends = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
            return f'<line {ends}{_paint(None, shape.stroke, shape.stroke_width)} stroke-linecap="round"/>'
        case Text():
            weight = ' font-weight="bold"' if shape.bold else ""
            # dominant-baseline is not drawn alike by all viewers; a third of the size below the middle is.
            place = f'x="{_number(shape.x)}" y="{_number(shape.y + 0.35 * shape.size)}"'
            return (
                f'<text {place} font-family="{FONT}" font-size="{_number(shape.size)}"{weight} fill="{shape.fill}" '
                f'text-anchor="{shape.anchor}">{escape(shape.text)}</text>'
            )
    raise TypeError(f"a scene holds polygons, circles, lines and texts, not {type(shape).__name__}")


def _paint(fill: str | None, stroke: str | None, stroke_width: float) -> str:
    line = "" if stroke is None else f' stroke="{stroke}" stroke-width="{_number(stroke_width)}"'
    return f' fill="{fill or "none"}"{line}'


def _number(value: float) -> str:
    return f"{round(float(value), 2):g}" if abs(value) < 1e4 else f"{value:.0f}"
