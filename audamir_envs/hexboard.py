"""Hexagonal boards of side n: cells, labels, neighbours, rays and the 12 symmetries, as NumPy tables made once a side.

Axial coordinates (q, r) with max(|q|, |r|, |q+r|) <= n-1, r growing downwards; cells are numbered in (r, q) order, the
top row first. Labels: row letter, ``a`` for the bottom row, then the place in the row from the left, from 1.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np

from audamir_envs.texts import quoted

DIRECTIONS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
"""E, SE, SW, W, NW, NE as (dq, dr)."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def rotate(q: int, r: int, times: int = 1) -> tuple[int, int]:
    """(q, r) turned clockwise (E towards SE) about the centre by ``times`` sixths."""
    for _ in range(times % 6):
        q, r = -r, q + r
    return q, r


def transform(q: int, r: int, symmetry: int) -> tuple[int, int]:
    """The image under symmetry 0..11: 0 to 5 rotate by that many sixths, 6 to 11 mirror (q <-> r) first."""
    if symmetry >= 6:
        q, r = r, q
    return rotate(q, r, symmetry % 6)


@dataclasses.dataclass(frozen=True, eq=False)
class HexBoard:
    """Tables of one board; every array is read-only NumPy, -1 stands for "off the board"."""

    side: int
    size: int  # cells: 3n(n-1)+1
    width: int  # of the axial grid that holds the board: 2n-1
    q: np.ndarray  # int32 [size]
    r: np.ndarray  # int32 [size]
    labels: tuple[str, ...]
    index: dict[tuple[int, int], int]  # (q, r) -> cell
    cell_of_label: dict[str, int]
    neighbours: np.ndarray  # int32 [size, 6]: by direction
    rays: np.ndarray  # int32 [size, 6, 2n-2]: the cells seen in each direction, nearest first, padded by -1
    grid: np.ndarray  # int32 [size]: the place in the flattened axial grid, (r+n-1) * width + q+n-1
    cell_of_grid: np.ndarray  # int32 [width * width]: the inverse
    symmetries: np.ndarray  # int32 [12, size]: symmetries[s, cell] is the image of the cell
    inverse_symmetry: np.ndarray  # int32 [12]: the symmetry that undoes s
    direction_symmetries: np.ndarray  # int32 [12, 6]: the image of each direction
    rows: tuple[slice, ...]  # the cells of each row, from the top

    def write_rows(self, symbols: Sequence[str]) -> str:
        """One symbol a cell as rows from the top joined by ``/``."""
        return "/".join("".join(symbols[row]) for row in self.rows)

    def read_rows(self, text: str, symbols: str) -> list[int]:
        """What ``write_rows`` wrote: for each cell the number of its symbol among ``symbols``.

        Raises: ValueError that says where the text is wrong; it calls the rows field 1 of a position.
        """
        rows = text.split("/")
        if len(rows) != len(self.rows):
            raise ValueError(f"field 1, the board, has {len(rows)} rows joined by '/': it needs {self.width}")
        for number, (row, cells) in enumerate(zip(rows, self.rows, strict=True), start=1):
            length = cells.stop - cells.start
            if len(row) != length:
                raise ValueError(f"row {number} of the board, {quoted(row)}, has {len(row)} cells: it needs {length}")
            for place, symbol in enumerate(row, start=1):
                if symbol not in symbols:
                    valid = f"{', '.join(symbols[:-1])} or {symbols[-1]}"
                    raise ValueError(f"row {number} of the board has {symbol!r} at place {place}: use {valid}")
        return [symbols.index(symbol) for symbol in text.replace("/", "")]

    def draw_rows(self, symbols: Sequence[str], marked: int | None = None) -> list[str]:
        """Lines for a terminal: each row's letter and symbols, one cell (if any) in brackets."""
        cells = [f"[{symbol}]" if cell == marked else f" {symbol} " for cell, symbol in enumerate(symbols)]
        lines = []
        for number, row in enumerate(self.rows):
            indent = "  " * abs(number - (self.side - 1))
            lines.append(f"{self.labels[row.start][0]} {indent}{' '.join(cells[row])}".rstrip())
        return lines

    def offset_table(self, offsets: tuple[tuple[int, int], ...]) -> np.ndarray:
        """int32 [size, len(offsets)]: the cell at (q, r) + offset, or -1."""
        pairs = zip(self.q.tolist(), self.r.tolist(), strict=True)
        return _frozen([[self.index.get((q + dq, r + dr), -1) for dq, dr in offsets] for q, r in pairs])

    def offset_symmetries(self, offsets: tuple[tuple[int, int], ...]) -> np.ndarray:
        """int32 [12, len(offsets)]: for each symmetry the number of each offset's image, the offsets being closed."""
        return _frozen([[offsets.index(transform(*offset, s)) for offset in offsets] for s in range(12)])

    def grid_symmetries(self) -> np.ndarray:
        """int32 [12, width * width]: images of grid places; places outside the board stay where they are."""
        table = np.tile(np.arange(self.width**2, dtype=np.int32), (12, 1))
        table[:, self.grid] = self.grid[self.symmetries]
        table.setflags(write=False)
        return table

    def cell(self, label: str) -> int:
        """The cell of a label. Raises: ValueError naming the valid labels."""
        found = self.cell_of_label.get(label)
        if found is None:
            bottom, top = self.labels[-self.side], self.labels[0]
            raise ValueError(
                f"{quoted(label)} is no cell of the board of side {self.side}: "
                f"cells run from {bottom} to {top[0]}{self.side}"
            )
        return found


