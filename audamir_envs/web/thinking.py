"""The levels that answer on the page: which there are, their moves and what they think."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from audamir_envs import registry
from audamir_envs.agents.base import Agent, Evaluation, evaluate_batch
from audamir_envs.agents.loading import agent_names, load_agent_text
from audamir_envs.agents.outside import plays_inside
from audamir_envs.core import Environment, State
from audamir_envs.web.games import BadRequest, Engine, Table, sentence

BATCH = 4  # positions that a level looks at together
_LEAST = 0.001  # probabilities below are not sent
_LINE = 8  # actions of a variation that are sent
_NOWHERE: list[Any] = [[], 0, 0]  # of an action that is not on the board


class Levels:
    """The agents that the page may name: a game's own levels, and those given when the server was started."""

    def __init__(self, given: Sequence[str] = ()) -> None:
        """Args: given: texts of agents. Raises: ValueError, OSError: one that no game can load."""
        self._agents: dict[tuple[str, str], Agent] = {}
        self._written: dict[tuple[str, str], int | None] = {}  # when an agent's file was written, if it is one
        self._given: dict[str, list[str]] = {env_id: [] for env_id in registry.ids()}
        self._compiled: dict[Any, Callable[..., Any]] = {}
        self._ready: set[Any] = set()
        self._lock = threading.Lock()  # one thinks at a time: two would share the same cores
        for text in given:
            self.add(text)

    def add(self, text: str) -> list[str]:
        """Offers an agent too; returns the ids of its games. Raises: ValueError, OSError: one that no game can load."""
        refusals: list[Exception] = []
        found = []
        for env_id, texts in self._given.items():
            try:
                self._load(env_id, text)
            except (ValueError, OSError) as error:
                refusals.append(error)
            else:
                found.append(env_id)
                if text not in texts:
                    texts.append(text)
        if not found:
            raise refusals[0]
        return found

    def names(self, env_id: str) -> list[list[str]]:
        """[text, what the page calls it]."""
        own = [[name, name] for name in agent_names(env_id)]
        return own + [[text, _short(text)] for text in self._given[env_id] if [text, text] not in own]

    def entry(self, text: str) -> list[str]:
        """What ``names`` says of a text."""
        return [text, _short(text)]

    def _load(self, env_id: str, text: str) -> Agent:
        """The agent; anew where a training run, say, has written another one. Raises: ValueError, OSError."""
        name, written = (env_id, text), _modified(text)
        old = self._agents.get(name)
        if old is not None and self._written[name] in (written, None):
            return old
        agent = load_agent_text(env_id, text)
        with self._lock:  # what was compiled of the old one goes with it
            self._compiled = {key: made for key, made in self._compiled.items() if key[0] != id(old)}
            self._ready = {key for key in self._ready if key[0] != id(old)}
            self._agents[name], self._written[name] = agent, written
        return agent

    def _agent(self, env_id: str, text: Any) -> Agent:
        known = dict(self.names(env_id))
        if not isinstance(text, str) or text not in known:
            raise BadRequest(f"unknown agent {text!r:.60}: use {', '.join(known.values())}")
        try:
            return self._load(env_id, text)
        except (ValueError, OSError) as error:
            raise BadRequest(sentence(error)) from None

    def loaded(self, env_id: str, text: str) -> Agent | None:
        """An agent that has played, None for any other name."""
        return self._agents.get((env_id, text))

    def ready(self, engine: Engine, text: Any, what: str) -> bool:
        """Whether an agent's ``act`` or ``evaluate`` is compiled. Raises: BadRequest."""
        return self._name(engine, text, what) in self._ready

    def _name(self, engine: Engine, text: Any, what: str) -> Any:
        agent = self._agent(engine.env.id, text)
        shapes = jax.eval_shape(engine.env.init, jax.random.key(0))
        leaves = tuple((leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(shapes))
        return id(agent), what, leaves

    def act(self, engine: Engine, table: Table, state: State, text: Any) -> int:
        """The action of an agent in the last position of a game. Raises: BadRequest; RuntimeError: an illegal action.

        The same game, seed and agent give the same action.
        """
        if bool(state.terminated | state.truncated):
            raise BadRequest("the game is over")
        agent = self._agent(engine.env.id, text)
        name = self._name(engine, text, "act")
        ply = len(table.actions)
        key = jax.random.split(jax.random.fold_in(jax.random.key(table.seed), ply + 1))[1]
        with self._lock:
            act = self._compiled.setdefault(
                (id(agent), "act"), jax.jit(agent.act) if plays_inside(agent) else agent.act
            )
            action = int(act(state, key))
            self._ready.add(name)
        if not (0 <= action < engine.env.num_actions and state.legal_action_mask[action]):
            raise RuntimeError(f"agent {text!r} chose the illegal action {action}")
        return action

    def evaluate(self, engine: Engine, states: Sequence[State], text: Any) -> list[dict[str, Any]]:
        """What an agent thinks of some positions, as JSON. Raises: BadRequest: an agent that only acts."""
        agent = self._agent(engine.env.id, text)
        name = self._name(engine, text, "evaluate")
        over = [bool(state.terminated | state.truncated) for state in states]
        open_ = [state for state, done in zip(states, over, strict=True) if not done]
        thoughts = []
        with self._lock:
            evaluate = self._compiled.setdefault(
                (id(agent), "evaluate"), jax.jit(lambda states: evaluate_batch(agent, states))
            )
            for first in range(0, len(open_), BATCH):
                some = open_[first : first + BATCH]
                batch = jax.tree.map(lambda *leaves: np.stack(leaves), *some, *some[-1:] * (BATCH - len(some)))
                try:
                    found = jax.device_get(evaluate(batch))
                except NotImplementedError as error:
                    raise BadRequest(sentence(error)) from None
                thoughts += [jax.tree.map(lambda leaf, i=i: leaf[i], found) for i in range(len(some))]
            self._ready.add(name)
        following = iter(thoughts)
        return [
            {"value": _numbers(engine.env.outcome(state.game).rewards)}
            if done
            else evaluation(engine, state, next(following))
            for state, done in zip(states, over, strict=True)
        ]


def evaluation(engine: Engine, state: State, found: Evaluation) -> dict[str, Any]:
    """An evaluation of one position (NumPy) as the page shows it.

    ``value``, and where known ``score``, for each seat; ``moves``: [text, path, x, y, policy, visits, value], the best
    first, without those that are hardly thought of, path and coordinates as in ``frames.places``; ``line``: [text,
    path, x, y] of the moves expected; ``ownership``: for each place the chance of each seat.
    """
    legal = np.asarray(state.legal_action_mask)
    policy = np.where(legal, np.asarray(found.policy), 0)
    visits = None if found.visits is None else np.asarray(found.visits)
    values = np.full(policy.shape, np.nan) if found.action_values is None else np.asarray(found.action_values)
    tried = np.zeros(policy.shape, np.bool_) if visits is None else visits > 0
    chosen = np.flatnonzero(legal & ((policy >= _LEAST) | tried))
    order = sorted(chosen.tolist(), key=lambda a: (0 if visits is None else -int(visits[a]), -float(policy[a])))
    found_at = spots(engine.env, state)
    told: dict[str, Any] = {
        "value": _numbers(found.value),
        "moves": [
            evaluation_row(
                engine.env,
                found_at,
                action,
                float(policy[action]),
                None if visits is None else int(visits[action]),
                None if np.isnan(values[action]) else float(values[action]),
            )
            for action in order
        ],
    }
    if found.score is not None:
        told["score"] = _numbers(found.score, 2)
    if found.ownership is not None:
        told["ownership"] = [_numbers(row, 2) for row in np.asarray(found.ownership)]
    variation = [] if found.variation is None else [int(a) for a in np.asarray(found.variation) if a >= 0]
    told["line"] = line(engine, state, variation[:_LINE] or order[:1])
    return told


def evaluation_row(
    env: Environment,
    found_at: dict[int, list[Any]],
    action: int,
    policy: float,
    visits: int | None,
    value: float | None,
) -> list[Any]:
    """[text, path, x, y, policy, visits, value] of an action. Args: found_at: see ``spots``."""
    where = found_at.get(action, _NOWHERE)
    return [env.action_to_text(action), *where, round(policy, 4), visits, None if value is None else round(value, 3)]


def line(engine: Engine, state: State, actions: Sequence[int]) -> list[list[Any]]:
    """Actions from a position on as [text, path, x, y], as far as they are legal; of chance one outcome is taken."""
    told: list[list[Any]] = []
    for action in actions:
        if bool(state.terminated | state.truncated) or not state.legal_action_mask[action]:
            break
        told.append([engine.env.action_to_text(action), *spots(engine.env, state).get(action, _NOWHERE)])
        if len(told) < len(actions):
            state = jax.device_get(engine.example(state, action))
    return told


def spots(env: Environment, state: State) -> dict[int, list[Any]]:
    """[path, x, y] of each legal action on the board, the origin left out where several will do."""
    found = env.places(state)
    spots: dict[int, list[Any]] = {}
    for move in found.moves:
        x, y = move.at or found.places[move.path[-1]].centre
        path = move.path if move.action not in spots else move.path[-1:]
        spots[move.action] = [list(path), round(x, 1), round(y, 1)]
    return spots


def _modified(text: str) -> int | None:
    """When a file was written last; None: it is none, or gone."""
    try:
        return os.stat(text).st_mtime_ns
    except (OSError, ValueError):
        return None


def _short(text: str) -> str:
    """A text without folders, but for the one that a run's level lies in."""
    parts = text.split(os.sep)
    return os.sep.join(parts[-2:])


def _numbers(values: Any, digits: int = 4) -> list[float | None]:
    """Rounded; None for nan, which JSON does not have."""
    return [None if np.isnan(value) else round(float(value), digits) for value in np.asarray(values).ravel()]
