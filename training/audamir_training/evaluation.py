"""Games of a learner in training against other levels, compiled once for all parameters, spread over all devices.

The arena plays finished agents; here the parameters change between evaluations, so they are arguments of the program.
What a game is follows from its number, so that its result does not depend on the device that plays it. A match may tell
what was played as well, for records.
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
from audamir_envs.agents.base import Agent
from audamir_envs.core import Array, Environment, Pytree, State
from audamir_envs.sampling import sample_legal
from audamir_training import opponents
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


class Taken(Pytree):
    """What was played in a match, [games] in front; what stands behind a game's end means nothing."""

    start: Any  # ``state.game`` before the first action
    starter: Array  # int32 []: the seat that moves first
    seat: Array  # int32 []: the learner's
    actions: Array  # int32 [plies]
    chance: Array  # uint8 [plies, *chance_shape]: what chance decided after each
    plies: Array  # int32 []: the number of actions
    shares: Array  # float32 [players]: of the win
    final: Any  # ``state.game`` after the last action


@dataclasses.dataclass(frozen=True)
class Match:
    """A learner against one level: ``match(parameters, key)``, compiled at its first call.

    It gives the learner's shares of the win, float32 [games], whether a game was cut, bool [games], and what was played
    where the match was made to tell it, else None.
    """

    env: Environment
    level: Agent
    games: int
    opening_plies: int  # which nobody chose, at the beginning of every game
    max_plies: int
    program: Program

    @property
    def compile_seconds(self) -> float:
        """Spent on compiling so far."""
        return self.program.compile_seconds

    def __call__(self, parameters: Any, key: Array) -> tuple[Array, Array, Taken | None]:
        """Plays the games."""
        return self.program(parameters, key)


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
    opponent: Agent,
    games: int,
    opening_plies: int,
    max_plies: int,
    mesh: Mesh,
    told: bool = False,
) -> Match:
    """In half of the games the learner is seat 0, in the others seat 1 with the same openings.

    The seats must take turns strictly, so that at every ply the learner moves in one half and the opponent in the
    other. Args: told: the match tells what was played.
    """
    half = games // 2

    def step(side: _Side, actions: Array, ply: Array) -> _Side:
        after = jax.vmap(env.step)(side.states, actions)
        return side.after(after, actions, jnp.zeros((*actions.shape, *(env.chance_shape or ())), jnp.uint8), ply)

    def play_here(parameters: Any, numbers: Array, key: Array) -> Any:
        """One device's openings: [2, openings], the learner as the seat that starts and as the other one."""
        init_key, opening_key, play_key = jax.random.split(key, 3)
        start = jax.vmap(env.init)(_keys(init_key, numbers))
        side = _Side.of(env, start, opening_plies + max_plies if told else 0)
        for ply in range(opening_plies):
            keys = _keys(jax.random.fold_in(opening_key, ply), numbers)
            side = step(side, jax.vmap(sample_legal)(keys, side.states.legal_action_mask), jnp.int32(ply))
        side = side.replace(total=jnp.zeros_like(side.total))
        first = opening_plies % 2  # the seat to move, so the learner's seat in the half that starts as "its turn"

        def going_on(carry: tuple[_Side, _Side, Array]) -> Array:
            mine, theirs, ply = carry
            return ~(jnp.all(mine.over()) & jnp.all(theirs.over())) & (ply < max_plies)

        def play(carry: tuple[_Side, _Side, Array]) -> tuple[_Side, _Side, Array]:
            mine, theirs, ply = carry
            key, other_key = jax.random.split(jax.random.fold_in(play_key, ply))
            mine = step(mine, learner(parameters, mine.states, key), opening_plies + ply)
            answer = opponents.act(opponent, theirs.states, _keys(other_key, numbers))
            theirs = step(theirs, answer, opening_plies + ply)
            return theirs, mine, ply + 1

        a, b, plies = jax.lax.while_loop(going_on, play, (side, side, jnp.int32(0)))
        swapped = plies % 2 == 1
        halves = [jax.tree.map(lambda x, y: jnp.where(swapped, y, x), a, b)]
        halves.append(jax.tree.map(lambda x, y: jnp.where(swapped, x, y), a, b))
        seats = [jnp.full(numbers.shape, seat, jnp.int32) for seat in (first, 1 - first)]
        ends = [side.end(env, start, seat, told) for side, seat in zip(halves, seats, strict=True)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *ends)

    program = _spread(play_here, half, mesh)
    return Match(env, opponent, 2 * half, opening_plies, max_plies, program)


