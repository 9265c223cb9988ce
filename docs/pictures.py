"""Draws the README's pictures: a position of each game from a game between the trained level and ``strong``.

``python docs/pictures.py`` writes ``docs/pictures/<game>.svg``; the same level gives the same pictures.
"""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

import audamir_envs
from audamir_envs import files
from audamir_envs.agents.loading import load_agent_text
from audamir_envs.drawing.svg import to_svg

FOLDER = pathlib.Path(__file__).parent / "pictures"
# id, options, agents by seat, plies until the picture
GAMES: tuple[tuple[str, dict[str, Any], tuple[str, ...], int], ...] = (
    ("colony-v0", {}, ("zero", "strong"), 41),
    ("stigmergy-v0", {"side": 5, "komi": 8}, ("zero", "strong"), 31),
    ("principalities-v0", {"players": 4, "starter": 0}, ("zero-policy", "strong", "strong", "strong"), 120),
)


def picture(env_id: str, options: dict[str, Any], agents: Sequence[str], plies: int, seed: int = 0) -> str:
    """The position after so many plies, as SVG; the last one of a game that is over sooner."""
    env = audamir_envs.make(env_id, **options)
    loaded = {text: jax.jit(load_agent_text(env, text).act) for text in agents}
    start, *keys = jax.random.split(jax.random.key(seed), 2 * plies + 1)
    state, action = jax.jit(env.init)(start), None
    step = jax.jit(env.step)
    for decide, dice in zip(keys[::2], keys[1::2], strict=True):
        if bool(state.terminated | state.truncated):
            break
        action = int(loaded[agents[int(state.current_player)]](state, decide))
        state = step(state, np.int32(action), dice if env.stochastic else None)
    return to_svg(env.scene(state, action))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for env_id, *how in GAMES:
        files.write_text(FOLDER / f"{env_id.partition('-')[0]}.svg", picture(env_id, *how))
