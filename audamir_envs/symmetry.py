"""The symmetries of games on hexagonal boards, as permutations: for training on every image of a position."""

from __future__ import annotations

import dataclasses

import numpy as np

from audamir_envs import registry
from audamir_envs.core import Environment
from audamir_envs.hexboard import hexboard
from audamir_envs.learning import HexInterface


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetry:
    """The S symmetries that turn a game into a game, NumPy; the first changes nothing.

    Gather values (observations, owners, policies) by the first three; look actions up in the last.
    """

    grid: np.ndarray  # int32 [S, width * width]: the place of the observation's flattened grid that moves here
    cells: np.ndarray  # int32 [S, cells]: the cell that moves here
    sources: np.ndarray  # int32 [S, actions]: the action that moves here
    actions: np.ndarray  # int32 [S, actions]: where an action goes


def symmetries(env: Environment) -> Symmetry:
    """The tables of an environment, by what its game's ``LEARNING`` says.

    A symmetry may turn a layout into another one of the same shapes, as blocked cells move with it.
    Raises: ValueError for a game that says of no hexagonal board how its actions lie on it.
    """
    found = registry.learning(env.id)
    if found is None or not isinstance(found.network, HexInterface):
        raise ValueError(f"{env.id} does not say how its actions lie on a hexagonal board")
    kinds, kind_images = found.network.kinds, found.network.kind_images
    assert kind_images is not None  # it was filled in
    board, chosen = hexboard((env.observation_shape[0] + 1) // 2), list(found.symmetries)
    actions = np.tile(np.arange(env.num_actions, dtype=np.int32), (12, 1))
    images = board.symmetries[:, :, None] * kinds + kind_images[:, None, :]
    actions[:, : board.size * kinds] = images.reshape(12, -1)
    actions = actions[chosen]
    return Symmetry(
        grid=np.argsort(board.grid_symmetries()[chosen], axis=1).astype(np.int32),
        cells=np.argsort(board.symmetries[chosen], axis=1).astype(np.int32),
        sources=np.argsort(actions, axis=1).astype(np.int32),
        actions=actions,
    )
