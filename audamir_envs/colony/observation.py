"""What a seat of Colony sees: bool (9, 9, 14) on the axial grid, row r + 4, column q + 4."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from audamir_envs.colony.cells import BOARD, SIZE, words
from audamir_envs.colony.rules import MAX_TURNS_LIMIT, Position, all_set
from audamir_envs.core import Array

_TURN_BITS = MAX_TURNS_LIMIT.bit_length()
PLANES = ("mine", "theirs", "empty", "claim_empty", *(f"turns_left_{1 << bit}" for bit in range(_TURN_BITS)))
"""Plane names; the first three mark cells, the others are all true or all false."""
SHAPE = (BOARD.width, BOARD.width, len(PLANES))


def _table() -> np.ndarray:
    """uint32 [7, 9 * 9 * 14]: bits to be set in the words of mine, theirs, empty (lo, hi each), options."""
    table = np.zeros((7, BOARD.width**2, len(PLANES)), np.uint32)
    lo, hi = words(np.eye(SIZE, dtype=np.bool_))
    for plane in range(3):
        table[2 * plane + 1, :, plane] = 1 << 31  # never set: off the board
        table[2 * plane, BOARD.grid, plane] = lo
        table[2 * plane + 1, BOARD.grid, plane] = hi
    for bit in range(1 + _TURN_BITS):
        table[6, :, 3 + bit] = 1 << bit
    return table.reshape(7, -1)


_NEEDED = _table()


def observe(position: Position, player: Array) -> Array:
    """bool (9, 9, 14): the position as a seat (int32 []) sees it."""
    moving = player == position.mover
    own, enemy, empty = position.own, position.enemy, position.empty
    turns_left = jnp.maximum(position.max_turns - position.turn, jnp.int32(0)).astype(jnp.uint32)
    options = position.claim_empty.astype(jnp.uint32) | (turns_left << jnp.uint32(1))
    available = (
        jnp.where(moving, own.lo, enemy.lo),
        jnp.where(moving, own.hi, enemy.hi),
        jnp.where(moving, enemy.lo, own.lo),
        jnp.where(moving, enemy.hi, own.hi),
        empty.lo,
        empty.hi,
        options,
    )
    return all_set(_NEEDED, available).reshape(SHAPE)
