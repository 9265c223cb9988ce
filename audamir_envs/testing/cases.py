"""Cases, an id and options each, and what the checks of one case share: it is made, compiled and played once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import numpy as np

from audamir_envs import registry
from audamir_envs.core import Environment, State

Case = tuple[str, dict[str, Any]]


class Checks:
    """Base of classes of checks: subclass one in a test's module and give it cases."""

    cases: ClassVar[Sequence[Case]] = ()

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Every check for every case."""
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", list(metafunc.cls.cases), ids=name)


LANES = 8
PLIES = 40


def name(case: Case) -> str:
    """What pytest calls a case."""
    env_id, options = case
    texts = [f"{key}={next(iter(value)) if isinstance(value, dict) else value}" for key, value in options.items()]
    return "-".join([env_id.rpartition("-")[0], *texts])


def _once(function: Callable[[Case], Any]) -> Callable[[Case], Any]:
    """What a function of a case gives, found once for each."""
    known: dict[str, Any] = {}

    @functools.wraps(function)
    def wrapper(case: Case) -> Any:
        key = repr(case)
        if key not in known:
            known[key] = function(case)
        return known[key]

    return wrapper


@_once
def environment(case: Case) -> Environment:
    """The environment of a case, made once."""
    return registry.make(case[0], **case[1])


class Compiled:
    """Functions over lanes, jitted once for all options that share array shapes: positions carry their options."""

    def __init__(self, env: Environment) -> None:
        self.env = env
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


@_once
def compiled(case: Case) -> Compiled:
    """The jitted functions that serve a case."""
    env = environment(case)
    leaves = jax.tree.leaves(jax.eval_shape(env.init, jax.random.key(0)))
    shapes = (env.id, *((leaf.shape, str(leaf.dtype)) for leaf in leaves))
    return _compiled_for.setdefault(shapes, Compiled(env))


_compiled_for: dict[tuple[Any, ...], Compiled] = {}


@_once
def start(case: Case) -> State:
    """New games [LANES], from different keys, as NumPy arrays: these need no kernels to be looked at."""
    return jax.device_get(jax.jit(jax.vmap(environment(case).init))(jax.random.split(jax.random.key(1), LANES)))


@_once
def walk(case: Case) -> list[tuple[State, np.ndarray]]:
    """Random legal play from the start, past the end where there is one: [(states [LANES], actions [LANES])]."""
    rng = np.random.default_rng(0)
    states, path = start(case), []
    for number in range(PLIES):
        mask = states.legal_action_mask
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in mask], np.int32)
        path.append((states, actions))
        states = jax.device_get(compiled(case).step(states, actions, np.int32(number)))
    return [*path, (states, np.zeros(LANES, np.int32))]
