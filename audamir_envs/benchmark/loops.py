"""What the bridges and the agents cost: the PettingZoo loop, the Gymnasium vector, decisions of the scripted levels."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np

from audamir_envs.agents.base import act_batch
from audamir_envs.agents.loading import make_agent
from audamir_envs.bridges.registration import gymnasium_id
from audamir_envs.registry import make
from audamir_envs.sampling import sample_legal

CLASSIC = ("connect_four_v3", "tictactoe_v3", "go_v5", "hanabi_v5", "chess_v6")
"""PettingZoo's own games, measured where their modules can be imported."""


def classic(name: str) -> Any | None:
    """One of PettingZoo's classic environments, or None where it (or what it needs) is not installed."""
    try:
        return importlib.import_module(f"pettingzoo.classic.{name}").env()
    except Exception:
        return None


def aec_loop(env: Any, steps: int) -> Callable[[], object]:
    """A program: ``steps`` random legal actions through PettingZoo's AEC interface, resets included."""
    random = np.random.default_rng(0)

    def run() -> None:
        taken, seed = 0, 0
        while taken < steps:
            env.reset(seed=seed)
            seed += 1
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    action = None
                else:
                    legal = np.flatnonzero(observation["action_mask"])
                    action = int(legal[random.integers(len(legal))])
                    taken += 1
                env.step(action)
                if taken >= steps:
                    break

    return run


def vector_loop(env_id: str, opponent: str, games: int, steps: int) -> Callable[[], object]:
    """A program: ``steps`` random legal steps of a Gymnasium vector of ``games`` lanes, arrays left on the device."""
    vector = gymnasium.make_vec(
        gymnasium_id(env_id),
        num_envs=games,
        vectorization_mode="vector_entry_point",
        opponent=opponent,
        device_outputs=True,
    )
    choose = jax.jit(sample_legal)

    def run() -> object:
        _, info = vector.reset(seed=0)
        mask = info["action_mask"]
        observation = None
        for number in range(steps):
            observation, _, _, _, info = vector.step(choose(jax.random.key(number), mask))
            mask = info["action_mask"]
        return jax.block_until_ready(observation)

    return run


def decisions(env_id: str, level: str, games: int, options: dict[str, Any] | None = None) -> Callable[[], object]:
    """A program: one decision of a level in each of ``games`` positions of all ages."""
    env = make(env_id, **(options or {}))
    agent = make_agent(env, level)

    def advance(state: Any, key: Any) -> tuple[Any, None]:
        choose, move = jax.random.split(key)
        action = sample_legal(choose, state.legal_action_mask)
        after = jax.vmap(env.step)(state, action, jax.random.split(move, games))
        # Lanes stop at different plies, so that the positions are of all ages.
        goes_on = jax.random.bernoulli(choose, 0.97, (games,)) & ~(after.terminated | after.truncated)
        keep = lambda new, old: jax.numpy.where(goes_on.reshape(games, *[1] * (new.ndim - 1)), new, old)  # noqa: E731
        return jax.tree.map(keep, after, state), None

    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), games))
    state = jax.jit(lambda s, k: jax.lax.scan(advance, s, k)[0])(state, jax.random.split(jax.random.key(1), 60))
    act = jax.jit(lambda states, key: act_batch(agent, states, key))
    return lambda: jax.block_until_ready(act(state, jax.random.key(2)))
