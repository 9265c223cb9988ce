"""What every bridge asks of an environment when it sets up a game: its spaces, its options, a start position."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import VectorEnv

from audamir_envs.bridges.packing import Slot
from audamir_envs.core import Array, Environment, State, whole_number
from audamir_envs.registry import make

KEY_IMPL = "threefry2x32"
"""The PRNG of the bridges: named, so that a seed means the same game whatever JAX's default becomes."""


def environment_of(game: str | Environment, options: dict[str, Any]) -> Environment:
    """The functional environment of an id with options, or the given one. Raises: ValueError naming what is valid."""
    if isinstance(game, Environment):
        if options:
            raise ValueError(f"options {', '.join(options)} belong to make(), not to an environment already made")
        return game
    return make(game, **options)


def observation_box(env: Environment) -> gymnasium.spaces.Box:
    """The space of one player's observation."""
    return gymnasium.spaces.Box(env.observation_low, env.observation_high, env.observation_shape, np.float32)


def observation_space(env: Environment) -> gymnasium.spaces.Dict:
    """The space of observation and mask together."""
    mask = gymnasium.spaces.Box(0, 1, (env.num_actions,), np.int8)
    return gymnasium.spaces.Dict({"observation": observation_box(env), "action_mask": mask})


def check_num_envs(num_envs: Any) -> int:
    """The number of lanes as an int. Raises: ValueError."""
    number = whole_number(num_envs)
    if number is None or number < 1:
        raise ValueError(f"num_envs={num_envs!r} is not valid: use an integer from 1")
    return number


def position_state(env: Environment, options: dict[str, Any] | None) -> State | None:
    """The state named by ``reset(options={"position": text})``, if it does. Raises: as ``from_text``; ValueError."""
    text = None if options is None else options.get("position")
    if text is None:
        return None
    state = env.from_text(text)
    if bool(state.terminated | state.truncated):
        raise ValueError(f"the game is over in position {text!r}: use one where somebody is to move")
    return state


def learner_seats(env: Environment, start: State, seat: Any, lanes: int, rng: np.random.Generator) -> np.ndarray:
    """int32 [lanes]: the seat of each learner in a set-up position. Raises: ValueError: that learner is out already."""
    living = np.flatnonzero(np.asarray(env.alive(start)))
    if seat == "random":
        return rng.choice(living, lanes).astype(np.int32)
    if seat not in living:
        raise ValueError(f"seat {seat} is out of the game in this position: use {', '.join(map(str, living))}")
    return np.full(lanes, seat, np.int32)


def info_for_seat(
    info: dict[str, Slot], data: np.ndarray, numbers: tuple[Any, ...], seat: int, num_players: int
) -> dict[str, Any]:
    """One player's part of a packed ``Environment.info``: of arrays [players] its own entry, and all other facts."""
    own: dict[str, Any] = {}
    for name, slot in info.items():
        if slot.place is not None and slot.shape in ((), (num_players,)):
            own[name] = numbers[slot.place + (seat if slot.shape else 0)]
        else:
            own[name] = slot.read(data).copy()
    return own


def split_words(words: Array) -> tuple[Array, Array]:
    """The words (uint32 [2]) to go on with, and a key to use now. Pure JAX. Consumes words."""
    following, now = jax.random.split(jax.random.wrap_key_data(words, impl=KEY_IMPL))
    return jax.random.key_data(following), now


def lane_words(env: VectorEnv[Any, Any, Any], seed: Any) -> np.ndarray:
    """uint32 [lanes, 2]: the words of each lane's PRNG key for a reset; seeds ``env.np_random`` where there is a seed.

    Args: seed: None draws from ``env.np_random``; lane i of an integer is seeded by seed + i, of a sequence by its i-th
    number, and gets what the single environment draws from that seed.
    Raises: ValueError: a sequence of another length.
    """
    if seed is None:
        return env.np_random.integers(0, 2**32, (env.num_envs, 2), np.uint32)
    whole = isinstance(seed, (int, np.integer))
    seeds = [int(one) for one in (range(int(seed), int(seed) + env.num_envs) if whole else seed)]
    if len(seeds) != env.num_envs:
        raise ValueError(f"{len(seeds)} seeds do not fit num_envs={env.num_envs}")
    VectorEnv.reset(env, seed=seeds[0])
    env.np_random.integers(0, 2**32, 2, np.uint32)  # those of lane 0, which nothing else may use again
    return np.stack([seeding.np_random(one)[0].integers(0, 2**32, 2, np.uint32) for one in seeds])


def batch_actions(actions: Any, lanes: int) -> Any:
    """The actions as an array of integers [lanes] that jit takes; by DLPack where they are on a device already.

    Raises: ValueError: another shape; TypeError: no integers.
    """
    if not isinstance(actions, (jax.Array, np.ndarray)):
        actions = jnp.from_dlpack(actions) if hasattr(actions, "__dlpack__") else np.asarray(actions)
    if actions.shape != (lanes,):
        raise ValueError(f"actions of shape {tuple(actions.shape)} do not fit num_envs={lanes}")
    if not jnp.issubdtype(actions.dtype, jnp.integer):
        raise TypeError(f"actions are integers, one for each environment, not {actions.dtype}")
    if isinstance(actions, np.ndarray) and actions.dtype.itemsize > 4:
        # JAX would take the lowest bits of the others. The largest int32 is no action of any game.
        none = np.iinfo(np.int32).max
        actions = np.where((actions >= 0) & (actions < none), actions, none).astype(np.int32)
    return actions
