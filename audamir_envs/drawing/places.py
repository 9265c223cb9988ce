"""Where the actions of a position are on its picture, so that a page can offer them to a pointer and write on them.

Units are those of the scene (``drawing.Scene``) of the same position.
"""

from __future__ import annotations

import dataclasses

from audamir_envs.drawing.scene import Point


@dataclasses.dataclass(frozen=True)
class Place:
    """A cell or tile."""

    label: str  # as texts name it
    centre: Point
    outline: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class Move:
    """A legal action as places to choose one after another, by numbers in ``Places.places``."""

    action: int
    path: tuple[int, ...]  # (target,) or (origin, target)
    dashed: bool = False  # the ring around the target, for games with two kinds of moves
    at: Point | None = None  # where numbers about the action are written; None: at the target


@dataclasses.dataclass(frozen=True)
class Places:
    """The places of a position in the game's own order (that of ``Evaluation.ownership``), and the legal moves on them.

    Several moves may be one action (which piece is copied, say, does not matter). A legal action without a move has no
    place on the board and is offered by its text.
    """

    places: tuple[Place, ...] = ()
    moves: tuple[Move, ...] = ()
    colours: tuple[str, ...] = ()  # of each seat in the picture
