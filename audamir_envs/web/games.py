"""Games as a browser sends them, and their states, played again from the start."""

from __future__ import annotations

import collections
import dataclasses
import json
import threading
from typing import Any

import jax
import numpy as np

from audamir_envs import registry
from audamir_envs.core import Environment, State

LONGEST_TEXT = 100_000  # of a position
_MOST_ENGINES, _MOST_GAMES = 12, 8  # kept for the next request


class BadRequest(ValueError):
    """What the browser sent is of no use; the text says why in one sentence."""


@dataclasses.dataclass(frozen=True)
class Table:
    """A game: what it is played on, and what was played. Equal tables give equal states on any machine."""

    env_id: str
    options: str  # JSON of the options that are not the default
    seed: int  # of the start, and of chance where ``chance`` does not say
    start: str | None  # the text of the first position; None: that of a new game
    actions: tuple[int, ...]
    chance: tuple[str, ...]  # what chance decided in the first plies, in the game's words

    @property
    def root(self) -> tuple[Any, ...]:
        """What the first position depends on."""
        return (self.env_id, self.options, self.seed, self.start)

    def until(self, ply: int) -> Table:
        """The first plies alone."""
        return dataclasses.replace(self, actions=self.actions[:ply], chance=self.chance[:ply])


def read_table(sent: Any) -> Table:
    """The game of a JSON object. Raises: BadRequest."""
    sent = _object(sent, "game")
    known = ("env", "options", "seed", "start", "actions", "chance")
    for name in sent:
        if name not in known:
            raise BadRequest(f"a game has no field {name!r:.60}: its fields are {', '.join(known)}")
    env_id = sent.get("env")
    if not isinstance(env_id, str) or env_id not in registry.ids():
        raise BadRequest(f"unknown environment {env_id!r:.60}: use {', '.join(registry.ids())}")
    options = _object(sent.get("options", {}), "options")
    try:
        text = json.dumps(options, sort_keys=True, allow_nan=False)
    except ValueError:
        raise BadRequest("options hold a number that is none") from None
    seed = sent.get("seed", 0)
    if not _whole(seed) or not 0 <= seed < 2**31:
        raise BadRequest(f"seed must be an integer from 0 to {2**31 - 1}")
    start = sent.get("start")
    if start is not None and not isinstance(start, str):
        raise BadRequest("start must be the text of a position, or null for a new game")
    if start is not None and len(start) > LONGEST_TEXT:
        raise BadRequest(f"the text of a position has at most {LONGEST_TEXT} characters")
    actions, chance = sent.get("actions", []), sent.get("chance", [])
    if not isinstance(actions, list) or not all(_whole(action) and 0 <= action < 2**31 for action in actions):
        raise BadRequest("actions must be a list of the actions' numbers")
    if not isinstance(chance, list) or not all(isinstance(one, str) for one in chance):
        raise BadRequest("chance must be a list of texts")
    if len(chance) > len(actions):
        raise BadRequest("chance has more entries than actions")
    return Table(env_id, text, seed, start, tuple(actions), tuple(chance))


