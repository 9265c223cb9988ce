"""Looking ahead in Stigmergy: the values of all moves of many positions at once, and a search of fixed width.

A position is valued cell by cell, by a table of what a cell is worth to a side that sees so many of its own and of the
other's stones from it (``worth``). A move changes the sight of the cells that see its own, and in each direction in one
of two ways only: one more stone of the mover, or that and one less of the other side. So two numbers a cell, summed
along the six directions up to the first stone, give the values of all moves together. These sums run over whole rows,
one row a step, in two sweeps over three layouts, in each of which one axis of the board lies along the steps.

Here the batch is the last axis ([grid, batch]), so that such a step is one vector operation. Values are in hundredths
of a point (int32), from the point of view of the side to move, komi included.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.batching import varying_like
from audamir_envs.core import Array
from audamir_envs.hexboard import side_of_grid
from audamir_envs.stigmergy import rules, worth

WIN = 1 << 20  # of a decided game, beyond any sum of cells
ILLEGAL = 1 - (1 << 21)

# Three fields in one number, so that one sweep sums all of them: the first stone met (2 bits: empty cells add nothing),
# what changes where the mover's stone takes an enemy's place in sight (14 bits, signed), and where it is added.
_STONE_BITS, _CHANGE_BITS = 2, 14
_ROW_BITS = 10  # enough to number the places of the largest grid, and the pass


@dataclasses.dataclass(frozen=True, eq=False)
class _Layouts:
    """Where the places of the grid lie when each of three axes runs along the steps of a sweep."""

    places: np.ndarray  # int32 [width, 3 * width]: the grid place of each line's cell at each step
    rows: np.ndarray  # int32 [3, grid]: the inverse, numbers in the flattened array
    kinds: np.ndarray  # int32 [grid, 1]: interior, edge, corner
    actions: np.ndarray  # int32 [grid + 1]: the action of each place, then the pass


@functools.cache
def _layouts(side: int) -> _Layouts:
    t = rules.tables(side)
    width, n = t.board.width, side - 1
    places = np.full((width, 3, width), int(np.flatnonzero(~t.on_board)[0]), np.int32)
    rows = np.zeros((3, width**2), np.int32)
    for q, r, place in zip(t.board.q + n, t.board.r + n, t.board.grid, strict=True):
        for axis, (step, line) in enumerate(((q, r), (r, q), (r, q + r - n))):
            places[step, axis, line] = place
            rows[axis, place] = (step * 3 + axis) * width + line
    kinds = np.select([t.needed == 3, t.needed == 2], [worth.EDGE, worth.CORNER], worth.INTERIOR)
    actions = np.append(np.maximum(t.board.cell_of_grid, 0), t.board.size)
    return _Layouts(places.reshape(width, 3 * width), rows, kinds.astype(np.int32)[:, None], actions.astype(np.int32))


@dataclasses.dataclass(frozen=True, eq=False)
class _MoveTables:
    """int32 [kinds * 3 * 49] each, by kind, stone (none, mine, theirs), my and their stones seen."""

    cell: np.ndarray  # what the cell is worth to me
    change: np.ndarray  # the three fields above, of a cell that sees the changed one
    own: np.ndarray  # what the cell gains when my stone comes to lie on it


@functools.cache
def _move_tables(table: worth.Worth) -> _MoveTables:
    cell = table.cells
    more, less = np.minimum(np.arange(7) + 1, 6), np.maximum(np.arange(7) - 1, 0)
    added = cell[:, :, more] - cell
    replaced = cell[:, :, more][:, :, :, less] - cell
    stone = np.arange(3, dtype=np.int32)[None, :, None, None]
    change = stone + (replaced << _STONE_BITS) + (added << (_STONE_BITS + _CHANGE_BITS))
    return _MoveTables(*(a.astype(np.int32).reshape(-1) for a in (cell, change, cell[:, 1:2] - cell)))


def batch_last(positions: rules.Position) -> rules.Position:
    """Positions [batch, ...] with the batch as last axis, as all functions of this module want them."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), positions)


