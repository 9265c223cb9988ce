"""One searched move of self-play beside the network evaluations in it, for the games that are searched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.benchmark.rollouts import benchmarks
from audamir_envs.core import Array, Environment
from audamir_envs.learned.networks import HexConfig, bind, init_parameters, make_network
from audamir_envs.learned.search import SearchConfig, search
from audamir_envs.learning import HexInterface
from audamir_envs.registry import learning, make

BATCH = 64
SIMULATIONS = 32
CHANNELS = 32
BLOCKS = 4


def _games() -> dict[str, dict[str, Any]]:
    """Options of each game that is searched, by id."""
    return {env_id: dict(game.searched) for env_id, game in benchmarks().items() if game.searched is not None}


def pairs() -> dict[str, tuple[str, str]]:
    """For each game the names of its two programs: with search, and the network alone."""
    return {env_id: (f"{env_id} search", f"{env_id} network alone") for env_id in _games()}


def programs(batch: int = BATCH) -> dict[str, tuple[Callable[[], object], int]]:
    """Both programs of each game; a unit is one searched position (or the evaluations that its search needs).

    Args: batch: positions at once.
    """
    table: dict[str, tuple[Callable[[], object], int]] = {}
    for env_id, (with_search, alone) in pairs().items():
        env = make(env_id, **_games()[env_id])
        evaluate = bind(*_network(env_id, env), env.num_actions)
        table[with_search] = (_searching(env, evaluate, batch), batch)
        table[alone] = (_evaluating(env, evaluate, batch), batch)
    return table


def _network(env_id: str, env: Environment) -> tuple[Any, Any]:
    said = learning(env_id)
    if said is None or not isinstance(said.network, HexInterface):
        raise ValueError(f"{env_id} is searched in the benchmark but names no network of hexagonal boards")
    network = make_network(HexConfig.of(said.network, CHANNELS, BLOCKS))
    return network, init_parameters(network, env.observation_shape, env.num_actions, jax.random.key(0))


def _searching(env: Environment, evaluate: Callable[[Array], Any], batch: int) -> Callable[[], object]:
    states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(1), batch))
    keys = jax.random.split(jax.random.key(2), batch)
    config = SearchConfig(simulations=SIMULATIONS)
    run = jax.jit(lambda games, legal: search(env, evaluate, games, legal, keys, config).action)
    return lambda: jax.block_until_ready(run(states.game, states.legal_action_mask))


def _evaluating(env: Environment, evaluate: Callable[[Array], Any], batch: int) -> Callable[[], object]:
    observation = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(1), batch)).observation

    def once(total: Array, _: None) -> tuple[Array, None]:
        # What is evaluated depends on what was found before, so that no evaluation can be taken out of the loop.
        found = evaluate(observation.astype(jnp.float32) + jnp.float32(1e-6) * total)
        return total + jnp.sum(found.value) + jnp.sum(found.logits), None

    run = jax.jit(lambda: jax.lax.scan(once, jnp.float32(0), None, length=SIMULATIONS + 1)[0])
    return lambda: jax.block_until_ready(run())
