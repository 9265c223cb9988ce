"""What stigmergy_findings.py measures of a level, each result as JSON knows it."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import audamir_envs
from audamir_envs.agents.base import Agent
from audamir_envs.agents.callable import CallableAgent, from_callable
from audamir_envs.arena import evaluate
from audamir_envs.core import State
from audamir_envs.hexboard import HexBoard, hexboard
from audamir_envs.intervals import wilson
from audamir_envs.learned.networks import bind
from audamir_envs.learned.search import Searched, mask_logits, search
from audamir_envs.learned.zero import Zero
from audamir_envs.stigmergy import rules
from audamir_envs.stigmergy.solver import ExactTable, Stones, regret

PHASES = (("opening", 0, 6), ("middle", 7, 12), ("end", 13, 19))  # stones on the board of side 3
TURNING_POINTS = 4
_APART = 3  # plies between two turning points
_LEAST = 0.1  # change of value below which nothing has turned

# Regret.


def read_positions(file: pathlib.Path, table: ExactTable) -> list[Stones]:
    """The positions of a JSON-lines file with exact margins. Raises: ValueError where the table says otherwise."""
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            p = json.loads(line)
            stones = table.stones(p["black"].split(), p["white"].split(), p["to_move"], p["passed"])
            margin = p["margin"]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"line {number} of {file} is no position of side {table.side} ({error})") from None
        if table.margin_of(stones) != margin:
            raise ValueError(f"line {number} of {file}: the margin is {table.margin_of(stones)}, not {margin}")
        found.append(stones)
    return found


def won_positions(positions: Sequence[Stones], table: ExactTable, komi: int) -> list[Stones]:
    """Those in which the side to move wins at this komi. Raises: ValueError: fewer than two."""
    won = [p for p in positions if (table.margin_of(p) > komi) == p.black_to_move]
    if len(won) < 2:
        raise ValueError(
            f"only {len(won)} of {len(positions)} positions are won for the mover at komi {komi}: use more"
        )
    return won


def regret_entry(agent: Agent | str, positions: Sequence[Stones], table: ExactTable, komi: int) -> dict[str, Any]:
    """Decisions that keep the win, points dropped, all by phase too; positions are won for the mover."""
    found = regret(agent, table.side, komi, positions, table=table)
    dropped, spare = np.array(found.dropped), np.array(found.spare)
    kept = dropped < spare
    stones = np.array([(p.black | p.white).bit_count() for p in positions])
    sign = [1 if p.black_to_move else -1 for p in positions]
    margins = [table.action_margins_of(p).values() for p in positions]
    tempting = sum(min(s * m for m in each) < s * komi for s, each in zip(sign, margins, strict=True))

    def figures(chosen: np.ndarray) -> dict[str, Any]:
        count = int(chosen.sum())
        share = float(kept[chosen].mean()) if count else None
        return {
            "positions": count,
            "kept": int(kept[chosen].sum()),
            "interval": _rounded(wilson(share, count)) if share is not None else None,
            "dropped": round(float(dropped[chosen].mean()), 4) if count else None,
            "most_dropped": int(dropped[chosen].max()) if count else None,
        }

    return figures(np.ones(len(positions), np.bool_)) | {
        "can_be_lost": tempting,
        "dropped_interval": _rounded(found.points_interval),
        "phases": {name: figures((low <= stones) & (stones <= high)) for name, low, high in PHASES},
    }


# How much can be won.


def perfect_player(table: ExactTable) -> CallableAgent:
    """Keeps the best margin in every position of a solved board; of several best actions it takes the first."""
    board = table.board

    def choose(observation: np.ndarray, legal: np.ndarray) -> np.ndarray:
        places = 1 << np.arange(board.size)
        cells = observation.reshape(len(legal), -1, observation.shape[-1])[:, board.grid].astype(np.int64)
        actions = []
        for seen, mask in zip(cells, legal, strict=True):
            # Colours differ in nothing but who began, so the mover may be called Black.
            stones = Stones(int(seen[:, 1] @ places), int(seen[:, 2] @ places), True, bool(seen[0, 11]))
            margins = table.action_margins_of(stones)
            assert sorted(margins) == np.flatnonzero(mask).tolist()
            actions.append(max(margins, key=lambda action: (margins[action], -action)))
        return np.array(actions, np.int32)

    return from_callable(choose, "perfect")


def limit_entry(agent: Agent, opponent: Agent, side: int, komi: int, games: int) -> dict[str, Any]:
    """An agent's score against another in games as those of the ladder: balanced seats, two random plies."""
    env = audamir_envs.make("stigmergy-v0", side=side, komi=komi)
    found = evaluate(env, (agent, opponent), games, opening_plies=2)
    black, white = found.by_seat[found.agents[0]]
    return {
        "score": found.score[found.agents[0]],
        "interval": _rounded(found.interval[found.agents[0]]),
        "black": black.score,
        "white": white.score,
    }


