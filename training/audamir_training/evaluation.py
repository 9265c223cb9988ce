"""Games of a learner in training against other levels, compiled once for all parameters.

The arena plays finished agents; here the parameters change between evaluations, so they are arguments of the program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.agents.base import BatchAgent
from audamir_envs.core import Array, Environment, State
from audamir_envs.sampling import sample_legal


@dataclasses.dataclass(frozen=True)
class Score:
    """A learner's result against one opponent."""

    opponent: str
    games: int
    score: float  # mean share of the win, a draw being half
    low: float  # of the 95 % interval
    high: float
    unfinished: int  # games cut and settled on points


def two_player_match(
    env: Environment,
    learner: Callable[[Any, State, Array], Array],
    opponent: BatchAgent,
    games: int,
    opening_plies: int,
    max_plies: int,
) -> Callable[[Any, Array], tuple[Array, Array]]:
    """A jitted ``match(parameters, key)`` -> (the learner's shares [games], unfinished bool [games]).

    In half of the games the learner is seat 0, in the others seat 1 with the same openings. The seats must take turns
    strictly, so that at every ply the learner moves in one half and the opponent in the other.
    """
    half = games // 2

    def step(states: State, actions: Array, total: Array) -> tuple[State, Array]:
        after = jax.vmap(env.step)(states, actions)
        return after, total + after.rewards

    def match(parameters: Any, key: Array) -> tuple[Array, Array]:
        init_key, opening_key, play_key = jax.random.split(key, 3)
        states = jax.vmap(env.init)(jax.random.split(init_key, half))
        for key in jax.random.split(opening_key, opening_plies):
            states = jax.vmap(env.step)(states, sample_legal(key, states))
        nobody = jnp.zeros((half, 2), jnp.float32)
        first = opening_plies % 2  # the seat to move, so the learner's seat in the half that starts as "its turn"

        def going_on(carry: tuple[Any, Any, Array]) -> Array:
            (mine, _), (theirs, _), ply = carry
            over = mine.terminated | mine.truncated
            over_too = theirs.terminated | theirs.truncated
            return ~(jnp.all(over) & jnp.all(over_too)) & (ply < max_plies)

        def play(carry: tuple[Any, Any, Array]) -> tuple[Any, Any, Array]:
            (mine, mine_total), (theirs, their_total), ply = carry
            key, other_key = jax.random.split(jax.random.fold_in(play_key, ply))
            mine = step(mine, learner(parameters, mine, key), mine_total)
            theirs = step(theirs, opponent.act_batch(theirs, other_key), their_total)
            return theirs, mine, ply + 1

        a, b, plies = jax.lax.while_loop(going_on, play, ((states, nobody), (states, nobody), jnp.int32(0)))
        swapped = plies % 2 == 1
        halves = [jax.tree.map(lambda x, y: jnp.where(swapped, y, x), a, b)]
        halves.append(jax.tree.map(lambda x, y: jnp.where(swapped, x, y), a, b))
        shares, unfinished = [], []
        for (ended, total), seat in zip(halves, (first, 1 - first), strict=True):
            cut = ~(ended.terminated | ended.truncated)
            rewards = jnp.where(cut[:, None], jax.vmap(env.settle)(ended.game), total)
            shares.append((rewards[:, seat] + 1) / 2)
            unfinished.append(cut)
        return jnp.concatenate(shares), jnp.concatenate(unfinished)

    return jax.jit(match)


def rotated_match(
    env: Environment,
    learner: Callable[[Any, State, Array], Array],
    opponent: BatchAgent,
    games: int,
    max_plies: int,
) -> Callable[[Any, Array], tuple[Array, Array]]:
    """A jitted ``match(parameters, key)`` -> (the learner's shares [games], unfinished bool [games]).

    The learner has one seat and the opponent all others. Each beginning (map, deal and starter) is played once from
    every seat, so ``games`` is made a multiple of the players. Games cut after ``max_plies`` are settled on points.
    """
    players = env.num_players
    starts = max(1, games // players)
    seats = jnp.tile(jnp.arange(players, dtype=jnp.int32), starts)

    def match(parameters: Any, key: Array) -> tuple[Array, Array]:
        init_key, play_key = jax.random.split(key)
        states = jax.vmap(env.init)(jax.random.split(init_key, starts))
        states = jax.tree.map(lambda leaf: jnp.repeat(leaf, players, axis=0), states)

        def going_on(carry: tuple[State, Array, Array]) -> Array:
            states, _, ply = carry
            return ~jnp.all(states.terminated | states.truncated) & (ply < max_plies)

        def play(carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
            states, total, ply = carry
            keys = jax.random.split(jax.random.fold_in(play_key, ply), 3)
            action = jnp.where(
                states.current_player == seats,
                learner(parameters, states, keys[0]),
                opponent.act_batch(states, keys[1]),
            )
            states = jax.vmap(env.step)(states, action, jax.random.split(keys[2], states.terminated.shape[0]))
            return states, total + states.rewards, ply + 1

        nothing = jnp.zeros((starts * players, players), jnp.float32)
        ended, total, _ = jax.lax.while_loop(going_on, play, (states, nothing, jnp.int32(0)))
        cut = ~(ended.terminated | ended.truncated)
        rewards = jnp.where(cut[:, None], jax.vmap(env.settle)(ended.game), total)
        mine = jnp.take_along_axis(rewards, seats[:, None], axis=1)[:, 0]
        return ((players - 1) * mine + 1) / players, cut

    return jax.jit(match)
