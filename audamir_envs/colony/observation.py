"""What a seat of Colony sees: bool (9, 9, 14) on the axial grid, row r + 4, column q + 4."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from audamir_envs.colony.cells import BOARD, SIZE, words
from audamir_envs.colony.rules import MAX_TURNS_LIMIT, Position
from audamir_envs.core import Array

_TURN_BITS = MAX_TURNS_LIMIT.bit_length()
PLANES = ("mine", "theirs", "empty", "claim_empty", *(f"turns_left_{1 << bit}" for bit in range(_TURN_BITS)))
"""Plane names; the first three mark cells, the others are all true or all false."""
SHAPE = (BOARD.width, BOARD.width, len(PLANES))


def _cell_bits() -> np.ndarray:
    """uint32 [2, 81, 1]: the bit of each grid place in the words of a set of cells."""
    bits = np.zeros((2, BOARD.width**2), np.uint32)
    bits[1] = 1 << 31  # places off the board: a bit that no set of cells has
    bits[:, BOARD.grid] = words(np.eye(SIZE, dtype=np.bool_))
    return bits[:, :, None]


_BITS = _cell_bits()


def observe(position: Position, player: Array) -> Array:
    """bool (9, 9, 14): the position as a seat (int32 []) sees it."""
    moving = player == position.mover
    own, enemy, empty = position.own, position.enemy, position.empty
    turns_left = jnp.maximum(position.max_turns - position.turn, jnp.int32(0)).astype(jnp.uint32)
    facts = position.claim_empty.astype(jnp.uint32) | (turns_left << jnp.uint32(1))
    # Every plane is a pair of words, those that are the same everywhere being all ones or all zeros, off the board too.
    uniform = jnp.uint32(0) - ((facts >> jnp.arange(1 + _TURN_BITS, dtype=jnp.uint32)) & jnp.uint32(1))
    low = [jnp.where(moving, own.lo, enemy.lo), jnp.where(moving, enemy.lo, own.lo), empty.lo]
    high = [jnp.where(moving, own.hi, enemy.hi), jnp.where(moving, enemy.hi, own.hi), empty.hi]
    low, high = (jnp.concatenate([jnp.stack(cells), uniform])[None] for cells in (low, high))
    return (((low & _BITS[0]) | (high & _BITS[1])) != jnp.uint32(0)).reshape(SHAPE)
