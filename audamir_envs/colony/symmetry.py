"""Symmetries of Colony's boards as permutations, for training on every image of a position.

The plain board has 12. The board with three blocked cells keeps the 6 that leave the blocked cells where they are:
turns by a third and the mirrors through the blocked cells (the same 6 whichever corners the cells lie towards).
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from audamir_envs.colony.cells import BOARD, SIZE
from audamir_envs.colony.rules import HOLES, JUMPS, KINDS, NUM_ACTIONS, PASS


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetries:
    """Image tables: ``table[s, i]`` is where symmetry s takes i. Read-only NumPy; the first symmetry changes nothing.

    To transform values that belong to cells, actions or grid places (a policy, an observation), gather by the inverse:
    ``image = values[inverse(table)[s]]``.
    """

    cells: np.ndarray  # int32 [S, 61]
    actions: np.ndarray  # int32 [S, 794]
    grid: np.ndarray  # int32 [S, 81]: places of the flattened (9, 9) observation grid

    @staticmethod
    def inverse(table: np.ndarray) -> np.ndarray:
        """int32 of the same shape: the permutations that undo those of a table."""
        return np.argsort(table, axis=1).astype(np.int32)


@functools.cache
def symmetries(board: str = "58") -> Symmetries:
    """The symmetries of a value of the option ``board``. Raises: ValueError naming the valid values."""
    if board not in ("58", "61"):
        raise ValueError(f"board={board!r} is not valid: use '58' or '61'")
    holes = HOLES["first"]
    kept = [s for s in range(12) if board == "61" or holes[BOARD.symmetries[s]][holes].all()]
    cells, kinds = BOARD.symmetries[kept], BOARD.offset_symmetries(JUMPS)[kept]
    actions = np.empty((len(kept), NUM_ACTIONS), np.int32)
    by_kind = np.concatenate([np.zeros((len(kept), 1), np.int32), 1 + kinds], axis=1)
    actions[:, :PASS] = (cells[:, :, None] * KINDS + by_kind[:, None, :]).reshape(len(kept), SIZE * KINDS)
    actions[:, PASS] = PASS
    grid = BOARD.grid_symmetries()[kept]
    for table in (cells, actions, grid):
        table.setflags(write=False)
    return Symmetries(cells, actions, grid)
