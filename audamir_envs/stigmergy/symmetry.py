"""The 12 symmetries of the board as permutations of actions and observations, for training on turned games.

Symmetry s sends cell c to ``hexboard(side).symmetries[s, c]``; the pass and the pie's actions stay what they are.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from audamir_envs import hexboard
from audamir_envs.core import Array

COUNT = 12


def action_images(side: int, num_actions: int) -> np.ndarray:
    """int32 [12, actions]: the image of every action under every symmetry."""
    board = hexboard.hexboard(side)
    images = np.tile(np.arange(num_actions, dtype=np.int32), (COUNT, 1))
    images[:, : board.size] = board.symmetries
    return images


def transform_actions(values: Array, symmetry: Array, side: int) -> Array:
    """[..., actions]: a mask or policy of the turned game, from that of the game.

    Args: symmetry: int32 [...], one for each leading entry of values.
    """
    inverse = np.argsort(action_images(side, values.shape[-1]), axis=-1).astype(np.int32)
    return jnp.take_along_axis(values, jnp.asarray(inverse)[symmetry], axis=-1)


def transform_observation(observation: Array, symmetry: Array, side: int) -> Array:
    """[..., width, width, planes]: the observation of the turned game, from that of the game.

    Args: symmetry: int32 [...], one for each leading entry of observation.
    """
    inverse = np.argsort(hexboard.hexboard(side).grid_symmetries(), axis=-1).astype(np.int32)
    shape = observation.shape
    places = observation.reshape(*shape[:-3], shape[-3] * shape[-2], shape[-1])
    return jnp.take_along_axis(places, jnp.asarray(inverse)[symmetry][..., None], axis=-2).reshape(shape)