def _object(sent: Any, what: str) -> dict[str, Any]:
    if not isinstance(sent, dict):
        raise BadRequest(f"{what} must be a JSON object")
    return sent


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Engine:
    """An environment and its functions, compiled once."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.ready = False  # whether a game was played on it, so that its functions are compiled
        self.init = jax.jit(env.init)
        self._step = jax.jit(self._one_step)
        self._given = jax.jit(env.step_with_chance)
        self._possible = jax.jit(env.chance_possible)
        self._chance = jax.jit(env.chance_of)

    def _one_step(self, state: State, action: Any, key: Any, ply: Any) -> State:
        # The keys of `audamir play`: one seed gives one game on both.
        return self.env.step(state, action, jax.random.split(jax.random.fold_in(key, ply + 1))[0])

    def advance(self, table: Table, state: State, ply: int) -> State:
        """The state after ``table.actions[ply]``. Raises: BadRequest: an action that is not legal."""
        action = table.actions[ply]
        legal = np.asarray(state.legal_action_mask)
        over = bool(state.terminated | state.truncated)
        if over or not (action < legal.size and legal[action]):
            text = self.env.action_to_text(action) if action < self.env.num_actions else str(action)
            raise BadRequest(f"action {text} of ply {ply} is not legal{': the game is over' if over else ''}")
        if ply < len(table.chance) and self.env.stochastic:
            try:
                chance = self.env.text_to_chance(action, table.chance[ply])
            except (ValueError, TypeError) as error:
                raise BadRequest(f"chance of ply {ply}: {error}") from None
            if not bool(self._possible(state.game, np.int32(action), chance)):
                raise BadRequest(f"chance cannot decide {table.chance[ply]!r:.60} in ply {ply}")
            return self._given(state, np.int32(action), chance)
        return self._step(state, np.int32(action), jax.random.key(table.seed), np.int32(ply))

    def example(self, state: State, action: int) -> State:
        """A state that a legal action may lead to; of chance always the same is taken."""
        return self._step(state, np.int32(action), jax.random.key(0), np.int32(0))

    def chance_text(self, table: Table, state: State, ply: int) -> str:
        """What chance decided in a ply, in the game's words. Args: state: before it."""
        if ply < len(table.chance):
            return table.chance[ply]
        key = jax.random.split(jax.random.fold_in(jax.random.key(table.seed), ply + 1))[0]
        action = table.actions[ply]
        return self.env.chance_to_text(action, np.asarray(self._chance(state, np.int32(action), key)))


class Games:
    """The states of games. What is kept is a matter of speed alone; calls from several threads wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._engines: collections.OrderedDict[tuple[str, str], Engine] = collections.OrderedDict()
        self._played: collections.OrderedDict[Any, tuple[Table, list[State]]] = collections.OrderedDict()

    def engine(self, table: Table) -> Engine:
        """Of a table's environment. Raises: BadRequest: options that are not valid."""
        name = (table.env_id, table.options)
        with self._lock:
            if name not in self._engines:
                try:
                    env = registry.make(table.env_id, **json.loads(table.options))
                except (ValueError, TypeError, OverflowError, RecursionError) as error:
                    raise BadRequest(sentence(error)) from None
                # Options that are written differently but mean the same share what is compiled.
                same = [engine for engine in self._engines.values() if engine.env == env]
                self._engines[name] = same[0] if same else Engine(env)
            self._engines.move_to_end(name)
            while len(self._engines) > _MOST_ENGINES:
                self._engines.popitem(last=False)
            return self._engines[name]

    def states(self, table: Table) -> list[State]:
        """Every state, from the first position on, as NumPy arrays. Raises: BadRequest."""
        engine = self.engine(table)
        if len(table.actions) > engine.env.max_steps:
            raise BadRequest(f"a game has at most {engine.env.max_steps} actions")
        with self._lock:
            known, states = self._played.pop(table.root, (table.until(0), []))
            same = _common(known, table)
            states = states[: same + 1] if states else [self._first(engine, table)]
            try:
                for ply in range(len(states) - 1, len(table.actions)):
                    states.append(jax.device_get(engine.advance(table, states[-1], ply)))
                engine.ready = True
            finally:
                self._played[table.root] = (table.until(len(states) - 1), states)
                while len(self._played) > _MOST_GAMES:
                    self._played.popitem(last=False)
            return list(states)

    def _first(self, engine: Engine, table: Table) -> State:
        if table.start is None:
            start_key = jax.random.fold_in(jax.random.key(table.seed), 0)
            return jax.device_get(engine.init(start_key))
        try:
            return jax.device_get(engine.env.from_text(table.start))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise BadRequest(f"position: {sentence(error)}") from None


def _common(one: Table, other: Table) -> int:
    """How many first plies two games of one start share."""
    count = 0
    pairs = zip(one.actions, other.actions, strict=False)
    for ply, (a, b) in enumerate(pairs):
        if a != b or one.chance[ply : ply + 1] != other.chance[ply : ply + 1]:
            break
        count += 1
    return count


def sentence(error: Exception) -> str:
    """An exception's text in one line of bounded length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 500 else text[:497] + "..."
