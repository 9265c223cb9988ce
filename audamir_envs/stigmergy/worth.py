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
        [0, -23, -24, -47, -83, -93, -80],
        [23, 0, -10, -33, -95, -87],
        [24, 10, 0, -9, -104],
        [47, 33, 9, 0],
        [83, 95, 104],
        [93, 87],
        [80],
    ],
    [  # edge: by my, then by their stones in sight
        [0, -6, 0, 0, 2],
        [6, 0, -3, -27],
        [0, 3, 0],
        [0, 27],
        [-2],
    ],
    [  # corner: by my, then by their stones in sight
        [0, -22, -30, -90],
        [22, 0, -52],
        [30, 52],
        [90],
    ],
)
_MINE = (
    [  # interior
        [173, 113, 58, 8, -161, -175, -77],
        [192, 153, 117, 32, -160, -55],
        [202, 181, 160, 68, -98],
        [182, 194, 162, 103],
        [192, 144, 117],
        [152, 91],
        [98],
    ],
    [  # edge
        [-6, -53, -29, -90, -70],
        [12, -7, 42, -66],
        [-7, 68, 70],
        [86, 76],
        [106],
    ],
    [  # corner
        [-18, -110, -59, -13],
        [-7, 26, -15],
        [54, 65],
        [127],
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
