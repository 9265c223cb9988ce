"""The environments that every generic test runs on: a new game adds its lines here."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import numpy as np

import audamir_envs
from audamir_envs.core import Environment, State

Case = tuple[str, dict[str, Any]]

# Maps of one's own compile several times faster than random ones, of which one case is enough here.
LINES = {"neighbours": [[1, 7], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [6, 0]]}
HEXAGONS = {"hexagons": [[0, 0, 1, 1], [2, 2, 3, 3], [4, 5, 6, 7], [8, 9, 10, 11]]}

CASES: list[Case] = [
    *(
        ("colony-v0", {"board": board, "start": start, "claim_empty": claim_empty})
        for board, start, claim_empty in itertools.product(("58", "61"), ("three", "one"), (False, True))
    ),
    ("colony-v0", {"holes_toward": "second", "starter": "random", "max_turns": 9}),
    *(("stigmergy-v0", {"side": side, "komi": komi}) for side in (3, 5, 8) for komi in (0, "choose")),
    ("stigmergy-v0", {"side": 3, "komi": 4}),
    ("principalities-v0", {"players": 2, "starter": 1, "map": LINES}),
    ("principalities-v0", {"players": 3, "hints": True, "max_rounds": 4, "map": HEXAGONS}),
    ("principalities-v0", {"players": 4}),
    ("principalities-v0", {"players": 8, "points_offer": "never", "max_rounds": 2, "map": HEXAGONS}),
]

BRIDGED: list[Case] = [
    ("colony-v0", {}),
    ("stigmergy-v0", {"side": 3, "komi": "choose"}),
    ("principalities-v0", {"players": 3, "hints": True, "max_rounds": 4, "map": HEXAGONS}),
]
"""Those that are played through PettingZoo and Gymnasium too, whose code does not depend on the game."""

LANES = 8


def name(case: Case) -> str:
    """What pytest calls a case."""
    env_id, options = case
    texts = [f"{key}={value if key != 'map' else next(iter(value))}" for key, value in options.items()]
    return "-".join([env_id.split("-")[0], *texts])


@functools.cache
def _made(text: str) -> Environment:
    case = next(case for case in (*CASES, *BRIDGED) if name(case) == text)
    return audamir_envs.make(case[0], **case[1])


def environment(case: Case) -> Environment:
    """The environment of a case, made once."""
    return _made(name(case))


class Compiled:
    """Functions over lanes, jitted once for all options that share array shapes: positions carry their options."""

    def __init__(self, env: Environment) -> None:
        keys = jax.random.key(0)

        def step(states: State, actions: jax.Array, number: jax.Array) -> State:
            split = jax.random.split(jax.random.fold_in(keys, number), LANES)
            return jax.vmap(env.step)(states, actions, split)

        def accepts(states: State, actions: jax.Array) -> jax.Array:
            state = jax.tree.map(lambda leaf: leaf[0], states)
            return ~jax.vmap(lambda action: env.step(state, action, keys).illegal)(actions)

        self.step = jax.jit(step)
        self.accepts = jax.jit(accepts)  # of the first lane: bool [actions]
        self.observe = jax.jit(jax.vmap(env.observe, in_axes=(0, None)))
        self.alive = jax.jit(jax.vmap(env.alive))


@functools.cache
def _compiled(text: str) -> Compiled:
    env = _made(text)
    leaves = jax.tree.leaves(jax.eval_shape(env.init, jax.random.key(0)))
    shapes = (env.id, *((leaf.shape, str(leaf.dtype)) for leaf in leaves))
    return _compiled_for.setdefault(shapes, Compiled(env))


_compiled_for: dict[tuple[Any, ...], Compiled] = {}


def compiled(case: Case) -> Compiled:
    """The jitted functions that serve a case."""
    return _compiled(name(case))


@functools.cache
def _started(text: str) -> State:
    return jax.device_get(jax.jit(jax.vmap(_made(text).init))(jax.random.split(jax.random.key(1), LANES)))


def start(case: Case) -> State:
    """New games [LANES], from different keys, as NumPy arrays: these need no kernels to be looked at."""
    return _started(name(case))


@functools.cache
def _walked(text: str) -> list[tuple[State, np.ndarray | None]]:
    case = next(case for case in (*CASES, *BRIDGED) if name(case) == text)
    rng = np.random.default_rng(0)
    states, path = start(case), []
    for number in range(PLIES):
        mask = states.legal_action_mask
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in mask], np.int32)
        path.append((states, actions))
        states = jax.device_get(compiled(case).step(states, actions, np.int32(number)))
    return [*path, (states, None)]


PLIES = 40


def walk(case: Case) -> list[tuple[State, np.ndarray | None]]:
    """Random legal play from the start, past the end where there is one: [(states [LANES], actions [LANES])]."""
    return _walked(name(case))
