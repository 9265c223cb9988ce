"""What the trainers ask of a game, from its ``learning.py`` (see ``audamir_envs.learning``); no game is named here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from audamir_envs import registry
from audamir_envs.core import Array, Environment
from audamir_envs.hexboard import HexBoard, hexboard
from audamir_envs.learning import HexInterface, Learning, Variant

if TYPE_CHECKING:
    from audamir_envs.learned.networks import HexConfig


def learning_of(env_id: str) -> Learning:
    """What a game says. Raises: ValueError for one that says nothing, naming those that do."""
    found = registry.learning(env_id)
    if found is None:
        raise ValueError(f"{env_id} says nothing about learning it: training knows {', '.join(learnable())}")
    return found


def learnable(algorithm: str | None = None) -> tuple[str, ...]:
    """The ids of games that can be learned, by an algorithm if one is named."""
    known = {env_id: registry.learning(env_id) for env_id in registry.working()}
    return tuple(env_id for env_id, found in known.items() if found and algorithm in (None, found.algorithm))


def variants(env_id: str, layouts: str) -> tuple[Variant, ...]:
    """The variants that a setting ``layouts`` names; empty: the game's usual ones. Raises: ValueError."""
    learning = learning_of(env_id)
    return learning.variants(layouts or learning.layouts)


def interface(env_id: str) -> HexInterface:
    """How observations and actions of a game lie that AlphaZero can learn.

    Raises: ValueError: a game of chance, of more than two players, or that is played on no hexagonal board.
    """
    network = learning_of(env_id).network
    if not isinstance(network, HexInterface):
        games = ", ".join(learnable("alphazero"))
        raise ValueError(f"{env_id} is not played on a hexagonal board: AlphaZero here trains {games}")
    if registry.environment_class(env_id).stochastic:
        raise ValueError(f"{env_id} is a game of chance: AlphaZero here trains games without")
    return network


def is_hexagonal(env_id: str) -> bool:
    """Whether a game has a ``HexInterface``, so that the network of such games plays it."""
    return isinstance(learning_of(env_id).network, HexInterface)


def hex_config(env_id: str, channels: int, blocks: int) -> HexConfig:
    """The network of a game for AlphaZero. Raises: ValueError, as ``interface``."""
    from audamir_envs.learned.networks import HexConfig  # here, since it loads a network library

    return HexConfig.of(interface(env_id), channels, blocks)


def own_network(env_id: str) -> Any:
    """The module of a game's own network; see ``Learning.network``. Raises: ValueError for games without one."""
    network = learning_of(env_id).network
    if not isinstance(network, str):
        raise ValueError(f"{env_id} has no network of its own: PPO here trains {', '.join(learnable('ppo'))}")
    return importlib.import_module(network)


def board_of(env: Environment) -> HexBoard:
    """The board of an environment that has a ``HexInterface``."""
    return hexboard((env.observation_shape[0] + 1) // 2)


def ownership(env: Environment) -> Callable[[Any], Array]:
    """Position -> int8 [cells]; see ``Learning.ownership``. Zeros where the game has no such thing."""
    own = learning_of(env.id).ownership
    cells = board_of(env).size
    return own or (lambda position: jnp.zeros(cells, jnp.int8))


def check_environment(env: Environment) -> None:
    """Raises: ValueError where observations or actions are not what the game's ``HexInterface`` says."""
    found, shape = interface(env.id), env.observation_shape
    if env.num_players != 2:
        raise ValueError(f"{env.id} has {env.num_players} players here: AlphaZero trains games of two")
    if len(shape) != 3 or shape[0] != shape[1] or shape[0] % 2 == 0 or shape[2] != found.planes:
        raise ValueError(
            f"{env.id} has observations {list(shape)}, "
            f"not [2 * side - 1, 2 * side - 1, {found.planes}] as its LEARNING says"
        )
    least = board_of(env).size * found.kinds + len(found.further)
    pie = found.pie and env.num_actions >= least + 3
    if env.num_actions != least and not pie:
        raise ValueError(
            f"{env.id} has {env.num_actions} actions, but LEARNING names {least}: {found.kinds} of each of "
            f"{board_of(env).size} cells and {', '.join(found.further) or 'no others'}"
        )


def start_of(variant: Variant, key: Array) -> Any:
    """A position from which a game of a variant begins. Consumes key. Pure JAX."""
    if variant.starts is None:
        return variant.env.init_game(key)
    assert variant.weights is not None  # they were filled in
    cumulated = jnp.cumsum(jnp.asarray(variant.weights, jnp.float32))
    chosen = jnp.searchsorted(cumulated, jax.random.uniform(key, (), jnp.float32)).astype(jnp.int32)
    last = jnp.int32(len(variant.weights) - 1)
    return jax.tree.map(lambda leaf: leaf[jnp.minimum(chosen, last)], variant.starts)
