"""Sets of cells of the side-5 board as two machine words, so that moves, masks and searches are integer operations.

The 61 cells lie on a ring: cell (q, r) has the number (q + 14 r) mod 61. Because 14 is a primitive sixth root of unity
modulo 61 these numbers are all different, every direction (and every jump) is the same step round the ring wherever it
starts, and a turn of the board by a sixth multiplies numbers by 14. What leaves the board comes back in elsewhere on
the ring, so the tables below say from which cells a step stays on the board.
"""

from __future__ import annotations

import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, Pytree
from audamir_envs.hexboard import DIRECTIONS, hexboard

BOARD = hexboard(5)
SIZE = BOARD.size
RING = ((BOARD.q + 14 * BOARD.r) % SIZE).astype(np.int32)
"""int32 [61]: the ring number of each cell."""

_LOW = 32  # bits in the first word
_HIGH = SIZE - _LOW
_HIGH_MASK = np.uint32((1 << _HIGH) - 1)


class Cells(Pytree):
    """A set of cells: bit i of ``lo`` is ring number i, bit i of ``hi`` ring number 32 + i (bits 29 to 31 are zero)."""

    lo: Array  # uint32 []
    hi: Array  # uint32 []

    def __or__(self, other: Cells) -> Cells:
        return Cells(self.lo | other.lo, self.hi | other.hi)

    def __and__(self, other: Cells) -> Cells:
        return Cells(self.lo & other.lo, self.hi & other.hi)

    def __sub__(self, other: Cells) -> Cells:
        return Cells(self.lo & ~other.lo, self.hi & ~other.hi)

    def any(self) -> Array:
        """bool []: whether there is a cell in the set."""
        return (self.lo | self.hi) != jnp.uint32(0)

    def count(self) -> Array:
        """int32 []: the number of cells."""
        return (jax.lax.population_count(self.lo) + jax.lax.population_count(self.hi)).astype(jnp.int32)


def words(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both words, uint32 [...], of sets given as bool [..., 61] by cell number."""
    ring = np.zeros((*cells.shape[:-1], 64), np.uint64)
    ring[..., RING] = cells
    value = (ring << np.arange(64, dtype=np.uint64)).sum(-1, dtype=np.uint64)
    return (value & np.uint64(0xFFFFFFFF)).astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)


def from_bool(cells: np.ndarray) -> Cells:
    """The set (or array of sets) given as bool [..., 61] by cell number, as NumPy words."""
    lo, hi = words(np.asarray(cells, np.bool_))
    return Cells(lo, hi)  # type: ignore[arg-type]


def to_bool(cells: Cells) -> np.ndarray:
    """bool [..., 61] by cell number, in NumPy: the inverse of ``from_bool``."""
    value = np.asarray(cells.lo).astype(np.uint64) | (np.asarray(cells.hi).astype(np.uint64) << np.uint64(32))
    return (value[..., None] >> RING.astype(np.uint64)) & np.uint64(1) != 0


def of_coordinates(*cells: tuple[int, int]) -> np.ndarray:
    """bool [61]: the cells at axial coordinates (q, r)."""
    chosen = np.zeros(SIZE, np.bool_)
    chosen[[BOARD.index[cell] for cell in cells]] = True
    return chosen


def _stay(offset: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    return words(BOARD.offset_table((offset,))[:, 0] >= 0)


def step_of(offset: tuple[int, int]) -> int:
    """How far round the ring an offset (dq, dr) of length 1 or 2 goes: from -28 to 28, negative backwards."""
    step = (offset[0] + 14 * offset[1]) % SIZE
    return step if step <= SIZE // 2 else step - SIZE


_DIRECTION_STEPS = tuple((step_of(offset), *_stay(offset)) for offset in DIRECTIONS)


def _turn(lo: Array, hi: Array, step: int) -> tuple[Array, Array]:
    """The words moved ``step`` numbers round the ring; step is not 0 and lies in -28..28."""
    k = jnp.uint32(abs(step))
    if step > 0:
        new_lo = (lo << k) | (hi >> (jnp.uint32(_HIGH) - k))
        new_hi = (hi << k) | (lo >> (jnp.uint32(_LOW) - k))
    else:
        new_lo = (lo >> k) | (hi << (jnp.uint32(_LOW) - k))
        new_hi = (hi >> k) | (lo << (jnp.uint32(_HIGH) - k))
    return new_lo, new_hi & _HIGH_MASK


def steps(cells: Cells) -> tuple[Cells, ...]:
    """The set moved one step in each of the six directions; cells that leave the board are dropped."""
    moved = []
    for step, stay_lo, stay_hi in _DIRECTION_STEPS:
        moved.append(Cells(*_turn(cells.lo & stay_lo, cells.hi & stay_hi, step)))
    return tuple(moved)


def neighbours(cells: Cells) -> Cells:
    """The cells that touch one of the set (those of the set too, where they touch each other)."""
    return functools.reduce(operator.or_, steps(cells))


def surroundings(cells: Cells) -> tuple[Cells, Cells]:
    """The cells at distance exactly 1 from some cell of the set, and those at distance exactly 2 from some cell."""
    near = steps(cells)
    ring = []
    for direction, (step, stay_lo, stay_hi) in enumerate(_DIRECTION_STEPS):
        # On in the same direction, or in one a sixth to either side; both ways round, since one may leave the board.
        from_here = near[direction - 1] | near[direction] | near[(direction + 1) % 6]
        ring.append(Cells(*_turn(from_here.lo & stay_lo, from_here.hi & stay_hi, step)))
    return functools.reduce(operator.or_, near), functools.reduce(operator.or_, ring)
