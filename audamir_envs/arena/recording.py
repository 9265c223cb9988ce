"""Writing down what lanes play, game by game as games end."""

from __future__ import annotations

import dataclasses
import functools
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from audamir_envs import shares
from audamir_envs.arena.lanes import CHUNK, Lanes
from audamir_envs.arena.results import Results
from audamir_envs.core import Environment, State
from audamir_envs.records import Game, Header, Writer
from audamir_envs.records.format import encode
from audamir_envs.records.replaying import action_texts, batches, replayed

_WAITING = 16  # groups of games that may wait to be written, which a kill loses; then play waits


class Recorder:
    """Takes down the plies of all lanes, and appends each game to a file when it ends.

    Lines are made in a thread of their own while the lanes go on, and written in the order in which games end. Close it
    at the end: then all are on disk.

    Args: path: the file; header: of the run; seats: int [games, players], numbers of the header's agents; opening: the
    plies that no agent chooses. Raises: as ``records.Writer``.
    """

    def __init__(
        self, env: Environment, path: str | os.PathLike[str], header: Header, seats: np.ndarray, opening: int
    ) -> None:
        self.env = env
        self.seats = seats
        self.opening = opening
        self.writer = Writer(path, header)
        self._texts: dict[bytes, str] = {}  # of starts, which are often alike
        self._starts: list[Any] = []  # of each lane's game: NumPy leaves
        self._shape: Any = None  # of games
        self._first: np.ndarray  # int [lanes]: the row of the buffers where each lane's game begins
        self._actions: np.ndarray  # [rows, lanes]
        self._chance: np.ndarray  # [rows, lanes, *chance_shape]
        self._rows = 0  # in use
        self._jobs: queue.Queue[list[Callable[[], Game]] | None] = queue.Queue(_WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name="recorder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends writing. Raises: OSError: some games could not be written."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
        self.writer.close()
        self._check()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def restore(self, results: Results) -> None:
        """Hands over the games that the file held before, having played them again.

        Raises: records.RecordError: a game that is none of this run, or does not follow the rules.
        """
        games = sorted(self.writer.before.values(), key=lambda game: game.number)
        for game in games:
            if game.number >= len(self.seats) or game.seats != tuple(self.seats[game.number].tolist()):
                raise game.error(f"game {game.number} is none of this run: its seats are others")
        for group in batches(games, 64):
            final = replayed(self.env, group)
            results.restore(
                np.array([game.number for game in group]),
                [game.starter for game in group],
                shares.exact(np.array([game.shares for game in group])),
                [game.plies for game in group],
                [game.cut for game in group],
                jax.device_get(final.game),
            )

    def begin(self, lanes: Lanes, taken: np.ndarray) -> None:
        """Notes the starts of the games that have just begun in some lanes."""
        if not self._starts:
            size = lanes.game.shape[0]
            self._starts = [None] * size
            self._first = np.full(size, -1)
            self._actions = np.zeros((32 * CHUNK, size), np.int32)
            self._chance = np.zeros((32 * CHUNK, size, *(self.env.chance_shape or ())), np.uint8)
        leaves, self._shape = jax.tree.flatten(lanes.states.game)
        rows = [np.asarray(leaf)[taken] for leaf in leaves]
        for lane, leaf in zip(taken.tolist(), zip(*rows, strict=True), strict=True):
            self._starts[lane] = leaf
        self._first[taken] = self._rows

    def played(self, plies: Any) -> None:
        """Takes down CHUNK plies of all lanes, as ``Program.advance`` tells them."""
        if self._rows == len(self._actions):
            self._make_room()
        part = slice(self._rows, self._rows + CHUNK)
        self._actions[part], self._chance[part] = plies
        self._rows += CHUNK

    def ended(self, lanes: Lanes, rows: np.ndarray, results: Results) -> None:
        """Appends the games that have just ended in some lanes. Raises: OSError: earlier ones could not be written."""
        self._check()
        jobs: list[Callable[[], Game]] = []
        lost = np.where(np.asarray(lanes.offender) >= 0, np.asarray(lanes.states.current_player), -1)
        for lane, number in zip(rows.tolist(), np.asarray(lanes.game)[rows].tolist(), strict=True):
            part = slice(self._first[lane], self._first[lane] + int(results.plies[number]))
            actions, chance = self._actions[part, lane].copy(), self._chance[part, lane].copy()
            forfeit = int(lost[lane]) if lost[lane] >= 0 else None
            jobs.append(functools.partial(self._game, number, actions, chance, self._starts[lane], results, forfeit))
            self._first[lane] = -1
        self._jobs.put(jobs)

    def _game(
        self, number: int, taken: np.ndarray, chance: np.ndarray, start: Any, results: Results, forfeit: int | None
    ) -> Game:
        name = b"".join([leaf.tobytes() for leaf in start])
        text = self._texts.get(name)
        if text is None:
            text = _text(self.env, jax.tree.unflatten(self._shape, start))
            if len(self._texts) < 1000:
                self._texts[name] = text
        return game_of(
            self.env,
            number=number,
            seats=self.seats[number],
            starter=int(results.starter[number]),
            start=text,
            actions=taken,
            chance=chance,
            shares=results.shares[number],
            cut=bool(results.unfinished[number]),
            final=jax.tree.map(lambda leaf: leaf[number], results.final),
            opening=self.opening,
            forfeit=forfeit,
        )

    def _write(self) -> None:
        while (jobs := self._jobs.get()) is not None:
            if self._error is None:
                try:
                    self.writer.add([encode(job(), self.writer.header) for job in jobs])
                except BaseException as error:  # told to the other thread, which would wait for this one for ever
                    self._error = error

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _make_room(self) -> None:
        """Drops the plies of games that have ended; doubles the buffers where that gains too little."""
        live = self._first[self._first >= 0]
        drop = int(live.min()) if live.size else self._rows
        if drop < self._rows // 2:
            self._actions, self._chance = (np.concatenate([a, np.zeros_like(a)]) for a in (self._actions, self._chance))
            return
        keep = self._rows - drop
        for buffer in (self._actions, self._chance):
            buffer[:keep] = buffer[drop : self._rows].copy()
        self._first[self._first >= 0] -= drop
        self._rows = keep


def game_of(
    env: Environment,
    *,
    number: int,
    seats: np.ndarray,
    starter: int,
    start: Any,
    actions: np.ndarray,
    chance: np.ndarray,
    shares: np.ndarray,
    cut: bool,
    final: Any,
    opening: int,
    forfeit: int | None = None,
) -> Game:
    """A game as records keep it; see ``records.Game`` for what is not told here.

    Args: start: ``state.game`` (NumPy) or its text; actions: int32 [plies]; chance: uint8 [plies, *chance_shape];
    shares: float [players]; final: ``state.game``; opening: of all games of the run.
    """
    moves, played = action_texts(env), actions.tolist()
    return Game(
        number=number,
        seats=tuple(seats.tolist()),
        starter=starter,
        start=start if isinstance(start, str) else _text(env, start),
        actions=tuple(played),
        moves=tuple([moves[action] for action in played]),
        chance=tuple(env.chance_to_texts(played, chance)) if env.stochastic else None,
        shares=tuple(shares.tolist()),
        cut=cut,
        final=_text(env, final),
        opening=min(opening, len(played)),
        forfeit=forfeit,
    )


def _text(env: Environment, game: Any) -> str:
    """A position's text, which is made of ``state.game`` alone."""
    unknown: dict[str, Any] = dict.fromkeys(field.name for field in dataclasses.fields(State))  # type: ignore[arg-type]
    return env.to_text(State(**unknown | {"game": game}))