def actions_of_rows(side: int) -> np.ndarray:
    """int32 [grid + 1]: the action of each row of ``move_values``."""
    return _layouts(side).actions


def _side(positions: rules.Position) -> int:
    return side_of_grid(positions.stones.shape[0])


def _entries(positions: rules.Position) -> Array:
    """int32 [grid, batch]: where the tables hold each place."""
    low, high = (positions.sight & 15).astype(jnp.int32), (positions.sight >> 4).astype(jnp.int32)
    stones = positions.stones.astype(jnp.int32)
    black = positions.black_to_move
    mine, theirs = jnp.where(black, low, high), jnp.where(black, high, low)
    stones = jnp.where(black[None] | (stones == 0), stones, 3 - stones)
    return jnp.asarray(_layouts(_side(positions)).kinds) * 147 + stones * 49 + mine * 7 + theirs


def static_values(positions: rules.Position, table: worth.Worth) -> Array:
    """int32 [batch]: the worth of all cells and komi to the side to move."""
    on_board = jnp.asarray(rules.tables(_side(positions)).on_board)[:, None]
    cells = jnp.asarray(_move_tables(table).cell)[_entries(positions)]
    komi = positions.komi.astype(jnp.int32) * worth.POINT
    total = jnp.sum(jnp.where(on_board, cells, 0), axis=0, dtype=jnp.int32)
    return total + jnp.where(positions.black_to_move, -komi, komi)


def move_values(positions: rules.Position, static: Array, table: worth.Worth) -> Array:
    """int32 [grid + 1, batch]: the static value after each placement or flip, and after the pass; ILLEGAL if not legal.

    A pass is worth ± WIN and the margin where it ends the game, and where the mover is behind, since then the opponent
    ends it. Args: static: int32 [batch], static_values of the positions.
    """
    t = rules.tables(_side(positions))
    layouts, tables = _layouts(t.board.side), _move_tables(table)
    on_board, needed = jnp.asarray(t.on_board)[:, None], jnp.asarray(t.needed)[:, None]
    black = positions.black_to_move
    entries = _entries(positions)
    empty = (positions.stones == rules.EMPTY) & on_board
    ahead, behind = _sums_in_sight(jnp.where(on_board, jnp.asarray(tables.change)[entries], 0), empty, layouts)

    place = flip = jnp.asarray(tables.own)[entries]
    for here, there in zip((*ahead, *behind), (*behind, *ahead), strict=True):
        stone = there & ((1 << _STONE_BITS) - 1)  # what the cells of this direction saw through the empty cell
        fields = here >> _STONE_BITS
        half = 1 << (_CHANGE_BITS - 1)
        replaced = ((fields + half) & (2 * half - 1)) - half
        added = (fields - replaced) >> _CHANGE_BITS
        place = place + jnp.where(stone == 0, added, jnp.where(stone == 1, 0, replaced))
        flip = flip + replaced

    low, high = (positions.sight & 15) >= needed, (positions.sight >> 4) >= needed
    mine, theirs = jnp.where(black, low, high), jnp.where(black, high, low)
    enemy = positions.stones == jnp.where(black, jnp.uint8(rules.WHITE), jnp.uint8(rules.BLACK))[None]
    legal = jnp.where(empty & ~theirs, place, flip) + static[None]
    cells = jnp.where((empty & ~theirs) | (enemy & mine), legal, ILLEGAL)

    friend = (positions.stones != rules.EMPTY) & ~enemy
    points = (friend | (empty & mine)).astype(jnp.int32) - (enemy | (empty & theirs)).astype(jnp.int32)
    komi = positions.komi.astype(jnp.int32)
    margin = jnp.sum(points, axis=0, dtype=jnp.int32) + jnp.where(black, -komi, komi)
    final = jnp.where(margin > 0, jnp.int32(WIN), jnp.int32(-WIN)) + margin * worth.POINT
    may_pass = ~jnp.any(empty & ~mine & ~theirs, axis=0)
    decided = (positions.passes == 1) | (margin < 0)
    passing = jnp.where(may_pass, jnp.where(decided, final, static), ILLEGAL)
    return jnp.concatenate([cells, passing[None]])