def rotated_match(
    env: Environment,
    learner: Learner,
    opponent: Agent,
    games: int,
    max_plies: int,
    mesh: Mesh,
    told: bool = False,
) -> Match:
    """The learner has one seat and the opponent all others.

    Each beginning (map, deal and starter) is played once from every seat, so ``games`` is made a multiple of the
    players. Games cut after ``max_plies`` are settled on points. Args: told: the match tells what was played.
    """
    players = env.num_players
    starts = max(1, games // players)

    def play_here(parameters: Any, numbers: Array, key: Array) -> Any:
        """One device's beginnings: [players, beginnings], by the learner's seat."""
        count = numbers.shape[0]
        seats = jnp.repeat(jnp.arange(players, dtype=jnp.int32), count)
        games = (numbers + jnp.int32(2**16) * jnp.arange(players, dtype=jnp.int32)[:, None]).reshape(-1)
        init_key, play_key = jax.random.split(key)
        start = jax.vmap(env.init)(_keys(init_key, numbers))
        start = jax.tree.map(lambda leaf: jnp.concatenate([leaf] * players), start)

        def going_on(carry: tuple[_Side, Array]) -> Array:
            side, ply = carry
            return ~jnp.all(side.over()) & (ply < max_plies)

        def play(carry: tuple[_Side, Array]) -> tuple[_Side, Array]:
            side, ply = carry
            states = side.states
            keys = jax.random.split(jax.random.fold_in(play_key, ply), 3)
            action = jnp.where(
                states.current_player == seats,
                learner(parameters, states, keys[0]),
                opponents.act(opponent, states, _keys(keys[1], games)),
            )
            dice = _keys(keys[2], games)
            chance = jax.vmap(env.chance_of)(states, action, dice) if told else None
            return side.after(jax.vmap(env.step)(states, action, dice), action, chance, ply), ply + 1

        begun = _Side.of(env, start, max_plies if told else 0)
        side, _ = jax.lax.while_loop(going_on, play, (begun, jnp.int32(0)))
        end = side.end(env, start, seats, told)
        return jax.tree.map(lambda leaf: leaf.reshape(players, count, *leaf.shape[1:]), end)

    return Match(env, opponent, players * starts, 0, max_plies, _spread(play_here, starts, mesh))


class _Side(Pytree):
    """Games in progress, [games] in front, with what was played so far where it is taken down."""

    states: State
    total: Array  # float32 [players]: rewards so far
    actions: Array  # int32 [plies]
    chance: Array  # uint8 [plies, *chance_shape]
    plies: Array  # int32 []

    @classmethod
    def of(cls, env: Environment, states: State, plies: int) -> _Side:
        """Games that begin. Args: plies: how many are taken down; 0: none."""
        count = states.current_player.shape[0]
        return cls(
            states=states,
            total=jnp.zeros((count, env.num_players), jnp.float32),
            actions=jnp.zeros((count, plies), jnp.int32),
            chance=jnp.zeros((count, plies, *(env.chance_shape or ())), jnp.uint8),
            plies=jnp.zeros(count, jnp.int32),
        )

    def over(self) -> Array:
        """bool [games]"""
        return self.states.terminated | self.states.truncated

    def after(self, states: State, actions: Array, chance: Array | None, ply: Array) -> _Side:
        """The games with one more ply, where they go on. Args: ply: int32 [], its place."""
        side = self.replace(states=states, total=self.total + states.rewards)
        if not self.actions.shape[1]:
            return side
        return side.replace(
            actions=self.actions.at[:, ply].set(actions),
            chance=self.chance.at[:, ply].set(chance),
            plies=self.plies + (~self.over()).astype(jnp.int32),
        )

    def end(self, env: Environment, start: State, seat: Array, told: bool) -> tuple[Array, Array, Taken | None]:
        """What a match gives. Args: seat: int32 [games], the learner's."""
        cut = ~self.over()
        rewards = jnp.where(cut[:, None], jax.vmap(env.settle)(self.states.game), self.total)
        shares = ((env.num_players - 1) * rewards + 1) / env.num_players
        mine = jnp.take_along_axis(shares, seat[:, None], axis=1)[:, 0]
        taken = Taken(
            start=start.game,
            starter=start.current_player,
            seat=seat,
            actions=self.actions,
            chance=self.chance,
            plies=self.plies,
            shares=shares,
            final=self.states.game,
        )
        return mine, cut, taken if told else None


def _keys(key: Array, numbers: Array) -> Array:
    """A key for each number."""
    return jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers)


def _spread(play_here: Callable[..., Any], count: int, mesh: Mesh) -> Program:
    """The program that plays games by their numbers 0..count, each device its part, and gives [rows * count] of all.

    Devices beyond a divisor of the games play some more, whose results are not looked at.
    """
    numbers = np.arange(-(-count // mesh.size) * mesh.size, dtype=np.int32)
    spread = jax.shard_map(play_here, mesh=mesh, in_specs=(P(), P(AXIS), P()), out_specs=P(None, AXIS), check_vma=False)

    def match(parameters: Any, key: Array) -> Any:
        found = spread(parameters, jnp.asarray(numbers), key)
        return jax.tree.map(lambda leaf: leaf[:, :count].reshape(leaf.shape[0] * count, *leaf.shape[2:]), found)

    return Program(match)
