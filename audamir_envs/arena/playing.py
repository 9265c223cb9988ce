"""A list of games between any agents, played many at once: lanes (``arena.lanes``) that are refilled as they end."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from audamir_envs.agents.base import Agent
from audamir_envs.arena.lanes import CHUNK, Lanes, Program
from audamir_envs.arena.openings import Book
from audamir_envs.arena.recording import Recorder
from audamir_envs.arena.results import Games, Results
from audamir_envs.core import Array, Environment

_BATCH = 128


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run of games has come."""

    finished: int
    games: int
    decisions: int  # by agents, random opening plies not counted
    seconds: float  # of play, compilation not counted


def play(
    env: Environment,
    agents: Sequence[Agent],
    seats: np.ndarray,
    starts: np.ndarray,
    *,
    seed: int = 0,
    opening_plies: int = 0,
    max_plies: int | None = None,
    batch: int | None = None,
    book: Book | None = None,
    recorder: Recorder | None = None,
    enough: Callable[[Results], int | None] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Games:
    """Plays a list of games to their ends.

    Args: seats: int [games, players], numbers of agents; starts: int [games]: equal numbers begin alike, with the same
    start, opening and dice; opening_plies: random legal actions before the agents take over; max_plies: cuts games that
    have this many plies and settles them on points; batch: games at once; book: positions to start from, chosen by the
    seed and ``starts``; recorder: writes the games down, and knows those that were played before; enough: asked
    every few plies, and told games to be the whole list that end it, all of them finished; progress: called every few
    plies.
    The same arguments give the same games.
    Raises: ValueError naming the agent that plays an illegal action, unless it means to lose by that (``forfeits``);
    ValueError for numbers out of range.
    """
    games = len(seats)
    check(games=games, seed=seed, opening_plies=opening_plies, max_plies=max_plies, batch=batch)
    limit = min(max_plies or env.max_steps, env.max_steps)
    opening = min(opening_plies, limit)
    results = Results(games, env.num_players)
    if recorder is not None:
        recorder.restore(results)
    todo = results.missing()
    size = max(1, min(batch or _BATCH, len(todo)))
    places = np.zeros(games, np.int32) if book is None else book.places(starts, seed)
    program = Program(
        env,
        tuple(agents),
        _blocks(seats, agents, size),
        size,
        opening,
        limit,
        book=None if book is None else book.states,
        told=recorder is not None,
    )
    root = jax.random.key(seed)
    keys = np.asarray(_start_keys(root, np.asarray(starts, np.uint32)))
    decision_key = jax.random.fold_in(root, np.uint32(0xFFFFFFFF))  # no start has this number

    began = time.perf_counter()
    lanes = program.empty(keys.shape[1])
    if todo.size:
        program.compile(lanes, root)
    compiled = time.perf_counter()

    waiting, ply, decisions = 0, 0, 0
    kept = None if enough is None else enough(results)
    while kept is None and results.finished < games:
        free = np.flatnonzero(np.asarray(lanes.done))
        taken = free[: todo.size - waiting]
        if taken.size:
            number = np.full(size, -1, np.int32)
            number[taken] = todo[waiting : waiting + taken.size]
            rows = np.where(number >= 0, number, 0)
            lanes = program.begin(lanes, number, keys[rows], seats[rows].astype(np.int32), places[rows])
            waiting += taken.size
            if recorder is not None:
                recorder.begin(lanes, taken)
        lanes, made, told = program.advance(lanes, decision_key, ply)
        if recorder is not None:
            recorder.played(told)
        ply += CHUNK
        decisions += made
        _refuse_illegal(env, agents, lanes)
        ended = results.collect(lanes)
        if recorder is not None and ended.size:
            recorder.ended(lanes, ended, results)
        if enough is not None:
            kept = enough(results)
        if progress is not None:
            progress(Progress(results.finished, games, decisions, time.perf_counter() - compiled))
    return Games(
        seats=np.asarray(seats[:kept], np.int32),
        starts=np.asarray(starts[:kept], np.int32),
        starter=results.starter[:kept],
        shares=results.shares[:kept],
        plies=results.plies[:kept],
        unfinished=results.unfinished[:kept],
        decisions=decisions,
        seconds=time.perf_counter() - compiled,
        compile_seconds=compiled - began,
        final=jax.tree.map(lambda leaf: leaf[:kept], results.final),
        places=None if book is None else places[:kept],
    )


_LEAST = {"games": 1, "seed": 0, "opening_plies": 0, "max_plies": 1, "batch": 1}
_MOST = dict.fromkeys(_LEAST, 2**63 - 1) | {"games": 10_000_000}  # what is kept of every game must fit into memory


def check(**numbers: Any) -> None:
    """Refuses bad ``games``, ``seed``, ... (None: left to its default). Raises: ValueError naming the valid ones."""
    for name, value in numbers.items():
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        least, most = _LEAST[name], _MOST[name]
        if value is not None and not (whole and least <= value <= most):
            raise ValueError(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def _refuse_illegal(env: Environment, agents: Sequence[Agent], lanes: Lanes) -> None:
    meant = [number for number, agent in enumerate(agents) if getattr(agent, "forfeits", False)]
    offender = np.where(np.isin(lanes.offender, meant) & (np.asarray(lanes.offence) == -1), -1, lanes.offender)
    if (offender >= 0).any():
        lane = int(np.argmax(offender >= 0))
        raise ValueError(
            illegal_action(env, agents[offender[lane]], int(lanes.offence[lane]), int(lanes.plies[lane]) + 1)
        )


def illegal_action(env: Environment, agent: Agent, action: int, ply: int) -> str:
    """What is said of an agent that played one."""
    text = f" ({env.action_to_text(action)})" if 0 <= action < env.num_actions else ""
    return f"agent {agent.name!r} played the illegal action {action}{text} at ply {ply} of {env.id}"


def _blocks(seats: np.ndarray, agents: Sequence[Agent], size: int) -> tuple[int, ...]:
    """For each agent how many lanes it decides for at once: about as many as are expected to wait for it.

    While all lanes are as far as each other the number is exact. Lanes that are refilled drift apart; then a margin
    keeps most plies from needing a second block for a few lanes. An agent that is slower with more sets the limit.
    """
    held = np.bincount(seats.ravel(), minlength=len(agents)) / seats.size
    margin = math.isqrt(size) if len(seats) > size else 0
    waiting = [min(size, math.ceil(size * share - 1e-9) + margin) or 1 for share in held]
    limits = [getattr(agent, "block", None) or size for agent in agents]
    return tuple(map(min, waiting, limits))


@jax.jit
def _start_keys(root: Array, starts: Array) -> Array:
    """uint32 [games, words]: a key for each start."""
    return jax.random.key_data(jax.vmap(jax.random.fold_in, (None, 0))(root, starts))