def _sums_in_sight(numbers: Array, empty: Array, layouts: _Layouts) -> tuple[list[Array], list[Array]]:
    """For each place and direction the sum of the numbers up to and with the first cell that is not empty.

    Args: numbers: int32 [grid, batch], 0 off the board; empty: bool [grid, batch], false off the board.
    Returns: int32 [grid, batch] for E, SE, SW and for their opposites.
    """
    lines = numbers.at[jnp.asarray(layouts.places)].get(mode="promise_in_bounds")
    open_lines = empty.at[jnp.asarray(layouts.places)].get(mode="promise_in_bounds")

    def step(sums: tuple[Array, Array], row: tuple[Array, Array, Array, Array]) -> tuple[tuple[Array, Array], Any]:
        up, down = sums
        low, low_open, high, high_open = row
        return (low + jnp.where(low_open, up, 0), high + jnp.where(high_open, down, 0)), sums

    start = varying_like(jnp.zeros(lines.shape[1:], jnp.int32), (lines, open_lines))
    _, (behind, ahead) = jax.lax.scan(step, (start, start), (lines, open_lines, lines[::-1], open_lines[::-1]))
    flat = [sums.reshape(-1, numbers.shape[-1]) for sums in (ahead[::-1], behind)]
    rows = jnp.asarray(layouts.rows)
    first, second = ([sums.at[rows[axis]].get(mode="promise_in_bounds") for axis in range(3)] for sums in flat)
    return first, second


def search(positions: rules.Position, static: Array, table: worth.Worth, widths: tuple[int, ...]) -> Array:
    """int32 [grid + 1, batch]: move values by looking ahead; ILLEGAL for moves that are not legal or not looked at.

    This says what the levels' search is; ``alphabeta.search`` finds the same best moves several times sooner.

    Without widths these are ``move_values``. Otherwise the ``widths[0]`` best of them are played, and each is worth
    what the best answer of a search with the remaining widths leaves to the mover.
    """
    values = move_values(positions, static, table)
    if not widths:
        return values
    numbers, chosen = best_rows(values, widths[0])
    actions = jnp.asarray(_layouts(_side(positions)).actions)[numbers]

    # Played in a loop of its own, so that the positions are stored: otherwise the compiler would work them out again at
    # each place that reads them.
    first = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), positions)
    after = jax.lax.map(lambda action: jax.vmap(rules.play)(first, action), actions)
    after = jax.lax.map(batch_last, after)

    def answer(entry: tuple[rules.Position, Array]) -> Array:
        position, value = entry
        deeper = -jnp.max(search(position, -value, table, widths[1:]), axis=0)
        return jnp.where(jnp.abs(value) >= WIN // 2, value, deeper)

    results = jax.lax.map(answer, (after, chosen))
    places = jnp.arange(values.shape[0], dtype=jnp.int32)[:, None]
    searched = jnp.full_like(values, ILLEGAL)
    for number, result in zip(numbers, results, strict=True):
        searched = jnp.where(places == number[None], result[None], searched)
    return searched


def best_rows(values: Array, count: int) -> tuple[Array, Array]:
    """(row numbers, values), int32 [count, batch] each: the largest of int32 [rows, batch], the best first."""
    rows = values.shape[0]
    # Value and row in one number, because a maximum is far faster than an argmax.
    keys = (values << _ROW_BITS) + jnp.arange(rows, dtype=jnp.int32)[:, None]

    def take(keys: Array, _: None) -> tuple[Array, Array]:
        best = jnp.max(keys, axis=0)
        return jnp.where(keys == best[None], jnp.int32(np.iinfo(np.int32).min), keys), best

    _, best = jax.lax.scan(take, keys, None, length=min(count, rows))
    return best & ((1 << _ROW_BITS) - 1), best >> _ROW_BITS
