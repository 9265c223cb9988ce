"""Copse drawn."""

from __future__ import annotations

import numpy as np

from audamir_envs.drawing.hexagons import CELL, BoardPicture
from audamir_envs.drawing.places import Move, Places
from audamir_envs.drawing.scene import Scene

TREES = (("#2f6b3a", "#1c4023"), ("#e0a030", "#8a5f14"))  # of each seat: fill and edge


def scene(env, state, last_action=None) -> Scene:
    """Trees on the board, the last one outlined, and the score below."""
    picture = BoardPicture(env.board, lines=1)
    picture.cells([CELL] * env.board.size)
    if last_action is not None and last_action < env.board.size:
        picture.outline(last_action, "#d2691e")
    for cell, tree in enumerate(np.asarray(state.game.trees).tolist()):
        if tree:
            picture.piece(cell, TREES[tree - 1], "xo"[tree - 1])
    lead = f"x leads by {int(env.lead(state.game))}"
    picture.line(0, [(None, "", lead)])
    return picture.scene(f"Copse. {lead}")


def places(env, state) -> Places:
    """Every cell, and where a tree may be planted."""
    legal = [] if bool(state.terminated) else np.flatnonzero(np.asarray(state.legal_action_mask)[: env.board.size])
    moves = tuple(Move(int(cell), (int(cell),)) for cell in legal)
    return Places(BoardPicture(env.board, lines=1).places(), moves, tuple(fill for fill, _ in TREES))
