"""A pool of earlier selves to play against. Who still beats the learner is drawn more often."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.core import Array, Pytree
from audamir_envs.learned.networks import Evaluate, bind

_INERTIA = 16.0  # games in which a self's score follows what is played
_LEAST = 0.05  # weight in drawing of a self that never wins


class Pool(Pytree):
    """Earlier selves, [selves, ...] each; the same on every device."""

    parameters: Any
    score: Array  # float32 [selves]: the learner's mean share of the win against each, lately
    retired: Array  # bool [selves]: no new game is played against it, since it is to be replaced
    taken: Array  # int32 []: selves taken so far


def empty(parameters: Any, selves: int) -> Pool:
    """A pool with room for so many, without any."""
    return Pool(
        parameters=jax.tree.map(lambda leaf: jnp.zeros((selves, *leaf.shape), leaf.dtype), parameters),
        score=jnp.full(selves, 0.5, jnp.float32),
        retired=jnp.zeros(selves, jnp.bool_),
        taken=jnp.int32(0),
    )


def draw_opponents(pool: Pool, keys: Array) -> Array:
    """int32 [lanes]: a self for each, or -1 where there is none to draw. Consumes keys [lanes].

    The chances go with the square of what the learner loses against it, as in prioritised fictitious self-play.
    """
    number = jnp.arange(pool.score.shape[0], dtype=jnp.int32)
    weight = jnp.square(1 - pool.score) + jnp.float32(_LEAST)
    weight = jnp.where((number < pool.taken) & ~pool.retired, weight, jnp.float32(0))
    logits = jnp.where(weight > 0, jnp.log(weight), -jnp.inf)
    drawn = jax.vmap(lambda key: jnp.argmax(logits + jax.random.gumbel(key, logits.shape, jnp.float32)))(keys)
    return jnp.where(jnp.any(weight > 0), drawn.astype(jnp.int32), jnp.int32(-1))


def evaluate_each(network: Any, pool: Pool, opponent: Array, actions: int) -> Evaluate:
    """The network with a lane's own self in each lane; ``opponent`` int32 [lanes]."""
    parameters = jax.tree.map(lambda leaf: leaf[jnp.maximum(opponent, 0)], pool.parameters)

    def evaluate(observation: Array) -> Any:
        said = jax.vmap(lambda own, seen: bind(network, own, actions)(seen[None]))(parameters, observation)
        return jax.tree.map(lambda leaf: leaf[:, 0], said)

    return evaluate


def scored(pool: Pool, games: Array, won: Array) -> Pool:
    """With the results of an iteration: float32 [selves], games ended and the learner's shares of the win in them."""
    return pool.replace(score=pool.score + (won - games * pool.score) / (games + jnp.float32(_INERTIA)))


def remember(pool: Pool, parameters: Any, in_play: Array) -> Pool:
    """With today's parameters in the place of the self that is beaten most, or in a free place.

    A self that a game in progress is played against stays until that game is over: if all are (bool [selves]
    ``in_play``), the one that is beaten most gets no new games, so that its place is free later.
    """
    selves = pool.score.shape[0]
    number = jnp.arange(selves, dtype=jnp.int32)
    used = number < pool.taken
    free = ~used | ~in_play
    rank = pool.score + jnp.where(pool.retired, jnp.float32(1), jnp.float32(0)) + jnp.where(used, 0, jnp.float32(4))
    place = jnp.argmax(jnp.where(free, rank, -jnp.inf)).astype(jnp.int32)
    place = jnp.where(pool.taken < selves, pool.taken, place)
    chosen = (number == place) & jnp.any(free)
    worst = number == jnp.argmax(jnp.where(pool.retired, -jnp.inf, pool.score))
    return Pool(
        parameters=jax.tree.map(
            lambda kept, new: jnp.where(chosen.reshape(-1, *[1] * new.ndim), new, kept), pool.parameters, parameters
        ),
        score=jnp.where(chosen, jnp.float32(0.5), pool.score),
        retired=jnp.where(jnp.any(free), pool.retired & ~chosen, pool.retired | worst),
        taken=pool.taken + jnp.where(jnp.any(free) & (pool.taken < selves), 1, 0).astype(jnp.int32),
    )
