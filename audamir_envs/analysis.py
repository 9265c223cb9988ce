"""What agents think of positions, as tables, JSON and pictures, of single positions and of whole records."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from audamir_envs import records
from audamir_envs.agents.base import Agent, Evaluation, evaluate_batch
from audamir_envs.agents.callable import CallableAgent
from audamir_envs.core import Environment, State
from audamir_envs.drawing.overlay import with_shares
from audamir_envs.drawing.scene import Scene
from audamir_envs.records.replaying import environment_of

LEAST = 0.001  # probabilities below are left out
_BATCH = 16  # positions of a record that are looked at together


class Analyst:
    """An agent that is asked about positions; its program is compiled once for each shape of states."""

    def __init__(self, agent: Agent, text: str | None = None) -> None:
        """Args: text: what files call the agent (default: its name). Raises: ValueError: an agent that only acts."""
        self.agent, self.text = agent, text or agent.name
        if isinstance(agent, CallableAgent) or not (hasattr(agent, "evaluate") or hasattr(agent, "evaluate_batch")):
            raise ValueError(f"agent {self.text!r} only acts: it does not say what it thinks of a position")
        self._program = jax.jit(lambda states: evaluate_batch(agent, states))
        self._compiled: dict[Any, Any] = {}  # by shape, so that what compiling takes is not taken for thinking

    def evaluate(self, states: Sequence[State], size: int) -> tuple[list[Evaluation], float]:
        """(of each state, NumPy; seconds in all). Args: size: how many are looked at together.

        Raises: ValueError: an agent that only acts, or that plays another game.
        """
        found: list[Evaluation] = []
        seconds = 0.0
        for first in range(0, len(states), size):
            some = states[first : first + size]
            filled = [*some, *[some[-1]] * (size - len(some))]  # one shape, so one program
            batch = jax.tree.map(lambda *leaves: np.stack(leaves), *filled)
            program = self._ready(batch)
            start = time.perf_counter()
            batch = jax.device_get(program(batch))
            seconds += time.perf_counter() - start
            found += [jax.tree.map(lambda leaf, lane=lane: leaf[lane], batch) for lane in range(len(some))]
        return found, seconds

    def _ready(self, batch: Any) -> Any:
        shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(batch))
        if shapes not in self._compiled:
            try:
                compiled = self._program.lower(batch).compile()
            except NotImplementedError as error:
                raise ValueError(str(error)) from None
            self._compiled = {shapes: compiled}
        return self._compiled[shapes]


def ranked(state: State, found: Evaluation) -> list[int]:
    """The legal actions that are thought of at all, the likeliest first."""
    policy = np.where(np.asarray(state.legal_action_mask), found.policy, 0)
    tried = np.zeros(policy.shape, bool) if found.visits is None else np.asarray(found.visits) > 0
    chosen = np.flatnonzero((policy >= LEAST) | tried)
    return sorted(chosen.tolist(), key=lambda action: -float(policy[action]))


def to_json(env: Environment, state: State, found: Evaluation, agent: str, seconds: float) -> dict[str, Any]:
    """An evaluation as records hold it, see docs/records.md: only what the agent knows, actions by their text."""
    order = ranked(state, found)
    texts = {action: env.action_to_text(action) for action in order}
    told: dict[str, Any] = {"agent": agent, "seconds": round(seconds, 4)}
    if not np.isnan(found.value).any():
        told["value"] = _rounded(found.value)
    told["policy"] = {texts[action]: round(float(found.policy[action]), 4) for action in order}
    if found.visits is not None:
        told["visits"] = {texts[a]: int(found.visits[a]) for a in order if found.visits[a] > 0}
    if found.action_values is not None:
        values = {texts[a]: float(found.action_values[a]) for a in order}
        told["action_values"] = {text: round(value, 4) for text, value in values.items() if not np.isnan(value)}
    if found.score is not None:
        told["score"] = _rounded(found.score)
    if found.ownership is not None:
        told["ownership"] = [_rounded(row, 3) for row in np.asarray(found.ownership)]
    if found.variation is not None:
        told["variation"] = [env.action_to_text(int(action)) for action in found.variation if action >= 0]
    return told


def _rounded(values: Any, digits: int = 4) -> list[float]:
    return [round(float(value), digits) for value in np.asarray(values).ravel()]


def picture(env: Environment, state: State, found: Evaluation) -> Scene:
    """The position with the policy on it; below, the value, and the policy of actions that are nowhere on the board."""
    order = ranked(state, found)
    shares = {action: float(found.policy[action]) for action in order if found.policy[action] >= 0.005}
    places = env.places(state)
    placed = {move.action for move in places.moves}
    values = ", ".join(f"{env.player_name(seat)} {value:+.2f}" for seat, value in enumerate(found.value))
    others = ", ".join(f"{env.action_to_text(a)} {100 * shares[a]:.0f} %" for a in shares if a not in placed)
    captions = [f"value: {values}"] if not np.isnan(found.value).any() else []
    return with_shares(env.scene(state), places, shares, captions + ([others] if others else []))


def analyzed(
    analyst: Analyst, path: str | os.PathLike[str], out: str | os.PathLike[str]
) -> Iterator[tuple[int, int, int]]:
    """Writes a record with what an agent thinks of every position; yields (games done, of all, positions) as it goes.

    Games are collected in ``OUT.part``, whole one by one, which becomes ``out`` at the end: after a kill the same call
    goes on. ``out`` may be ``path`` itself.
    Raises: RecordError (a ValueError), OSError; ValueError: games of another game than the agent's, or a part that
    another agent began.
    """
    record = records.read(path)
    part = f"{os.fspath(out)}.part"
    done = _done(part, analyst.text)
    total = len(record.games)
    finished = sum(len(numbers) for numbers in done.values())
    yield finished, total, 0
    for section in record.sections:
        already = done.get(section.header.checksum, set())
        missing = [game for game in section.games if game.number not in already]
        if not missing:
            continue
        with records.Writer(part, section.header) as writer:
            for game in missing:
                states, thoughts = think(analyst, game)
                writer.add([_with_analysis(game, thoughts)])
                finished += 1
                yield finished, total, len(states)
    if total == 0:
        raise ValueError(f"{os.fspath(path)} has no games")
    os.replace(part, out)


def think(analyst: Analyst, game: records.Game) -> tuple[list[State], list[dict[str, Any] | None]]:
    """(the states of a recorded game, what the agent thinks of each; None of finished ones). Raises: ValueError."""
    env = environment_of(game)
    states = [jax.device_get(state) for state in records.replay(game)]
    open_ = [state for state in states if not bool(state.terminated | state.truncated)]
    evaluated, seconds = analyst.evaluate(open_, _BATCH)
    found, seconds = iter(evaluated), seconds / max(len(open_), 1)
    thoughts = [
        None if bool(state.terminated | state.truncated) else to_json(env, state, next(found), analyst.text, seconds)
        for state in states
    ]
    return states, thoughts


def _with_analysis(game: records.Game, thoughts: list[dict[str, Any] | None]) -> records.Game:
    return dataclasses.replace(game, analysis=tuple(thoughts))


def _done(part: str, agent: str) -> dict[str, set[int]]:
    """The numbers of the games that a part holds, by the checksum of their header. Raises: ValueError; OSError."""
    done: dict[str, set[int]] = {}
    if not os.path.exists(part):
        return done
    for item in records.scan(part):
        if not isinstance(item, records.Game) or item.header is None:
            continue  # a half line at its end is removed when it is written on
        begun = {thought["agent"] for thought in item.analysis or () if thought}
        if begun - {agent}:
            raise ValueError(f"{part} was begun with agent {begun.pop()!r}: go on with it, or remove that file")
        done.setdefault(item.header.checksum, set()).add(item.number)
    return done
