"""The exact best response to a fixed agent in a small game for two without chance: how much it can lose to anybody.

The agent's moves are a function of the position, so against it the game is a puzzle for one: every position that can
be brought about is visited ply by ply, and the best results are carried back from the ends. Unlike a trained opponent,
which gives a lower bound, this is the value itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import Agent, act_batch
from audamir_envs.core import Environment, State

MOST = 2_000_000  # positions in one seat unless told otherwise: some GB and ten minutes
_STARTS = 16  # drawn to see whether a game begins at random
_BLOCK = 256  # positions at once: few enough that small games waste little


@dataclasses.dataclass(frozen=True)
class BestResponse:
    """What the best opponent of an agent gets. All but ``score`` are pairs: as seat 0 and as seat 1."""

    value: tuple[float, float]  # its reward: 1 a sure win, 0 a draw, -1 where the agent always wins
    line: tuple[tuple[int, ...], tuple[int, ...]]  # actions of both sides in a game in which it gets that
    positions: tuple[int, int]  # how many different ones of each ply were looked at, summed over plies

    @property
    def score(self) -> float:
        """Its mean share of the win over both seats; 0.5 against a perfect agent."""
        return (2 + sum(self.value)) / 4


@dataclasses.dataclass(frozen=True)
class _Ply:
    """The moves from all positions of a ply, sorted by position."""

    parent: np.ndarray  # int64 [moves]: the position in its ply
    action: np.ndarray  # int32 [moves]
    child: np.ndarray  # int64 [moves]: the position in the next ply; -1: the game is over
    reward: np.ndarray  # float64 [moves]: of the response where it is over


def best_response(env: Environment, agent: Agent, *, most_positions: int = MOST) -> BestResponse:
    """Plays everything that can be played against an agent from the game's start, in both seats.

    Args: agent: one that plays the same move in a position whatever key it is given; most_positions: in one seat.
    Raises: ValueError: a game of chance, of more than two players or without a fixed start; an agent whose moves depend
    on the key, or are illegal; more positions than allowed, with how many plies were seen.
    """
    if env.stochastic or env.num_players != 2:
        raise ValueError(f"a best response is found in games for two without chance, not in {env!r}")
    starts = jax.device_get(jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), _STARTS)))
    if len(set(_names(starts.game))) > 1:
        raise ValueError(f"{env!r} begins at random: fix its start, so that there is one value")
    programs = _Programs(env, agent)
    found = [_one_seat(programs, _rows(starts, np.arange(1)), seat, most_positions) for seat in (0, 1)]
    values, lines, counts = zip(*found, strict=True)
    return BestResponse(values, lines, counts)


class _Programs:
    """The agent's moves and the game's steps for any number of positions, compiled for one size."""

    def __init__(self, env: Environment, agent: Agent) -> None:
        self.env, self.agent = env, agent
        self._step = jax.jit(jax.vmap(env.step))
        self._act = jax.jit(lambda states, key: act_batch(agent, states, key))

    def step(self, states: State, actions: np.ndarray) -> State:
        return _in_blocks(lambda block, chosen: self._step(block, chosen), states, actions.astype(np.int32))

    def act(self, states: State) -> np.ndarray:
        """int32 [positions]. Raises: ValueError, as ``best_response``."""
        moves, others = (
            _in_blocks(
                lambda block, _, seed=seed: self._act(block, jax.random.key(seed)),
                states,
                np.zeros(len(states.terminated)),
            )
            for seed in (0, 1)
        )
        if not np.array_equal(moves, others):
            raise ValueError(f"agent {self.agent.name!r} plays at random: a best response is found to fixed moves")
        if not np.take_along_axis(np.asarray(states.legal_action_mask), np.maximum(moves, 0)[:, None], axis=1).all():
            raise ValueError(f"agent {self.agent.name!r} played an illegal action")
        return moves


def _one_seat(programs: _Programs, start: State, seat: int, most: int) -> tuple[float, tuple[int, ...], int]:
    states, plies, seen = start, [], 0
    while len(states.terminated):
        seen += len(states.terminated)
        if seen > most:
            raise ValueError(
                f"more than {most} positions can be reached against {programs.agent.name!r} in {len(plies)} plies of "
                f"{programs.env!r}: take a smaller board, or allow more"
            )
        ply, states = _expand(programs, states, seat)
        plies.append(ply)
    values: np.ndarray = np.zeros(0)
    best: list[np.ndarray] = []  # of each ply the best move of every position
    for ply in reversed(plies):
        worth = np.where(ply.child >= 0, np.append(values, 0.0)[ply.child], ply.reward)
        order = np.lexsort((-worth, ply.parent))  # the best move of each position first
        _, first = np.unique(ply.parent[order], return_index=True)
        best.append(order[first])
        values = worth[order[first]]
    position, line = 0, []
    for ply, moves in zip(plies, reversed(best), strict=True):
        move = moves[position]
        line.append(int(ply.action[move]))
        position = int(ply.child[move])
        if position < 0:
            break
    return float(values[0]), tuple(line), seen


def _expand(programs: _Programs, states: State, seat: int) -> tuple[_Ply, State]:
    """All moves from the positions of a ply, and the different positions of the next one that are not over."""
    chooses = states.current_player == seat
    moves = states.legal_action_mask.copy()
    fixed = np.flatnonzero(~chooses)
    if fixed.size:
        played = programs.act(_rows(states, fixed))
        moves[fixed] = False
        moves[fixed, played] = True
    parent, action = np.nonzero(moves)
    after = programs.step(_rows(states, parent), action)
    over = after.terminated | after.truncated
    going = np.flatnonzero(~over)
    names = _names(_rows(after, going).game)
    child = np.full(len(parent), -1, np.int64)
    _, first, child[going] = np.unique(names, return_index=True, return_inverse=True)
    ply = _Ply(parent, action, child, np.where(over, after.rewards[:, seat], 0).astype(np.float64))
    return ply, _rows(after, going[first])


def _in_blocks(run: Callable[[Any, Any], Any], states: State, other: np.ndarray) -> Any:
    """``run`` on blocks of one size, the last filled up with copies, as NumPy arrays of all positions."""
    parts = []
    for begin in range(0, len(other), _BLOCK):
        rows = np.minimum(np.arange(begin, begin + _BLOCK), len(other) - 1)
        parts.append(jax.device_get(run(_rows(states, rows), jnp.asarray(other[rows]))))
    whole = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    return jax.tree.map(lambda leaf: leaf[: len(other)], whole)


def _rows(tree: Any, rows: np.ndarray) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[rows], tree)


def _names(game: Any) -> np.ndarray:
    """object [positions]: a text of all that is known of each position, to tell it from others."""
    leaves = [np.ascontiguousarray(leaf) for leaf in jax.tree.leaves(game)]
    return np.array([b"".join([leaf[row].tobytes() for leaf in leaves]).hex() for row in range(len(leaves[0]))], object)
