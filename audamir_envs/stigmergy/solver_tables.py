"""Backward induction over all positions of small Stigmergy boards, in NumPy.

A placement adds a cell to the set of occupied cells; flips and passes leave the set as it is. So sets are solved from
the full board down, and within a set a flip strictly lowers the number of opposite-coloured stones that see each other:
the dependencies have no cycle, and repeating the equations of a set until nothing changes gives their only solution.

What is stored is small: sets that a symmetry of the board maps to each other share one table, and with komi 0 swapping
the colours and the mover negates the margin, so only Black to move is kept. "The opponent has just passed" need not be
kept either, since that position differs from its twin by one choice, ending the game.

These rules are written independently of ``rules.py``, by which the environment plays; tests compare the two.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from audamir_envs.hexboard import HexBoard, hexboard

_NEVER = -127  # int8: below every margin, for a choice that is not legal; its negation stays inside int8
_CHUNK = 1 << 18  # colourings solved together: long enough for NumPy to be fast, short enough for the cache


@dataclasses.dataclass(frozen=True, eq=False)
class Sets:
    """How the sets of occupied cells, as bit masks (bit = cell number), share tables."""

    representatives: np.ndarray  # int64 [orbits]: the least mask of each orbit, by number of cells, then by mask
    starts: np.ndarray  # int64 [orbits + 1]: where the table of each representative starts; the last is the length
    base: np.ndarray  # int64 [2**cells]: where the table of a set's representative starts
    symmetry: np.ndarray  # uint8 [2**cells]: the symmetry that maps a set to its representative


def subset_sums(start: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[m, 2**k]: for every number c below 2**k, ``start`` [m] plus the sum of ``weights`` [m, k] over the bits of c."""
    m, k = weights.shape
    sums = np.empty((m, 1 << k), weights.dtype)
    sums[:, 0] = start
    for bit in range(k):
        half = 1 << bit
        np.add(sums[:, :half], weights[:, bit : bit + 1], out=sums[:, half : 2 * half])
    return sums


def needed(board: HexBoard) -> np.ndarray:
    """int8 [cells]: seen stones of one colour that give control, more than half of the adjacent cells."""
    return ((board.neighbours >= 0).sum(1) // 2 + 1).astype(np.int8)


def group_sets(board: HexBoard) -> Sets:
    """The orbits of the sets of cells under the 12 symmetries."""
    powers = np.left_shift(np.int32(1), board.symmetries, dtype=np.int32)
    images = subset_sums(np.zeros(12, np.int32), powers)
    symmetry = images.argmin(0).astype(np.uint8)
    least = images.min(0)
    masks = np.arange(1 << board.size, dtype=np.int64)
    representatives = masks[least == masks]
    counts = _bits(representatives, board.size).sum(1)
    order = np.lexsort((representatives, counts))
    representatives = representatives[order]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.left_shift(np.int64(1), counts[order]))])
    base = np.empty(1 << board.size, np.int64)
    base[representatives] = starts[:-1]
    return Sets(representatives, starts, base[least], symmetry)


def colouring(board: HexBoard, sets: Sets, black: int, white: int) -> tuple[int, int]:
    """Where the colouring is kept, and where the one with colours swapped is, for stones as disjoint bit masks."""
    occupied = black | white
    index = place = 0
    for cell in _by_image(board.side)[sets.symmetry[occupied]]:
        if occupied >> cell & 1:
            index |= (black >> cell & 1) << place
            place += 1
    base = int(sets.base[occupied])
    return base + index, base + (1 << place) - 1 - index


@functools.cache
def _by_image(side: int) -> list[list[int]]:
    """For each symmetry the cells in the order of their images."""
    return np.argsort(hexboard(side).symmetries, axis=1).tolist()


def solve_tables(side: int, progress: Callable[[int, int], None] | None = None) -> tuple[Sets, np.ndarray]:
    """The sets of a board and the margins, int8 [positions]: Black minus White, Black to move, no pass before.

    The place of a position: its set's representative's start, plus the number whose bit i tells that the i-th occupied
    cell of the mapped position (by cell number) is Black.

    Args: progress: called now and then with (positions solved, positions).
    """
    board = hexboard(side)
    sets = group_sets(board)
    values = np.empty(int(sets.starts[-1]), np.int8)
    done = 0
    for occupied in range(board.size, -1, -1):
        for solved in solve_layer(board, sets, values, occupied):
            done += solved
            if progress is not None:
                progress(done, len(values))
    return sets, values


def solve_layer(board: HexBoard, sets: Sets, values: np.ndarray, occupied: int) -> Iterator[int]:
    """Writes the margins of all positions with so many stones, which needs those with more; yields chunks' lengths."""
    counts = _bits(sets.representatives, board.size).sum(1)
    first, last = np.searchsorted(counts, [occupied, occupied + 1]).tolist()
    step = max(1, _CHUNK >> occupied)
    for at in range(first, last, step):
        masks = sets.representatives[at : min(at + step, last)]
        start, stop = int(sets.starts[at]), int(sets.starts[at + len(masks)])
        values[start:stop] = _solve_chunk(board, sets, values, masks).reshape(-1)
        yield stop - start


