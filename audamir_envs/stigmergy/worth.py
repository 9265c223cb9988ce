"""What a cell is worth in Stigmergy to a side that sees so many of its own and of the other's stones from it."""

from __future__ import annotations

import dataclasses

import numpy as np

INTERIOR, EDGE, CORNER = 0, 1, 2
POINT = 100  # values are in hundredths of a point
_DIRECTIONS = (6, 4, 3)  # in which a cell of each kind can see a stone
_NEEDED = (4, 3, 2)

_EMPTY = (
    [  # interior
        [0, -8, -23, -47, -80, -100, -100],
        [8, 0, -11, -39, -80, -95],
        [23, 11, 0, -21, -77],
        [47, 39, 21, 0],
        [80, 80, 77],
        [100, 95],
        [100],
    ],
    [  # edge
        [0, -15, -44, -85, -99],
        [15, 0, -22, -69],
        [44, 22, 0],
        [85, 69],
        [99],
    ],
    [  # corner
        [0, -28, -50, -92],
        [28, 0, -49],
        [50, 49],
        [92],
    ],
)
_MINE = (
    [  # interior
        [52, 59, 29, -7, -54, -87, -76],
        [69, 64, 46, 12, -56, -78],
        [72, 82, 70, 42, -43],
        [100, 93, 88, 87],
        [99, 99, 99],
        [100, 100],
        [100],
    ],
    [  # edge
        [57, 46, 19, -45, -60],
        [61, 69, 48, -32],
        [93, 90, 91],
        [100, 97],
        [100],
    ],
    [  # corner
        [-29, -15, -27, -41],
        [28, 18, -23],
        [80, 83],
        [99],
    ],
)


@dataclasses.dataclass(frozen=True, eq=False)
class Worth:
    """A table of cell values, from the point of view of one side: "mine" and "theirs"."""

    cells: np.ndarray  # int32 [kinds, 3, 7, 7]: by kind, stone (none, mine, theirs), my and their stones in sight


def _by_counts(empty: tuple, mine: tuple) -> Worth:
    """From the values of empty cells and of my stones; those of their stones follow by exchanging the sides."""
    cells = np.zeros((3, 3, 7, 7), np.int32)
    for kind, directions in enumerate(_DIRECTIONS):
        for i in range(directions + 1):
            for j in range(directions + 1 - i):
                cells[kind, 0, i, j] = empty[kind][i][j]
                cells[kind, 1, i, j] = mine[kind][i][j]
                cells[kind, 2, j, i] = -mine[kind][i][j]
    cells.setflags(write=False)
    return Worth(cells)


def _as_scored() -> Worth:
    cells = np.zeros((3, 3, 7, 7), np.int32)
    for kind, needed in enumerate(_NEEDED):
        cells[kind, 0, needed:, :] += POINT
        cells[kind, 0, :, needed:] -= POINT
    cells[:, 1], cells[:, 2] = POINT, -POINT
    cells.setflags(write=False)
    return Worth(cells)


SCORE = _as_scored()
"""The score as it stands: stones and controlled cells."""

EXPECTED = _by_counts(_EMPTY, _MINE)
"""Whose a cell was at the end, on average over games of this level against itself."""
