"""The random map: a rectangle of small hexagons (the "Field") cut into regions, some of which are left out.

The rectangle is an odd-r grid: odd rows lie half a hexagon to the right.

1. The rectangle is split into boxes of about 4 by 3 hexagons, about four for every three tiles, and a region starts
   on a random hexagon of each box. Some hexagons are void: a share of those on the rim, and a few inside, no two of
   the latter touching. The rest is therefore connected.
2. Regions grow over it, each at its own random rate, until it is full. So every region is connected, and so is the
   graph of the regions.
3. The tiles are gathered one after another, each the neighbour of an earlier one that drew the best number, until
   there are enough. What is left over becomes holes and bays.

Hence every map is connected, whatever the draws, and no map is ever thrown away: under vmap no lane waits for another.
All draws are integers, so that every machine makes the same map of the same key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.batching import varying_like, with_batch_rule
from audamir_envs.core import Array

MAX_DEGREE = 10
"""The most neighbours of a tile, kept unless no other map is within reach."""

_BOX_WIDTH, _BOX_HEIGHT = 4, 3
_SWEEPS = 6  # of growth at random; each tries the six directions
_ORDERS = np.array([[0, 2, 4, 1, 3, 5], [5, 3, 1, 4, 2, 0], [2, 5, 1, 3, 0, 4], [4, 0, 3, 1, 5, 2]], np.int32)
"""The order in which a sweep tries the directions: varied, so that none is favoured."""
_RATE_LOW, _RATE_RANGE = 28, 32  # of 128: how likely a region takes a free hexagon when it is tried
_RIM_VOID = 90  # of 256: the chance that a hexagon on the rim is void
_INNER_VOID = 8  # of 256: the same of the others, before those that would touch another are filled again
_SMALL, _LARGE = 6, 31  # regions of fewer or more hexagons are left out first
_FREE, _VOID = -1, -2
_CHUNK = 64  # maps made together
_PLACES = 64  # how often a box's hexagons are repeated in the table from which its start is drawn


class _Grid:
    """NumPy tables of one size of map. Hexagons are numbered by rows of cols + 1, the last of each being a margin."""

    def __init__(self, tiles: int) -> None:
        down, across = _boxes(tiles)
        self.tiles, self.regions = tiles, down * across
        self.words = -(-self.regions // 32)
        self.rows, self.cols = down * _BOX_HEIGHT, across * _BOX_WIDTH
        stride = self.cols + 1
        self.size = self.rows * stride
        self.margin = stride + 1  # before and after the hexagons, so that no shift leaves the array
        row, col = np.divmod(np.arange(self.size), stride)
        self.off = col == self.cols
        self.rim = ((row == 0) | (row == self.rows - 1) | (col == 0) | (col == self.cols - 1)) & ~self.off
        # Void hexagons inside keep off the rim, so that a whole ring of others surrounds each.
        self.inside = (row > 1) & (row < self.rows - 2) & (col > 1) & (col < self.cols - 2)
        # Every other row of boxes is shifted by half a box, so that regions meet three by three.
        shift = (row // _BOX_HEIGHT % 2) * (_BOX_WIDTH // 2)
        box = row // _BOX_HEIGHT * across + np.minimum((col + shift) // _BOX_WIDTH, across - 1)
        places = [np.flatnonzero((box == b) & ~self.rim & ~self.off) for b in range(self.regions)]
        self.places = np.stack([np.resize(p, _PLACES) for p in places]).astype(np.int32)
        self.odd = row % 2 == 1
        # The numbers of the neighbours E, SE, SW, W, NW, NE minus the own, in even and odd rows.
        self.steps = np.array(
            [
                [1, 1],
                [stride, stride + 1],
                [stride - 1, stride],
                [-1, -1],
                [-stride - 1, -stride],
                [-stride, 1 - stride],
            ],
            np.int32,
        )


def grid_shape(tiles: int) -> tuple[int, int]:
    """(rows, cols) of ``hex_of_tile`` of a random map of so many tiles."""
    down, across = _boxes(tiles)
    return down * _BOX_HEIGHT, across * _BOX_WIDTH


def _boxes(tiles: int) -> tuple[int, int]:
    """Boxes down and across: at least five for every four tiles, in a rectangle that is wider than high."""
    wanted = -(-5 * tiles // 4) + 1
    down = max(2, round((wanted * 0.8) ** 0.5))
    return down, -(-wanted // down)


@functools.cache
def _grid(tiles: int) -> _Grid:
    return _Grid(tiles)


@functools.cache
def generator(tiles: int) -> Callable[[Array], tuple[Array, Array]]:
    """The function that makes a map of one size of a key, which it consumes.

    It returns ``neighbours`` bool [tiles, tiles], ``hex_of_tile`` int8 [*grid_shape(tiles)]. Its vmap works on arrays
    whose last axis is the batch, which is many times faster than vmap's own way.
    """
    grid = _grid(tiles)

    def one(key: Array) -> tuple[Array, Array]:
        return jax.tree.map(lambda leaf: leaf[0], _generate_batch(grid, key[None]))

    def many(keys: Array) -> tuple[Array, Array]:
        # In chunks that the cache holds; the last one is filled up with repetitions.
        lanes = keys.shape[0]
        chunk = min(lanes, _CHUNK)
        chunks = -(-lanes // chunk)
        index = np.arange(chunks * chunk) % lanes
        maps = jax.lax.map(functools.partial(_generate_batch, grid), keys[index.reshape(chunks, chunk)])
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:lanes], maps)

    return with_batch_rule(one, many)


def _generate_batch(grid: _Grid, keys: Array) -> tuple[Array, Array]:
    """Maps of a batch of keys. Inside, the last axis is the batch."""
    cell_keys, region_keys = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    noise = jax.vmap(lambda key: jax.random.bits(key, (grid.size,), jnp.uint32))(cell_keys).T
    draws = jax.vmap(lambda key: jax.random.bits(key, (grid.regions,), jnp.uint32))(region_keys).T
    cells = _grow(grid, noise, draws)
    edges, sizes = _measure(grid, cells)
    chosen = _gather_tiles(grid, edges, sizes, draws)
    # Tiles are numbered by their boxes, from the top left to the bottom right.
    number = jnp.where(chosen, jnp.cumsum(chosen, axis=0, dtype=jnp.int8) - jnp.int8(1), jnp.int8(-1))
    tile = jnp.arange(grid.tiles, dtype=jnp.int8)[:, None, None]
    region_number = jnp.arange(grid.regions, dtype=jnp.int32)[None, :, None]
    region = jnp.sum(jnp.where(number[None] == tile, region_number, 0), axis=1, dtype=jnp.int32)  # [tiles, batch]
    rows = jnp.take_along_axis(edges, region[:, None], axis=0)  # uint32 [tiles, words, batch]
    neighbours = jnp.zeros((grid.tiles, *region.shape), jnp.bool_)
    for word in range(grid.words):
        bit = (rows[:, word, None] >> (region & 31).astype(jnp.uint32)[None]) & jnp.uint32(1)
        neighbours |= (bit == jnp.uint32(1)) & ((region >> 5) == word)[None]
    tile_of_cell = jnp.take_along_axis(number, jnp.maximum(cells, jnp.int16(0)).astype(jnp.int32), axis=0)
    tile_of_cell = jnp.where(cells >= jnp.int16(0), tile_of_cell, jnp.int8(-1))
    hexagons = jnp.moveaxis(tile_of_cell, -1, 0).reshape(-1, grid.rows, grid.cols + 1)[:, :, :-1]
    return jnp.moveaxis(neighbours, -1, 0), hexagons


def _pad(grid: _Grid, cells: Array, filler: int) -> Array:
    """[margin + size + margin, batch]."""
    edge = jnp.full((grid.margin, cells.shape[1]), filler, cells.dtype)
    return jnp.concatenate([edge, cells, edge])


def _shifted(grid: _Grid, padded: Array, step: Any) -> Array:
    """[size, batch]: each hexagon's neighbour in one direction; ``step`` is a row of ``grid.steps``."""
    even, odd = (jax.lax.dynamic_slice_in_dim(padded, grid.margin + step[parity], grid.size) for parity in (0, 1))
    return jnp.where(grid.odd[:, None], odd, even)


