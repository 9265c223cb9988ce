"""The games of a run's evaluations as a record, a section for each opponent of each evaluation."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from audamir_envs import files, records, shares
from audamir_envs.arena.evaluation import versions
from audamir_envs.arena.recording import game_of
from audamir_envs.core import Environment
from audamir_envs.records.writing import same_run
from audamir_training.evaluation import Match, Taken


class Recorder:
    """Writes what matches tell to one file, in which sections of earlier sittings and of other runs may stand.

    An evaluation that is made again after a kill is written once: its games are the same. Args: learner: what the
    learner is called; its iteration is added. Raises: RecordError: a file that is no record; OSError: one that cannot
    be written.
    """

    def __init__(self, path: Path, learner: str) -> None:
        self.path, self.learner = path, learner
        files.check_writable(path)
        if path.is_file():
            first = next(iter(records.scan(path)), None)
            if isinstance(first, records.RecordError):
                raise first

    def write(self, opponent: str, match: Match, iteration: int, positions: int, cut: np.ndarray, taken: Taken) -> None:
        """Appends the games of a match. Args: cut, taken: what it told, as NumPy. Raises: RecordError, OSError."""
        env = match.env
        opening = match.opening_plies
        protocol = {
            "games": match.games,
            "opening_plies": opening,
            "max_plies": opening + match.max_plies,
            "mirrored": True,
            "iteration": iteration,
            "positions": positions,
        }
        header = records.header_of(
            env,
            [(f"{self.learner}@{iteration}", None), (opponent, match.level)],
            seed=iteration,
            protocol=protocol,
            versions=versions(env),
        )
        if self._has(header):
            return
        with records.Writer(self.path, header) as writer:
            numbers = [number for number in range(match.games) if number not in writer.before]
            writer.add([self._game(env, number, opening, cut, taken) for number in numbers])

    def _has(self, header: records.Header) -> bool:
        """Whether all games of this evaluation are in the file."""
        if not self.path.is_file():
            return False
        sections = records.read(self.path, strict=False).sections
        return any(section.complete and same_run(section.header, header) for section in sections)

    def _game(self, env: Environment, number: int, opening: int, cut: np.ndarray, taken: Taken) -> records.Game:
        one = jax.tree.map(lambda leaf: leaf[number], taken)
        plies = int(one.plies)
        seats = np.ones(env.num_players, int)
        seats[int(one.seat)] = 0
        return game_of(
            env,
            number=number,
            seats=seats,
            starter=int(one.starter),
            start=one.start,
            actions=one.actions[:plies],
            chance=one.chance[:plies],
            shares=shares.exact(one.shares),
            cut=bool(cut[number]),
            final=one.final,
            opening=opening,
        )
