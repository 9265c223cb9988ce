"""What is known of finished games."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from audamir_envs import shares
from audamir_envs.arena.lanes import Lanes


@dataclasses.dataclass(frozen=True)
class Games:
    """Finished games, in the order of the list they were played from."""

    seats: np.ndarray  # int32 [games, players]: the number of the agent in each seat
    starts: np.ndarray  # int32 [games]: games of one number began alike (start, opening and dice)
    starter: np.ndarray  # int32 [games]: the seat that moved first
    shares: np.ndarray  # float64 [games, players]: each seat's share of the win, sum 1
    plies: np.ndarray  # int32 [games], the opening included
    unfinished: np.ndarray  # bool [games]: cut, and settled on points
    decisions: int
    seconds: float
    compile_seconds: float
    places: np.ndarray | None = None  # int32 [games]: the place in the opening book; None: without a book
    final: Any = None  # positions at the end, cut games' too: NumPy arrays, [games] in front of every shape

    def repeated(self) -> int:
        """How many games are others once more, move for move as far as their ends tell, and so no new evidence.

        That is so where agents that draw nothing play from one start: then all games with the same seats, of which the
        same one begins, are equal. Where any two of them differ somebody draws, and games that happen to be equal are
        independent all the same.
        """
        first = self._first_alike()
        if all(np.array_equal(fact, fact[first]) for fact in _facts(self)):  # mostly the first fact tells
            return len(first) - len(np.unique(first))
        return 0

    def _first_alike(self) -> np.ndarray:
        """int [games]: the first game with the same seats and the same one to begin."""
        rows = np.column_stack([self.seats, self.starter])
        _, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return first[number.ravel()]

    def groups(self, mirrored: bool) -> np.ndarray:
        """int [games]: equal numbers for games that are not independent of each other: games of one opening of a book,
        of one start where they are mirrored, and of one seating where games are ``repeated``."""
        if self.repeated():
            return self._first_alike()
        if self.places is not None:
            return self.places
        return self.starts if mirrored else np.arange(len(self.plies))


def _facts(games: Games | Results) -> list[np.ndarray]:
    """What is known of how games went, [games] in front of every shape."""
    return [games.plies, games.starter, games.unfinished, games.shares, *jax.tree.leaves(games.final)]


def ends(games: Results, which: np.ndarray) -> list[bytes]:
    """What some games' ends tell: who began, their lengths, results and last positions, as bytes for each game."""
    chosen = [np.ascontiguousarray(fact[which]) for fact in _facts(games)]
    count = len(chosen[0])
    rows = [fact.reshape(count, -1).view(np.uint8) for fact in chosen if fact.size]
    return [row.tobytes() for row in np.concatenate(rows, axis=1)]


class Results:
    """What is known of each game of the list."""

    def __init__(self, games: int, players: int) -> None:
        self.finished = 0
        self.starter = np.zeros(games, np.int32)
        self.shares = np.zeros((games, players), np.float64)
        self.plies = np.zeros(games, np.int32)
        self.unfinished = np.zeros(games, np.bool_)
        self.final: Any = None
        self._known = np.zeros(games, np.bool_)

    def collect(self, lanes: Lanes) -> np.ndarray:
        """Takes over what has finished since the last look. Returns: the lanes of these games."""
        game, done = np.asarray(lanes.game), np.asarray(lanes.done)
        rows = np.flatnonzero(done & (game >= 0))
        rows = rows[~self._known[game[rows]]]
        for name in ("starter", "plies", "unfinished"):
            getattr(self, name)[game[rows]] = np.asarray(getattr(lanes, name))[rows]
        self.shares[game[rows]] = shares.exact(np.asarray(lanes.shares, np.float64)[rows])
        if rows.size:
            self._keep(game[rows], jax.tree.map(lambda leaf: np.asarray(leaf)[rows], lanes.states.game))
        return rows

    def restore(self, number: np.ndarray, starter: Any, won: Any, plies: Any, unfinished: Any, final: Any) -> None:
        """Takes over games that were played before: numbers int [k], and what is known of each, [k] in front."""
        self.starter[number], self.shares[number] = starter, won
        self.plies[number], self.unfinished[number] = plies, unfinished
        self._keep(number, final)

    def leading(self) -> int:
        """How many games at the front of the list have finished."""
        return int(self._known.argmin()) if not self._known.all() else self._known.size

    def missing(self) -> np.ndarray:
        """int [k]: the games that nothing is known of."""
        return np.flatnonzero(~self._known)

    def _keep(self, number: np.ndarray, final: Any) -> None:
        if self.final is None:
            games = len(self.plies)
            self.final = jax.tree.map(lambda leaf: np.zeros((games, *leaf.shape[1:]), leaf.dtype), final)
        for kept, leaf in zip(jax.tree.leaves(self.final), jax.tree.leaves(final), strict=True):
            kept[number] = leaf
        self._known[number] = True
        self.finished += number.size
