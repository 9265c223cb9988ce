"""Scenes as plain data, for pages that draw them themselves."""

from __future__ import annotations

import dataclasses
from typing import Any

from audamir_envs.drawing.scene import Scene


def to_data(scene: Scene) -> dict[str, Any]:
    """The scene as what ``json.dumps`` takes: its fields, each shape with its ``kind`` in small letters.

    A shape has the fields of its class in ``scene``; those that are None are left out. Coordinates keep two decimals.
    """
    shapes = [{"kind": type(shape).__name__.lower(), **_fields(shape)} for shape in scene.shapes]
    return {**_fields(dataclasses.replace(scene, shapes=())), "shapes": shapes}


def _fields(item: Any) -> dict[str, Any]:
    values = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return round(value, 2) if isinstance(value, float) else value
