"""What every bridge asks of an environment when it sets up a game: its spaces, its options, a start position."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import VectorEnv

from audamir_envs.bridges import forking
from audamir_envs.bridges.packing import Slot
from audamir_envs.bridges.steady import KEY_IMPL
from audamir_envs.core import Array, Environment, State, whole_number
from audamir_envs.registry import make


def environment_of(game: str | Environment, options: dict[str, Any]) -> Environment:
    """The functional environment of an id with options, or the given one.

    Raises: ValueError naming what is valid; RuntimeError in a process that was forked after JAX ran.
    """
    forking.refuse_if_forked()
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


def lanes_to_reset(options: dict[str, Any] | None, lanes: int) -> np.ndarray | None:
    """bool [lanes]: those that ``reset(options={"reset_mask": mask})`` names; None without one: all.

    Raises: as Gymnasium's own vector environments: TypeError: no array, or none of truth values; ValueError: another
    shape, or no lane named.
    """
    mask = None if options is None else options.get("reset_mask")
    if mask is None:
        return None
    if not isinstance(mask, (np.ndarray, jax.Array)) or mask.dtype != np.bool_:
        told = mask.dtype if hasattr(mask, "dtype") else type(mask).__name__
        raise TypeError(f"options['reset_mask'] is an array of bool, not {told}")
    if mask.shape != (lanes,):
        raise ValueError(f"options['reset_mask'] of shape {mask.shape} does not fit num_envs={lanes}")
    if not mask.any():
        raise ValueError("options['reset_mask'] names no lane: use at least one True")
    return np.array(mask)


def lane_words(env: VectorEnv[Any, Any, Any], seed: Any, chosen: np.ndarray | None = None) -> np.ndarray:
    """uint32 [lanes, 2]: the words of each lane's PRNG key for a reset.

    Args: seed: None draws from ``env.np_random``, for all lanes or as one of a sequence; lane i of an integer is seeded
    by seed + i, of a sequence by its i-th number, and gets what the single environment draws from that seed.
    chosen: bool [lanes]: the lanes that are reset, where not all are.
    Where all lanes are reset and seeded, ``env.np_random`` is seeded by the seed of lane 0.
    Raises: ValueError: a sequence of another length, or of other things.
    """
    start = whole_number(seed)
    if seed is None:
        seeds: list[Any] = [None] * env.num_envs
    else:
        lanes = range(start, start + env.num_envs) if start is not None else seed
        seeds = list(lanes) if isinstance(lanes, Iterable) else [seed]
    if len(seeds) != env.num_envs:
        raise ValueError(f"{len(seeds)} seeds do not fit num_envs={env.num_envs}")
    numbers = [whole_number(one) for one in seeds]
    wrong = [one for one, number in zip(seeds, numbers, strict=True) if number is None and one is not None]
    if wrong:
        raise ValueError(f"seed={wrong[0]!r} is not valid: use integers, or None for a lane that goes on unseeded")
    words = np.zeros((env.num_envs, 2), np.uint32)
    if None in numbers:
        words[:] = env.np_random.integers(0, 2**32, words.shape, np.uint32)
    if None not in numbers and chosen is None:
        VectorEnv.reset(env, seed=numbers[0])
        env.np_random.integers(0, 2**32, 2, np.uint32)  # those of lane 0, which nothing else may use again
    for lane, number in enumerate(numbers):
        if number is not None:
            words[lane] = seeding.np_random(number)[0].integers(0, 2**32, 2, np.uint32)
    return words


def own_parts(fields: dict[str, Any], games: str) -> dict[str, Any]:
    """What even a shallow copy of a vector environment may not share: the random numbers, and the games in the field
    of that name, whose buffers are given away at the next step.
    """
    return {"_np_random": copy.deepcopy(fields.get("_np_random")), games: jax.tree.map(jnp.array, fields[games])}


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
    if isinstance(actions, np.ndarray):
        # JAX would take the lowest bits of wider numbers, and refuse those of another byte order. The largest int32 is
        # no action of any game.
        none = np.iinfo(np.int32).max
        actions = np.where((actions >= 0) & (actions.astype(np.uint64) < none), actions, none).astype(np.int32)
    return actions
