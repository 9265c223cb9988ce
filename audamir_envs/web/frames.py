"""States as what the page draws: shapes of the scene, the places to click and the facts beside the board."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from audamir_envs.core import Environment, State
from audamir_envs.drawing.scene import Scene, Shape
from audamir_envs.drawing.svg import element

Json = dict[str, Any]


class Table:
    """Texts by number: pictures of one game share nearly all their shapes."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, a new one for one that is not known."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


def frames(env: Environment, states: Sequence[State], actions: Sequence[int], plies: Iterable[int]) -> Json:
    """The positions before some plies: ``shapes`` (SVG texts) and ``frames``, which name them by number.

    Args: states: NumPy, every position of the game; actions: between them.
    """
    table = Table()
    made = [_frame(env, states[ply], actions[ply - 1] if ply else None, ply, table) for ply in plies]
    return {"shapes": table.texts, "frames": made}


def _frame(env: Environment, state: State, last: int | None, ply: int, table: Table) -> Json:
    scene: Scene = env.scene(state, last)
    over = bool(state.terminated | state.truncated)
    frame: Json = {
        "ply": ply,
        "size": [round(scene.width, 1), round(scene.height, 1)],
        "background": scene.background,
        "shapes": [table.number(_svg(shape)) for shape in scene.shapes],
        "title": scene.title,
        "mover": int(state.current_player),
        "over": over,
        "last": None if last is None else env.action_to_text(last),
    }
    if over:
        frame["rewards"] = rewards(env, state)
    return frame


@functools.lru_cache(maxsize=20_000)
def _svg(shape: Shape) -> str:
    return element(shape)


def rewards(env: Environment, state: State) -> list[float]:
    """Of each seat at the end; of an illegal action those of the step, otherwise those of the position."""
    found = state.rewards if bool(state.illegal) else env.outcome(state.game).rewards
    return [round(float(reward), 4) for reward in np.asarray(found)]


def places(env: Environment, state: State) -> Json:
    """What can be done in a position: ``places`` [label, x, y, outline], ``moves`` and the texts of legal actions.

    A move is [action, path, dashed, x, y]: the places to choose one after another, and where numbers about it stand.
    """
    found = env.places(state)
    over = bool(state.terminated | state.truncated)
    legal = [] if over else np.flatnonzero(np.asarray(state.legal_action_mask)).tolist()
    moves = []
    for move in found.moves:
        x, y = found.places[move.path[-1]].centre if move.at is None else move.at
        moves.append([move.action, list(move.path), int(move.dashed), round(x, 1), round(y, 1)])
    return {
        "places": [
            [p.label, *(round(c, 1) for c in p.centre), " ".join(f"{x:.1f},{y:.1f}" for x, y in p.outline)]
            for p in found.places
        ],
        "moves": moves,
        "colours": list(found.colours),
        "chance": env.stochastic,
        "actions": [[action, env.action_to_text(action)] for action in legal],
        "text": env.to_text(state),
    }


def facts(env: Environment, state: State, opponents: tuple[str, ...]) -> Json:
    """What the game says at its end, by name: a number or one for each seat."""
    told = {}
    for name, value in env.info(state, opponents).items():
        value = np.asarray(value)
        if value.ndim == 0 or value.shape == (env.num_players,):
            told[name] = [round(float(one), 2) for one in value.ravel()]
    return told
