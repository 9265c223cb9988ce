"""What a cell is worth in Stigmergy to a side that sees so many of its own and of the other's stones from it."""

from __future__ import annotations

import dataclasses

import numpy as np

INTERIOR, EDGE, CORNER = 0, 1, 2
POINT = 100  # values are in hundredths of a point
_DIRECTIONS = (6, 4, 3)  # in which a cell of each kind can see a stone
_NEEDED = (4, 3, 2)

_EMPTY = (
    [  # interior: by my, then by their stones in sight
        [0, -20, -28, -43, -81, -94, -92],
        [20, 0, -10, -32, -101, -80],
        [28, 10, 0, -37, -101],
        [43, 32, 37, 0],
        [81, 101, 101],
        [94, 80],
        [92],
    ],
    [  # edge: by my, then by their stones in sight
        [0, -15, 3, -6, 10],
        [15, 0, 9, -6],
        [-3, -9, 0],
        [6, 6],
        [-10],
    ],
    [  # corner: by my, then by their stones in sight
        [0, -16, -48, -117],
        [16, 0, -59],
        [48, 59],
        [117],
    ],
)
_MINE = (
    [  # interior
        [226, 151, 87, -10, -166, -151, -4],
        [212, 165, 129, 38, -157, -100],
        [232, 194, 158, 84, -100],
        [211, 198, 165, 100],
        [200, 161, 116],
        [152, 97],
        [97],
    ],
    [  # edge
        [-16, -1, 1, -102, -83],
        [11, 10, 23, -96],
        [-20, 48, 61],
        [59, 74],
        [108],
    ],
    [  # corner
        [-61, -117, -101, -56],
        [-16, -35, -52],
        [62, 58],
        [123],
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
"""What each cell adds to the final margin, fitted by least squares to positions of a searching level against itself on
sides 4, 5, 6 and 8: the sum over all cells is the expected margin."""
