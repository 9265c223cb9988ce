"""Steps of batched games by one jitted scan: random legal play, given actions, and initialisation; Pgx beside ours."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs import registry
from audamir_envs.autoreset import auto_reset
from audamir_envs.benchmark.contract import Benchmark, Setup
from audamir_envs.core import Array, Environment
from audamir_envs.registry import make
from audamir_envs.sampling import sample_legal

PGX = ("othello", "hex", "backgammon", "go_9x9", "connect_four")


@functools.cache
def benchmarks() -> dict[str, Benchmark]:
    """What the games say about measuring them, by id."""
    rooms = {env_id: registry.optional_part(env_id, "benchmark") for env_id in registry.working()}
    return {env_id: room.BENCHMARK for env_id, room in rooms.items() if room is not None}


def setups() -> dict[str, tuple[str, Setup]]:
    """(id, how it is made) of each game that is measured, by the name that tables show."""
    return {name: (env_id, setup) for env_id, game in benchmarks().items() for name, setup in game.setups.items()}


def rivals() -> dict[str, str]:
    """Which game of Pgx each of ours is measured against, by names of tables."""
    return {name: f"pgx {setup.rival}" for name, (_, setup) in setups().items() if setup.rival}


@dataclasses.dataclass(frozen=True)
class Contender:
    """A game in the shape that both libraries share: functions of single games, to be vmapped."""

    init: Callable[[Array], Any]
    step: Callable[[Any, Array, Array], Any]
    reset_init: Callable[[Array], Any]
    reset_step: Callable[[Any, Array, Array], Any]


def ours(env_id: str, options: dict[str, Any]) -> Contender:
    """One of our environments, every new game made afresh."""
    return contender(make(env_id, **options))


def contender(env: Environment) -> Contender:
    """An environment of our shape."""
    automatic = auto_reset(env)
    return Contender(env.init, env.step, automatic.init, automatic.step)


def pgx_game(name: str) -> Contender:
    """A game of Pgx. Raises: ImportError where Pgx is not installed."""
    import pgx
    from pgx.experimental import auto_reset as pgx_auto_reset

    env = pgx.make(name)  # type: ignore[arg-type]
    step = lambda state, action, key: env.step(state, action, key)  # noqa: E731
    return Contender(env.init, step, env.init, pgx_auto_reset(env.step, env.init))


def contenders(against: tuple[str, ...]) -> dict[str, Contender]:
    """Ours and, where asked for, Pgx's, by name."""
    table = {name: ours(env_id, dict(setup.options)) for name, (env_id, setup) in setups().items()}
    if "pgx" in against:
        table |= {f"pgx {name}": pgx_game(name) for name in PGX}
    return table


def sampled(game: Contender, games: int, steps: int, warm_steps: int = 0) -> Callable[[], object]:
    """A program: ``steps`` random legal steps of ``games`` games with auto-reset. Initialisation is not timed.

    Args: warm_steps: steps played before timing begins, so that games of all ages are in the batch.
    """
    step = jax.vmap(game.reset_step)

    def one(carry: tuple[Any, Array], _: None) -> tuple[tuple[Any, Array], None]:
        state, key = carry
        key, choose, move = jax.random.split(key, 3)
        action = sample_legal(choose, state.legal_action_mask)
        return (step(state, action, jax.random.split(move, games)), key), None

    run = jax.jit(lambda state, key, length: jax.lax.scan(one, (state, key), None, length=length), static_argnums=2)
    state = jax.jit(jax.vmap(game.reset_init))(jax.random.split(jax.random.key(0), games))
    # A first step brings the state to the type that the scan carries (flags of the wrapper, weak types).
    state = jax.jit(step)(
        state, sample_legal(jax.random.key(1), state.legal_action_mask), jax.random.split(jax.random.key(2), games)
    )
    if warm_steps:
        (state, _), _ = run(state, jax.random.key(3), warm_steps)
    return lambda: jax.block_until_ready(run(state, jax.random.key(4), steps))


def given(game: Contender, games: int, steps: int) -> Callable[[], object]:
    """A program: replays recorded legal actions of ``games`` fresh games for ``steps`` steps."""
    step = jax.vmap(game.step)

    def record(carry: tuple[Any, Array], _: None) -> tuple[tuple[Any, Array], tuple[Array, Array]]:
        state, key = carry
        key, choose, move = jax.random.split(key, 3)
        action = sample_legal(choose, state.legal_action_mask)
        keys = jax.random.split(move, games)
        return (step(state, action, keys), key), (action, keys)

    state = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(0), games))
    _, (actions, keys) = jax.jit(lambda s: jax.lax.scan(record, (s, jax.random.key(1)), None, length=steps))(state)
    replay = jax.jit(lambda s, a, k: jax.lax.scan(lambda s, x: (step(s, *x), None), s, (a, k))[0])
    return lambda: jax.block_until_ready(replay(state, actions, keys))


def writing(game: Contender, games: int, steps: int) -> Callable[[], object]:
    """A program: fills mask and observation from one word a game, ``steps`` times; no rules can be quicker."""
    shape = jax.eval_shape(jax.vmap(game.init), jax.random.split(jax.random.key(0), games))
    arrays = {name: getattr(shape, name) for name in ("observation", "legal_action_mask")}

    def fill(carry: tuple[Array, Any], _: None) -> tuple[tuple[Array, Any], None]:
        word = carry[0] * jnp.uint32(1664525) + jnp.uint32(1013904223)  # a linear congruential generator

        def spread(leaf: Any) -> Array:
            column = (word >> 24).reshape(-1, *[1] * (len(leaf.shape) - 1)).astype(leaf.dtype)
            return jnp.broadcast_to(column, leaf.shape)

        return (word, jax.tree.map(spread, arrays)), None

    run = jax.jit(lambda carry: jax.lax.scan(fill, carry, None, length=steps)[0])
    first = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), arrays)
    carry = (jnp.arange(games, dtype=jnp.uint32), first)
    return lambda: jax.block_until_ready(run(carry))


def initialised(game: Contender, games: int) -> Callable[[], object]:
    """A program: makes ``games`` new games."""
    init = jax.jit(jax.vmap(game.init))
    keys = jax.random.split(jax.random.key(0), games)
    return lambda: jax.block_until_ready(init(keys))


def bytes_a_game(game: Contender) -> int:
    """Bytes of the state of one game."""
    shape = jax.eval_shape(game.init, jax.random.key(0))
    return sum(leaf.size * jnp.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(shape))