# Komi.


def komi_entry(agent: Agent, side: int, komi: int, games: int) -> dict[str, Any]:
    """Black's share in games of an agent against itself from the empty board."""
    env = audamir_envs.make("stigmergy-v0", side=side, komi=komi)
    # Another seed for each komi, so that their results are independent.
    result = evaluate(env, (agent, agent), games, seed=1000 * side + 500 + komi)
    black = float(result.records.shares[:, 0].mean())
    return {
        "black": black,
        "interval": _rounded(wilson(black, games)),
        "plies": round(result.mean_length, 1),
        "seconds": round(result.seconds),
    }


Shares = Mapping[int, tuple[float, int]]  # by komi: Black's share of the wins, games


def next_komi(values: Shares, guess: int, limit: int, most: int) -> int | None:
    """The komi to measure next, None if enough is known.

    From the guess outward in steps of 2, until the least komi is surely Black's and the largest surely White's (95 %),
    or ``most`` values have been measured, or komi would exceed ± limit.
    """
    if not values:
        return guess
    least, largest = min(values), max(values)
    for komi in range(least, largest, 2):
        if komi not in values:
            return komi
    down = least - 2 >= -limit and wilson(*values[least])[0] <= 0.5
    up = largest + 2 <= limit and wilson(*values[largest])[1] >= 0.5
    if len(values) >= most or not (down or up):
        return None
    if down and up:  # first the direction in which an even game lies
        up = values[largest][0] > 0.5 or values[least][0] > 0.5
    return largest + 2 if up else least - 2


@dataclasses.dataclass(frozen=True)
class Crossing:
    """Where Black's share crosses one half; None: beyond what was measured."""

    above: int | None  # the largest komi with Black ahead
    below: int | None  # the smallest komi with White ahead
    surely_above: int | None  # the largest komi up to which every interval of Black's share lies above one half
    surely_below: int | None  # the smallest komi from which on every interval lies below one half
    nearest: int  # the komi with the most even games


def crossing(values: Shares) -> Crossing:
    """The estimate from measured shares: a falling line is fitted first, since more komi never helps Black."""
    komi = sorted(values)
    fitted = dict(zip(komi, falling([values[k] for k in komi]), strict=True))
    low, high = (dict(zip(komi, ends, strict=True)) for ends in zip(*(wilson(*values[k]) for k in komi), strict=True))
    surely_above = [k for k in komi if all(low[j] > 0.5 for j in komi if j <= k)]
    surely_below = [k for k in komi if all(high[j] < 0.5 for j in komi if j >= k)]
    return Crossing(
        above=max((k for k in komi if fitted[k] > 0.5), default=None),
        below=min((k for k in komi if fitted[k] < 0.5), default=None),
        surely_above=max(surely_above, default=None),
        surely_below=min(surely_below, default=None),
        nearest=min(komi, key=lambda k: (round(abs(fitted[k] - 0.5), 9), round(abs(values[k][0] - 0.5), 9), k)),
    )


def falling(shares: Sequence[tuple[float, int]]) -> list[float]:
    """The nearest numbers that never rise, weighted by games: neighbours that rise are pooled."""
    pools: list[tuple[float, int, int]] = []  # mean, games, values
    for share, games in shares:
        pools.append((share, games, 1))
        while len(pools) > 1 and pools[-2][0] < pools[-1][0]:
            (a, n, i), (b, m, j) = pools[-2:]
            pools[-2:] = [((a * n + b * m) / (n + m), n + m, i + j)]
    return [mean for mean, _, count in pools for _ in range(count)]


# Single positions.


class Searcher:
    """A level's search and network on batches of states, as it plays without noise."""

    def __init__(self, agent: Zero) -> None:
        self.simulations = agent.config.simulations
        self._agent = agent
        self._search = jax.jit(self._searched)
        self._policy = jax.jit(self._said)

    def search(self, state: State) -> Searched:
        """Of one unfinished state, in a batch of one (a program for each side serves all parts); values are Black's."""
        found = jax.device_get(self._search(_batch_of_one(state)))
        sign = _sign(state)
        return found.replace(value=sign * found.value, raw_value=sign * found.raw_value)

    def policy(self, state: State) -> np.ndarray:
        """float32 [actions]: the network's policy in one state."""
        return np.asarray(self._policy(_batch_of_one(state)))[0]

    def _searched(self, states: State) -> Searched:
        legal = states.legal_action_mask
        keys = jax.random.split(jax.random.key(0), legal.shape[0])  # without noise nothing is drawn
        network = bind(self._agent.network, self._agent.parameters, legal.shape[-1])
        env = audamir_envs.registry.environment_class(self._agent.env_id).for_shapes(states)
        return search(env, network, states.game, legal, keys, self._agent.config, 0.0)

    def _said(self, states: State) -> jax.Array:
        network = bind(self._agent.network, self._agent.parameters, states.legal_action_mask.shape[-1])
        return jax.nn.softmax(mask_logits(network(states.observation).logits, states.legal_action_mask))


