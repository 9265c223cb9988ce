"""Numbers about actions written on the picture of a position, for any game that says where its actions are."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from audamir_envs.drawing.places import Places
from audamir_envs.drawing.scene import Circle, Line, Scene, Shape, Text

_INK, _PAPER, _BEST = "#1a1a1a", "#ffffff", "#c1121f"
_LINE_HEIGHT = 22


def with_shares(scene: Scene, places: Places, shares: Mapping[int, float], captions: Sequence[str] = ()) -> Scene:
    """A scene on which each action bears its share in percent: the larger it is, the larger the disc; the largest red.

    Args: places: of the same position; shares: by action, 0..1; those without a place on the picture are left out;
    captions: lines of text below.
    """
    best = max(shares, key=lambda action: shares[action], default=None)
    shapes: list[Shape] = []
    seen: set[int] = set()
    counts = _counts(places)
    for move in places.moves:
        share = shares.get(move.action, 0.0)
        if share <= 0 or move.action in seen:
            continue
        seen.add(move.action)
        target = places.places[move.path[-1]]
        x, y = move.at or target.centre
        size = min(math.dist(target.centre, corner) for corner in target.outline) if target.outline else 20.0
        colour = _BEST if move.action == best else _INK
        if len(move.path) > 1 and counts[move.action] == 1:  # which piece it comes from says something
            shapes.append(Line(places.places[move.path[0]].centre, (x, y), colour, max(1.0, 5 * share)))
        radius = size * (0.3 + 0.35 * math.sqrt(share))
        shapes.append(Circle(x, y, radius, _PAPER, colour, 2.0))
        shapes.append(Text(x, y, f"{100 * share:.0f}", 0.42 * size, colour, bold=move.action == best))
    height = scene.height + 2 * math.ceil(_LINE_HEIGHT * len(captions) / 2)
    below = [
        Text(10, scene.height + _LINE_HEIGHT * (number + 0.5), caption, 13, _INK, "start")
        for number, caption in enumerate(captions)
    ]
    return dataclasses.replace(scene, height=height, shapes=(*scene.shapes, *shapes, *below))


def _counts(places: Places) -> dict[int, int]:
    """How many moves each action has."""
    counts: dict[int, int] = {}
    for move in places.moves:
        counts[move.action] = counts.get(move.action, 0) + 1
    return counts