def _grow(grid: _Grid, noise: Array, draws: Array) -> Array:
    """int16 [size, batch]: the region of each hexagon, negative for none.

    Args: noise: uint32 [size, batch] and draws: uint32 [regions, batch], random words.
    """
    batch = noise.shape[1]
    rim, inside, off = (table[:, None] for table in (grid.rim, grid.inside, grid.off))
    chance = ((noise >> jnp.uint32(8)) & jnp.uint32(255)).astype(jnp.int16)
    void_inside = inside & (chance < jnp.int16(_INNER_VOID))
    strength = jnp.where(void_inside, (noise & jnp.uint32(0x7FFF)).astype(jnp.int16), jnp.int16(-1))
    padded = _pad(grid, strength, -1)
    strongest = functools.reduce(jnp.maximum, [_shifted(grid, padded, step) for step in grid.steps])
    void = off | (rim & (chance < jnp.int16(_RIM_VOID))) | (void_inside & (strength > strongest))

    # A region's hexagons carry its number in the low eight bits and its rate of growth above them.
    place = (draws >> jnp.uint32(26)).astype(jnp.int32)
    start = jnp.asarray(grid.places)[jnp.arange(grid.regions)[:, None], place]
    rate = jnp.int32(_RATE_LOW) + (((draws & jnp.uint32(255)) * jnp.uint32(_RATE_RANGE)) >> jnp.uint32(8)).astype(
        jnp.int32
    )
    region = ((rate << 8) + jnp.arange(grid.regions, dtype=jnp.int32)[:, None]).astype(jnp.int16)
    cells = jnp.where(void, jnp.int16(_VOID), jnp.int16(_FREE))
    cells = cells.at[start, jnp.arange(batch)[None]].set(region)
    padded = _pad(grid, cells, _VOID)

    def grow(padded: Array, step: Array, willing: Callable[[Array], Array]) -> Array:
        own = padded[grid.margin : grid.margin + grid.size]
        other = _shifted(grid, padded, step)
        taken = (own == jnp.int16(_FREE)) & (other >= jnp.int16(0)) & willing(other)
        return jax.lax.dynamic_update_slice(padded, jnp.where(taken, other, own), (grid.margin, 0))

    def at_random(carry: tuple[Array, Array], step: Array) -> tuple[tuple[Array, Array], None]:
        padded, noise = carry
        noise = noise ^ (noise << jnp.uint16(7))  # xorshift, one 16-bit generator a hexagon
        noise = noise ^ (noise >> jnp.uint16(9))
        noise = noise ^ (noise << jnp.uint16(8))
        draw = (noise >> jnp.uint16(9)).astype(jnp.int16)
        return (grow(padded, step, lambda other: draw < (other >> jnp.int16(8))), noise), None

    def certainly(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        padded, _ = carry
        grown, _ = jax.lax.scan(
            lambda p, step: (grow(p, step, lambda other: jnp.ones_like(other, jnp.bool_)), None),
            padded,
            jnp.asarray(grid.steps[_ORDERS[0]]),
        )
        return grown, jnp.any(grown != padded)

    seeds = (noise >> jnp.uint32(16)).astype(jnp.uint16) | jnp.uint16(1)
    order = _ORDERS[np.arange(_SWEEPS) % len(_ORDERS)].ravel()
    (padded, _), _ = jax.lax.scan(at_random, (padded, seeds), jnp.asarray(grid.steps[order]))
    padded, _ = jax.lax.while_loop(lambda carry: carry[1], certainly, varying_like((padded, jnp.bool_(True)), noise))
    cells = padded[grid.margin : grid.margin + grid.size]
    return jnp.where(cells >= jnp.int16(0), cells & jnp.int16(255), cells)


def _measure(grid: _Grid, cells: Array) -> tuple[Array, Array]:
    """The graph and the sizes of the regions.

    Returns: uint32 [regions, words, batch], bit n of a region's row telling whether it borders on region n; and
    int32 [regions, batch], the hexagons of each region.
    """
    padded = _pad(grid, cells, _VOID)
    around = [_shifted(grid, padded, step) for step in grid.steps]
    seen = []  # uint32 [size, batch] a word: the regions around each hexagon
    for word in range(grid.words):
        bits = jnp.zeros(cells.shape, jnp.uint32)
        for other in around:
            bit = jnp.uint32(1) << (other & jnp.int16(31)).astype(jnp.uint32)
            bits |= jnp.where((other >> jnp.int16(5)) == jnp.int16(word), bit, jnp.uint32(0))
        seen.append(bits)

    # A loop, so that what is seen is computed once and not again for each region.
    def one(region: Array) -> tuple[Array, Array]:
        own = cells == region
        words = [_any_bit(jnp.where(own, bits, jnp.uint32(0)), 0) for bits in seen]
        return jnp.stack(words), jnp.sum(own, axis=0, dtype=jnp.int32)

    edges, sizes = jax.lax.map(one, jnp.arange(grid.regions, dtype=jnp.int16))
    return edges & ~_bits(grid)[:, :, None], sizes


def _any_bit(words: Array, axis: int) -> Array:
    """The words joined by OR along an axis."""
    return jax.lax.reduce(words, np.uint32(0), jax.lax.bitwise_or, (axis,))


def _bits(grid: _Grid) -> Array:
    """uint32 [regions, words]: the bit of each region."""
    number = np.arange(grid.regions)
    bits = np.zeros((grid.regions, grid.words), np.uint32)
    bits[number, number // 32] = np.uint32(1) << (number % 32).astype(np.uint32)
    return jnp.asarray(bits)


def _gather_tiles(grid: _Grid, edges: Array, sizes: Array, draws: Array) -> Array:
    """bool [regions, batch]: a random connected set of ``tiles`` regions.

    Regions that are small or large, and still more those with more than ten neighbours, are taken only where no other
    borders on the set.
    """
    number = jnp.arange(grid.regions, dtype=jnp.int32)[:, None]
    degree = jnp.sum(jax.lax.population_count(edges), axis=1, dtype=jnp.uint32).astype(jnp.int32)
    few = (degree <= MAX_DEGREE).astype(jnp.int32)
    usual = few * ((sizes >= _SMALL) & (sizes <= _LARGE)).astype(jnp.int32)
    luck = ((draws >> jnp.uint32(8)) & jnp.uint32(0x7FFF)).astype(jnp.int32)
    value = ((few + usual) << 24) | (luck << 8) | number
    bits = _bits(grid)[:, :, None]

    def add(_: Any, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        chosen, reached = carry  # bool [regions, batch]; uint32 [words, batch]: the regions that border on chosen ones
        open_ = jnp.any((bits & reached[None]) != jnp.uint32(0), axis=1) & ~chosen
        best = jnp.max(jnp.where(open_, value, -1), axis=0)
        pick = open_ & (value == best[None])
        return chosen | pick, reached | _any_bit(jnp.where(pick[:, None], edges, jnp.uint32(0)), 0)

    everything = jnp.full((grid.words, draws.shape[1]), 0xFFFFFFFF, jnp.uint32)
    chosen, _ = add(0, (jnp.zeros(draws.shape, jnp.bool_), everything))
    first = _any_bit(jnp.where(chosen[:, None], edges, jnp.uint32(0)), 0)
    chosen, _ = jax.lax.fori_loop(1, grid.tiles, add, (chosen, first))
    return chosen
