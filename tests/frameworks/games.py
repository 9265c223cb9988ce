"""The games that loaders are tested on, and what these games say themselves, to compare with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from principalities.cases import LINES

import audamir_envs
from audamir_envs.bridges.pettingzoo import GameAEC, wrapped

# Small options, since a loader cares for shapes and for how games end: by the rules, by a cap, with seats out early.
GAMES: dict[str, dict[str, Any]] = {
    "colony-v0": {"max_turns": 40},
    "stigmergy-v0": {"side": 3, "komi": "choose"},
    "principalities-v0": {"players": 3, "map": LINES, "max_rounds": 12},
}


def aec(env_id: str, **changes: Any) -> Any:
    """The PettingZoo environment as ``colony_v0.env(...)`` and so on make it."""
    return wrapped(GameAEC(audamir_envs.make(env_id, **(GAMES[env_id] | changes))))


class Ply(NamedTuple):
    """One action, with what was seen before it and what it led to."""

    mover: str
    observations: dict[str, np.ndarray]  # of every agent
    mask: np.ndarray  # int8 [actions]: the mover's
    action: int
    rewards: dict[str, float]
    terminated: bool
    truncated: bool


def replay(env: Any, actions: list[int]) -> list[Ply]:
    """Plays actions in a PettingZoo environment that has just been reset, with no framework between."""
    plies = []
    for action in actions:
        mover = env.agent_selection
        seen = {agent: env.observe(agent)["observation"] for agent in env.possible_agents}
        mask = env.observe(mover)["action_mask"]
        env.step(int(action))
        ended = env.terminations[mover], env.truncations[mover]
        plies.append(Ply(mover, seen, mask, int(action), dict(env.rewards), *ended))
    return plies


def random_actions(env: Any, rng: np.random.Generator) -> list[int]:
    """Random legal play of a PettingZoo environment that has just been reset, to the end of the game."""
    actions = []
    while not any(env.terminations.values()) and not any(env.truncations.values()):
        actions.append(int(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]))))
        env.step(actions[-1])
    return actions
