"""Scenes as pixels, by Pillow alone: no display and no system library is needed."""

from __future__ import annotations

import functools
import math

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from audamir_envs.drawing.scene import Circle, Line, Polygon, Scene, Shape, Text

_SAMPLES = 3  # samples a pixel in each direction: Pillow's own shapes have no smooth edges


def to_rgb(scene: Scene, scale: float = 1.0) -> np.ndarray:
    """The scene as uint8 [height, width, 3], a fresh array. Both numbers are even, as videos need them.

    Args: scale: pixels for each unit of the scene; a last odd row or column shows the background.
    Raises: ValueError: a scale that gives no pixel; TypeError: a shape that no scene has.
    """
    width, height = round(scene.width * scale), round(scene.height * scale)
    if width < 1 or height < 1:  # before they are made even
        raise ValueError(f"scale {scale} leaves no pixel of a {scene.width:g} x {scene.height:g} scene")
    width, height = width + width % 2, height + height % 2
    image = Image.new("RGB", (width * _SAMPLES, height * _SAMPLES), scene.background)
    draw = ImageDraw.Draw(image)
    for shape in scene.shapes:
        _draw(draw, shape, scale * _SAMPLES)
    return np.array(image.reduce(_SAMPLES), np.uint8)


def _draw(draw: ImageDraw.ImageDraw, shape: Shape, k: float) -> None:
    """Draws one shape, k samples for each unit."""
    match shape:
        case Polygon():
            points = [(x * k, y * k) for x, y in shape.points]
            if shape.fill is not None:
                draw.polygon(points, fill=shape.fill)
            if shape.stroke is not None:
                _polyline(draw, [*points, points[0]], shape.stroke, shape.stroke_width * k)
        case Circle():
            _circle(draw, shape, k)
        case Line():
            points = [(x * k, y * k) for x, y in (shape.start, shape.end)]
            _polyline(draw, points, shape.stroke, shape.stroke_width * k)
        case Text():
            font = _font(max(1, round(shape.size * k)))
            anchor = {"start": "l", "middle": "m", "end": "r"}[shape.anchor] + "s"
            # The baseline lies where the SVG writer puts it. The bundled font has one weight: bold is a wider pen.
            pen = round(shape.size * k / 40) if shape.bold else 0
            place = (shape.x * k, (shape.y + 0.35 * shape.size) * k)
            draw.text(place, shape.text, fill=shape.fill, font=font, anchor=anchor, stroke_width=pen)
        case _:
            raise TypeError(f"a scene holds polygons, circles, lines and texts, not {type(shape).__name__}")


def _circle(draw: ImageDraw.ImageDraw, circle: Circle, k: float) -> None:
    x, y, radius, width = circle.x * k, circle.y * k, circle.radius * k, circle.stroke_width * k
    if circle.fill is not None:
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=circle.fill)
    if circle.stroke is None:
        return
    # Pillow draws a stroke inside its box, SVG half on each side of the outline.
    outer = radius + width / 2
    box = (x - outer, y - outer, x + outer, y + outer)
    pen = max(1, round(width))
    if circle.dash is None:
        draw.ellipse(box, outline=circle.stroke, width=pen)
        return
    drawn, gap = (math.degrees(length / circle.radius) for length in circle.dash)
    angle = 0.0
    while angle < 360 and drawn + gap > 0:
        draw.arc(box, angle, min(angle + drawn, 360), fill=circle.stroke, width=pen)
        angle += drawn + gap


def _polyline(draw: ImageDraw.ImageDraw, points: list[tuple[float, float]], colour: str, width: float) -> None:
    pen = max(1, round(width))
    draw.line(points, fill=colour, width=pen)
    if pen > 2:  # round corners and ends
        for x, y in points:
            draw.ellipse((x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2), fill=colour)


@functools.lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