def side_of_cells(cells: int) -> int:
    """The side of the board with so many cells. Raises: ValueError if there is none."""
    side = (3 + math.isqrt(max(0, 12 * cells - 3))) // 6
    if side < 1 or 3 * side * (side - 1) + 1 != cells:
        raise ValueError(f"no hexagonal board has {cells} cells: use 3n(n-1)+1 of them")
    return side


def side_of_grid(places: int) -> int:
    """The side of the board whose axial grid has so many places. Raises: ValueError if there is none."""
    width = math.isqrt(places)
    if width % 2 == 0 or width * width != places:
        raise ValueError(f"no axial grid has {places} places: use (2n-1)² of them")
    return (width + 1) // 2


@functools.cache
def hexboard(side: int) -> HexBoard:
    """The board of a side from 2 to 13 (rows have one letter each). Raises: ValueError."""
    if not isinstance(side, int) or not 2 <= side <= 13:
        raise ValueError(f"side={quoted(side)} is not valid: use an integer from 2 to 13")
    n = side - 1
    cells = [(q, r) for r in range(-n, n + 1) for q in range(max(-n, -n - r), min(n, n - r) + 1)]
    index = {cell: number for number, cell in enumerate(cells)}
    first_q = {r: min(q for q, row in cells if row == r) for r in range(-n, n + 1)}
    labels = tuple(f"{_LETTERS[n - r]}{q - first_q[r] + 1}" for q, r in cells)
    width = 2 * side - 1
    grid = _frozen([(r + n) * width + (q + n) for q, r in cells])
    cell_of_grid = np.full(width**2, -1, np.int32)
    cell_of_grid[grid] = np.arange(len(cells))
    cell_of_grid.setflags(write=False)
    reach = range(1, 2 * n + 1)
    undo = [
        next(
            t
            for t in range(12)
            if transform(*transform(2, -1, s), t) == (2, -1) and transform(*transform(1, 0, s), t) == (1, 0)
        )
        for s in range(12)
    ]
    rows = [[number for number, (_, row) in enumerate(cells) if row == r] for r in range(-n, n + 1)]
    return HexBoard(
        side=side,
        size=len(cells),
        width=width,
        q=_frozen([q for q, _ in cells]),
        r=_frozen([r for _, r in cells]),
        labels=labels,
        index=index,
        cell_of_label={label: number for number, label in enumerate(labels)},
        neighbours=_frozen([[index.get((q + dq, r + dr), -1) for dq, dr in DIRECTIONS] for q, r in cells]),
        rays=_frozen(
            [[[index.get((q + k * dq, r + k * dr), -1) for k in reach] for dq, dr in DIRECTIONS] for q, r in cells]
        ),
        grid=grid,
        cell_of_grid=cell_of_grid,
        symmetries=_frozen([[index[transform(q, r, s)] for q, r in cells] for s in range(12)]),
        inverse_symmetry=_frozen(undo),
        rows=tuple(slice(row[0], row[-1] + 1) for row in rows),
        direction_symmetries=_frozen([[DIRECTIONS.index(transform(*d, s)) for d in DIRECTIONS] for s in range(12)]),
    )


def _frozen(values: list) -> np.ndarray:
    array = np.asarray(values, dtype=np.int32)
    array.setflags(write=False)
    return array