def _bits(masks: np.ndarray, size: int) -> np.ndarray:
    """bool [m, size]."""
    return (masks[:, None] >> np.arange(size, dtype=masks.dtype)) & 1 == 1


def _seeing(board: HexBoard, occupied: np.ndarray) -> np.ndarray:
    """bool [m, cells, cells]: whether a stone on the second cell is seen from the first, for sets bool [m, cells]."""
    m, size = occupied.shape
    padded = np.concatenate([occupied, np.zeros((m, 1), np.bool_)], axis=1)  # "off the board" is -1: the last column
    on_ray = padded[:, board.rays]
    nearest = on_ray.argmax(3)
    seen = board.rays[np.arange(size)[:, None], np.arange(6), nearest]
    seen = np.where(on_ray.any(3), seen, -1)
    sees = np.zeros((m, size, size + 1), np.bool_)
    np.put_along_axis(sees, seen, True, axis=2)
    return sees[:, :, :size]


def _solve_chunk(board: HexBoard, sets: Sets, values: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """int8 [m, 2**k]: the margins of all colourings of m sets of k cells; those of larger sets are in ``values``."""
    occupied = _bits(masks, board.size)
    m, k = len(masks), int(occupied[0].sum())
    stones = np.nonzero(occupied)[1].reshape(m, k)
    empty = np.nonzero(~occupied)[1].reshape(m, board.size - k)
    sees = _seeing(board, occupied)
    need = needed(board)
    rows = np.arange(m)

    def black_controls(cells: np.ndarray) -> np.ndarray:
        """bool [m, 2**k]: Black's control of one cell in each set. White's is its reversal, colours being swapped."""
        weights = np.take_along_axis(sees[rows, cells], stones, axis=1).astype(np.int8)
        return subset_sums(-need[cells], weights) >= 0

    score = subset_sums(np.full(m, -k, np.int8), np.full((m, k), 2, np.int8))
    may_pass = np.ones((m, 1 << k), np.bool_)
    placed = np.full((m, 1 << k), _NEVER, np.int8)
    for slot in range(board.size - k):
        cells = empty[:, slot]
        black = black_controls(cells)
        white = black[:, ::-1]
        score += black
        score -= white
        may_pass &= black | white
        margin = -values[_after_placing(board, sets, masks, stones, cells)]
        np.maximum(placed, np.where(white, np.int8(_NEVER), margin), out=placed)

    pass_cap = np.where(may_pass, np.int8(127), np.int8(_NEVER))
    flip_caps = []
    for place in range(k):
        capped = np.where(black_controls(stones[:, place]), np.int8(127), np.int8(_NEVER))
        flip_caps.append([np.ascontiguousarray(low) for low, _ in _halves(capped, place)])

    margins = placed
    while True:
        replies = np.negative(margins[:, ::-1])  # of every colouring with White to move
        best = placed.copy()
        for place, caps in enumerate(flip_caps):
            pairs = zip(_halves(best, place), _halves(replies, place), caps, strict=True)
            for (now, _), (_, flipped), cap in pairs:
                np.maximum(now, np.minimum(flipped, cap), out=now)
        # After a pass White has its own best, or ends the game at once.
        passing = np.minimum(np.minimum(np.negative(best[:, ::-1]), score), pass_cap)
        np.maximum(best, passing, out=best)
        if np.array_equal(best, margins):
            return best
        margins = best


def _after_placing(board: HexBoard, sets: Sets, masks: np.ndarray, stones: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """int64 [m, 2**k]: where the position after Black's placement is kept, with colours swapped, White being to move.

    Args: masks int64 [m], stones int64 [m, k]: the sets; cells int64 [m]: where the new stone goes.
    """
    larger = masks | np.left_shift(np.int64(1), cells)
    k = stones.shape[1]
    image = board.symmetries[sets.symmetry[larger]]
    images = np.take_along_axis(image, np.concatenate([stones, cells[:, None]], axis=1), axis=1)
    # The place of each mapped cell is the number of mapped cells below it.
    places = (images[:, None, :] < images[:, :, None]).sum(2)
    weights = np.left_shift(np.int64(1), places)
    start = sets.base[larger] + (1 << (k + 1)) - 1 - weights[:, k]
    return subset_sums(start, -weights[:, :k])


def _halves(table: np.ndarray, bit: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Views of a table [m, 2**k] that pair the numbers without a bit with the same numbers with it."""
    step = 1 << bit
    if step >= 16:
        pairs = table.reshape(-1, 2, step)
        return [(pairs[:, 0], pairs[:, 1])]
    # NumPy is slow on short rows, so low bits go by columns.
    columns = table.reshape(-1, 2 * step)
    return [(columns[:, at], columns[:, at + step]) for at in range(step)]
