"""The last game that a run has played against itself, as a record in its folder, for those who watch it train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from audamir_envs import files, records, shares
from audamir_envs.arena.evaluation import versions
from audamir_envs.arena.recording import game_of
from audamir_envs.core import Array, Environment, Pytree

FILE = "last_game.jsonl"  # which audamir_envs.web.runs reads


class Shown(Pytree):
    """What one lane played in an iteration, [plies] each."""

    game: Any  # before the action
    action: Array  # int32 []
    chance: Array  # uint8 [*chance_shape]
    after: Any  # the game after the action, finished ones too
    over: Array  # bool []
    rewards: Array  # float32 [players]: where over


def first_lane(tree: Any) -> Any:
    """The part of the first device of this process of what all devices show, as NumPy. Args: tree: [devices] each."""
    return jax.tree.map(lambda leaf: np.asarray(leaf.addressable_shards[0].data)[0], tree)


class LastGame:
    """Puts a lane's plies together to games and writes the last whole one.

    Games of every variant are followed, since they go on whenever an iteration plays theirs. A game that was under way
    at the start of a sitting is left out: nobody has seen its beginning. Args: learner: what the learner is called.
    """

    def __init__(self, folder: Path, learner: str) -> None:
        self.path, self.learner = folder / FILE, learner
        self._plies: dict[Environment, list[Any] | None] = {}  # None: a game whose beginning was not seen
        self._found: tuple[Environment, list[Any]] | None = None  # the last whole game, if it is not written yet

    def see(self, env: Environment, shown: Any) -> None:
        """Takes note of an iteration. Args: shown: ``Shown`` of NumPy arrays."""
        plies = self._plies.get(env)
        for number in range(len(shown.action)):
            ply = jax.tree.map(lambda leaf, number=number: leaf[number], shown)
            if plies is not None:
                plies.append(ply)
            if ply.over:
                if plies:
                    self._found = env, plies
                plies = []
        self._plies[env] = plies

    def write(self, iteration: int) -> None:
        """Writes the last whole game, if there is a new one. Raises: OSError."""
        if self._found is None:
            return
        env, plies = self._found
        header = records.header_of(
            env,
            [(f"{self.learner}@{iteration}", None)],
            seed=None,
            protocol={"games": 1, "iteration": iteration},
            versions=versions(env),
        )
        game = game_of(
            env,
            number=0,
            seats=np.zeros(env.num_players, int),
            starter=int(env.mover(plies[0].game)),
            start=plies[0].game,
            actions=np.array([ply.action for ply in plies]),
            chance=np.array([ply.chance for ply in plies]),
            shares=shares.of_rewards(plies[-1].rewards),
            cut=False,
            final=plies[-1].after,
            opening=0,
        )
        files.write_bytes(self.path, records.encode(header) + records.encode(game, header))
        self._found = None