def orbits(board: HexBoard) -> list[list[int]]:
    """The cells in groups that symmetries of the board turn into each other, by their first cell."""
    least = board.symmetries.min(axis=0)
    return [np.flatnonzero(least == cell).tolist() for cell in np.unique(least).tolist()]


def first_entry(searcher: Searcher, side: int, komi: int, exact: Mapping[str, int] | None) -> dict[str, Any]:
    """The network's policy on the empty board, and what the search says of each first move up to symmetry.

    Args: exact: by first move Black's margin under perfect play.
    """
    env, board = audamir_envs.make("stigmergy-v0", side=side, komi=komi), hexboard(side)
    start = env.init(jax.random.key(0))
    policy = searcher.policy(start)
    groups = orbits(board)
    moves = []
    for group in groups:
        found = searcher.search(_step(side)(start, jnp.int32(group[0])))
        labels = [board.labels[cell] for cell in group]
        moves.append(
            {
                "cells": labels,
                "policy": round(float(policy[group].sum()), 5),
                "chance": _chance(found.value[0]),
                "network": _chance(found.raw_value[0]),
                "exact": None if exact is None else exact[labels[0]],
            }
        )
    return {"policy": [round(float(p), 5) for p in policy[: board.size]], "moves": moves}


def game_entry(searcher: Searcher, side: int, komi: int) -> dict[str, Any]:
    """A game of a level against itself without noise, with what it thought at each ply; all values are Black's."""
    env = audamir_envs.make("stigmergy-v0", side=side, komi=komi)
    step = _step(side)
    states = [env.init(jax.random.key(0))]
    plies: list[dict[str, Any]] = []
    others: list[int | None] = []
    while not bool(states[-1].terminated):
        found = searcher.search(states[-1])
        action = int(found.action[0])
        weights = dict(zip(found.slot_action[0].tolist(), found.slot_weight[0].tolist(), strict=True))
        legal = np.asarray(states[-1].legal_action_mask)
        alternatives = [a for a in weights if a != action and legal[a]]
        other = max(alternatives, key=lambda a: weights[a], default=None)
        others.append(other)
        plies.append(
            {
                "move": env.action_to_text(action),
                "value": round(float(found.value[0]), 4),
                "weight": round(weights[action], 4),
                "other": None if other is None else env.action_to_text(other),
                "other_weight": None if other is None else round(weights[other], 4),
            }
        )
        states.append(step(states[-1], jnp.int32(action)))
    result = float(states[-1].rewards[0])
    points = []
    for ply in turning_points([*(p["value"] for p in plies), result]):
        other = others[ply]
        value = None
        if other is not None:
            after = step(states[ply], jnp.int32(other))
            over = bool(after.terminated)
            value = round(float(after.rewards[0] if over else searcher.search(after).value[0]), 4)
        points.append({"ply": ply, "position": env.to_text(states[ply + 1]), "other_value": value})
    black, white = (int(score) for score in rules.scores(states[-1].game))
    return {
        "plies": plies,
        "result": result,
        "black": black,
        "white": white,
        "final": env.to_text(states[-1]),
        "turning_points": points,
    }


def turning_points(values: Sequence[float]) -> list[int]:
    """The plies whose moves changed the value most, in order; none close to a greater one, none that changed little.

    Args: values: before each ply, and the result.
    """
    changes = np.abs(np.diff(np.asarray(values, np.float64)))
    chosen: list[int] = []
    for ply in np.argsort(-changes, kind="stable").tolist():
        if len(chosen) < TURNING_POINTS and changes[ply] >= _LEAST and all(abs(ply - c) >= _APART for c in chosen):
            chosen.append(ply)
    return sorted(chosen)


@functools.cache
def _step(side: int) -> Callable[[State, jax.Array], State]:
    """Of a board with any komi, which the position holds."""
    return jax.jit(audamir_envs.make("stigmergy-v0", side=side).step)


def _sign(state: State) -> int:
    game: rules.Position = state.game
    return 1 if bool(game.black_to_move) else -1


def _batch_of_one(state: State) -> State:
    return jax.tree.map(lambda leaf: leaf[None], state)


def _chance(value: Any) -> float:
    return round((1 + float(value)) / 2, 4)


def _rounded(pair: tuple[float, float]) -> list[float]:
    return [round(pair[0], 5), round(pair[1], 5)]
