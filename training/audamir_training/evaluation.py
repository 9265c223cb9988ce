"""Games of a learner in training against other levels, compiled once for all parameters, spread over all devices.

The arena plays finished agents; here the parameters change between evaluations, so they are arguments of the program.
What a game is follows from its number, so that its result does not depend on the device that plays it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from audamir_envs import registry
from audamir_envs.agents.base import BatchAgent
from audamir_envs.core import Array, Environment, State
from audamir_envs.sampling import sample_legal
from audamir_training.devices import AXIS
from audamir_training.programs import Program

Learner = Callable[[Any, State, Array], Array]
"""``learner(parameters, states, key)``: int32 [games], what the parameters play."""


@dataclasses.dataclass(frozen=True)
class Score:
    """A learner's result against one opponent."""

    opponent: str
    games: int
    score: float  # mean share of the win, a draw being half
    low: float  # of the 95 % interval
    high: float
    unfinished: int  # games cut and settled on points


def environment(env_id: str, options: str) -> Environment:
    """The environment of evaluations by the setting ``evaluate_options``. Raises: ValueError naming the valid ones."""
    known = registry.environment_class(env_id).OPTIONS
    chosen = {}
    for part in filter(None, options.split(",")):
        name, _, value = part.partition("=")
        if name not in known:
            raise ValueError(f"evaluate_options: {env_id} has no option {name!r}; it has {', '.join(known)}")
        chosen[name] = known[name].parse(name, value)
    return registry.make(env_id, **chosen)


def two_player_match(
    env: Environment,
    learner: Learner,
    opponent: BatchAgent,
    games: int,
    opening_plies: int,
    max_plies: int,
    mesh: Mesh,
) -> Program:
    """``match(parameters, key)`` -> (the learner's shares [games], unfinished bool [games]).

    In half of the games the learner is seat 0, in the others seat 1 with the same openings. The seats must take turns
    strictly, so that at every ply the learner moves in one half and the opponent in the other.
    """
    half = games // 2

    def step(states: State, actions: Array, total: Array) -> tuple[State, Array]:
        after = jax.vmap(env.step)(states, actions)
        return after, total + after.rewards

    def play_here(parameters: Any, numbers: Array, key: Array) -> tuple[Array, Array]:
        """One device's openings: both [2, openings], the learner as the seat that starts and as the other one."""
        init_key, opening_key, play_key = jax.random.split(key, 3)
        states = jax.vmap(env.init)(_keys(init_key, numbers))
        for ply in range(opening_plies):
            keys = _keys(jax.random.fold_in(opening_key, ply), numbers)
            states = jax.vmap(env.step)(states, jax.vmap(sample_legal)(keys, states.legal_action_mask))
        nobody = jnp.zeros((numbers.shape[0], 2), jnp.float32)
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
            theirs = step(theirs, _act(opponent, theirs, _keys(other_key, numbers)), their_total)
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
        return jnp.stack(shares), jnp.stack(unfinished)

    return _spread(play_here, half, mesh)


def rotated_match(
    env: Environment,
    learner: Learner,
    opponent: BatchAgent,
    games: int,
    max_plies: int,
    mesh: Mesh,
) -> Program:
    """``match(parameters, key)`` -> (the learner's shares [games], unfinished bool [games]).

    The learner has one seat and the opponent all others. Each beginning (map, deal and starter) is played once from
    every seat, so ``games`` is made a multiple of the players. Games cut after ``max_plies`` are settled on points.
    """
    players = env.num_players

    def play_here(parameters: Any, numbers: Array, key: Array) -> tuple[Array, Array]:
        """One device's beginnings: both [players, beginnings], by the learner's seat."""
        starts = numbers.shape[0]
        seats = jnp.repeat(jnp.arange(players, dtype=jnp.int32), starts)
        games = (numbers + jnp.int32(2**16) * jnp.arange(players, dtype=jnp.int32)[:, None]).reshape(-1)
        init_key, play_key = jax.random.split(key)
        states = jax.vmap(env.init)(_keys(init_key, numbers))
        states = jax.tree.map(lambda leaf: jnp.concatenate([leaf] * players), states)

        def going_on(carry: tuple[State, Array, Array]) -> Array:
            states, _, ply = carry
            return ~jnp.all(states.terminated | states.truncated) & (ply < max_plies)

        def play(carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
            states, total, ply = carry
            keys = jax.random.split(jax.random.fold_in(play_key, ply), 3)
            action = jnp.where(
                states.current_player == seats,
                learner(parameters, states, keys[0]),
                _act(opponent, states, _keys(keys[1], games)),
            )
            states = jax.vmap(env.step)(states, action, _keys(keys[2], games))
            return states, total + states.rewards, ply + 1

        nothing = jnp.zeros((starts * players, players), jnp.float32)
        ended, total, _ = jax.lax.while_loop(going_on, play, (states, nothing, jnp.int32(0)))
        cut = ~(ended.terminated | ended.truncated)
        rewards = jnp.where(cut[:, None], jax.vmap(env.settle)(ended.game), total)
        mine = jnp.take_along_axis(rewards, seats[:, None], axis=1)[:, 0]
        shares = ((players - 1) * mine + 1) / players
        return shares.reshape(players, starts), cut.reshape(players, starts)

    return _spread(play_here, max(1, games // players), mesh)


def _keys(key: Array, numbers: Array) -> Array:
    """A key for each number."""
    return jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers)


def _act(agent: BatchAgent, states: State, keys: Array) -> Array:
    """int32 [games]. A level that was learned decides for all at once, since it draws nothing; consumes keys."""
    if agent.checksum is not None:
        return agent.act_batch(states, keys[0])
    return jax.vmap(agent.act)(states, keys)


def _spread(play_here: Callable[..., tuple[Array, Array]], count: int, mesh: Mesh) -> Program:
    """The program that plays games by their numbers 0..count, each device its part, and gives [rows * count] of both.

    Devices beyond a divisor of the games play some more, whose results are not looked at.
    """
    numbers = np.arange(-(-count // mesh.size) * mesh.size, dtype=np.int32)
    spread = jax.shard_map(
        play_here, mesh=mesh, in_specs=(P(), P(AXIS), P()), out_specs=(P(None, AXIS), P(None, AXIS)), check_vma=False
    )

    def match(parameters: Any, key: Array) -> tuple[Array, Array]:
        found = spread(parameters, jnp.asarray(numbers), key)
        shares, unfinished = (leaf[:, :count].reshape(-1) for leaf in found)
        return shares, unfinished

    return Program(match)
