"""Pictures of positions: one scene, written as SVG, pixels or JSON."""

from audamir_envs.drawing.json import to_data
from audamir_envs.drawing.raster import to_rgb
from audamir_envs.drawing.scene import Circle, Line, Polygon, Scene, Text
from audamir_envs.drawing.svg import to_svg
from audamir_envs.drawing.window import Window

__all__ = ["Circle", "Line", "Polygon", "Scene", "Text", "Window", "to_data", "to_rgb", "to_svg"]
