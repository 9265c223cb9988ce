"""Maps: random ones made inside jit, a user's own, and pools of prepared ones."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, Pytree, whole_number
from audamir_envs.principalities import field
from audamir_envs.texts import quoted

MIN_TILES = 2
MAX_TILES = 96
"""More would not fit the eight bits of a region's number."""
MAX_DEGREE = field.MAX_DEGREE
"""The most neighbours of a tile of a random map."""


class Map(Pytree):
    """Tiles and who borders on whom."""

    neighbours: Array  # bool [tiles, tiles]: symmetric, the diagonal false
    hex_of_tile: Array  # int8 [rows, cols]: the tile of each small hexagon of an odd-r grid, -1 for none; for drawing


def check_tiles(tiles: Any) -> int:
    """The number of tiles as an int. Raises: ValueError for what no random map can have."""
    number = whole_number(tiles)
    if number is None or not MIN_TILES <= number <= MAX_TILES:
        raise ValueError(f"a random map has {MIN_TILES} to {MAX_TILES} tiles, not {quoted(tiles)}")
    return number


def grid_shape(tiles: int) -> tuple[int, int]:
    """(rows, cols) of ``hex_of_tile`` of a random map of so many tiles."""
    return field.grid_shape(tiles)


def generate(key: Array, tiles: int) -> Map:
    """A random map. Consumes key.

    Args: tiles: a Python int from 2 to 96. Returns: ``neighbours`` bool [tiles, tiles], ``hex_of_tile`` int8
    [*grid_shape(tiles)]. Raises: ValueError for other numbers of tiles.
    """
    neighbours, hex_of_tile = field.generator(check_tiles(tiles))(key)
    return Map(neighbours=neighbours, hex_of_tile=hex_of_tile)


def user_map(spec: Any) -> Map:
    """A user's map, checked.

    Args: spec: a ``Map``; a list with the list of neighbours of each tile; or a mapping with ``neighbours`` (such a
    list), ``hexagons`` (the rows of an odd-r grid, tile numbers and -1 for none; used for drawing), or both; where
    ``neighbours`` is missing, tiles whose hexagons touch are neighbours. A text is read as JSON of the same.
    Returns: a Map; without hexagons ``hex_of_tile`` is [1, 1] and holds -1.
    Raises: ValueError saying what is wrong: a map must be symmetric, connected and without loops.
    """
    if isinstance(spec, Map):
        adjacency = np.asarray(spec.neighbours)
        if adjacency.dtype != np.bool_ or adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
            raise ValueError("map: neighbours must be a square boolean array")
        spec = plain(spec)
    if isinstance(spec, str):
        try:
            spec = json.loads(spec)
        except json.JSONDecodeError as error:
            raise ValueError(f"map: not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
        except (ValueError, RecursionError):  # numbers of thousands of digits, or thousands of brackets
            raise ValueError("map: a number in the JSON is too long, or it is nested too deeply") from None
    if not isinstance(spec, Mapping):
        spec = {"neighbours": spec}
    unknown = [name for name in spec if name not in ("neighbours", "hexagons")]
    if unknown or not spec:
        raise ValueError(
            f"map: the fields are neighbours and hexagons, not {', '.join(map(quoted, unknown[:3])) or 'none'}"
        )
    hexagons = _user_hexagons(spec["hexagons"]) if "hexagons" in spec else np.full((1, 1), -1, np.int8)
    if "neighbours" in spec:
        neighbours = _user_neighbours(spec["neighbours"])
    else:
        neighbours = _touching(hexagons)
    tiles = len(neighbours)
    if "hexagons" in spec and set(np.unique(hexagons).tolist()) - {-1} != set(range(tiles)):
        raise ValueError(f"map: the hexagons must show every tile from 0 to {tiles - 1}, and -1 for none")
    alone = np.flatnonzero(~_reached(neighbours))
    if len(alone):
        raise ValueError(f"map: not connected: there is no way from tile 0 to tile {alone[0]}")
    return Map(neighbours=jnp.asarray(neighbours), hex_of_tile=jnp.asarray(hexagons))


def plain(map: Map) -> dict[str, Any]:
    """A checked map as lists, which ``user_map`` reads: equal for equal maps, in whatever form they came."""
    grid = np.asarray(map.hex_of_tile)
    lists: dict[str, Any] = {"neighbours": [np.flatnonzero(row).tolist() for row in np.asarray(map.neighbours)]}
    if (grid >= 0).any():
        lists["hexagons"] = grid.tolist()
    return lists


def _user_neighbours(lists: Any) -> np.ndarray:
    """bool [tiles, tiles] of neighbour lists. Raises: ValueError."""
    if not _is_list(lists) or not MIN_TILES <= len(lists) <= MAX_TILES:
        raise ValueError(f"map: neighbours must be a list of {MIN_TILES} to {MAX_TILES} lists, one for each tile")
    tiles = len(lists)
    neighbours = np.zeros((tiles, tiles), bool)
    for tile, others in enumerate(lists):
        if not _is_list(others):
            raise ValueError(f"map: the neighbours of tile {tile} must be a list of tile numbers, not {quoted(others)}")
        for other in others:
            if whole_number(other) is None or not 0 <= other < tiles:
                raise ValueError(
                    f"map: tile {tile} has the neighbour {quoted(other)}: tiles are numbered 0 to {tiles - 1}"
                )
            if other == tile:
                raise ValueError(f"map: tile {tile} is its own neighbour")
            neighbours[tile, other] = True
    for tile, other in np.argwhere(neighbours & ~neighbours.T).tolist():
        raise ValueError(f"map: not symmetric: tile {other} is a neighbour of tile {tile}, but not the other way round")
    return neighbours


def _user_hexagons(rows: Any) -> np.ndarray:
    """int8 [rows, cols]. Raises: ValueError."""
    if not _is_list(rows) or not len(rows) or not all(_is_list(row) and len(row) == len(rows[0]) > 0 for row in rows):
        raise ValueError("map: hexagons must be a list of rows of equal length")
    for row in rows:
        for tile in row:
            if whole_number(tile) is None or not -1 <= tile < MAX_TILES:
                raise ValueError(
                    f"map: a hexagon belongs to a tile (0 to {MAX_TILES - 1}) or to none (-1), not to {quoted(tile)}"
                )
    return np.array(rows, np.int8)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _touching(hexagons: np.ndarray) -> np.ndarray:
    """bool [tiles, tiles]: tiles whose hexagons share an edge. Raises: ValueError where there are fewer than two."""
    tiles = int(hexagons.max()) + 1
    if tiles < MIN_TILES:
        raise ValueError(f"map: a map has at least {MIN_TILES} tiles")
    neighbours = np.zeros((tiles, tiles), bool)
    for first, second in touching_pairs(hexagons):
        neighbours[first, second] = neighbours[second, first] = True
    return neighbours


def touching_pairs(hexagons: np.ndarray) -> list[tuple[int, int]]:
    """(tile, other tile) of every edge that two small hexagons of different tiles share, in the odd-r grid."""
    rows, cols = hexagons.shape
    pairs = []
    for row, col in np.argwhere(hexagons >= 0).tolist():
        for down, right in ((0, 1), (1, row % 2 - 1), (1, row % 2)):
            y, x = row + down, col + right
            if y < rows and 0 <= x < cols and -1 != hexagons[y, x] != hexagons[row, col]:
                pairs.append((int(hexagons[row, col]), int(hexagons[y, x])))
    return pairs


def _reached(neighbours: np.ndarray) -> np.ndarray:
    """bool [tiles]: the tiles that a way leads to from tile 0."""
    reached = np.arange(len(neighbours)) == 0
    while True:
        further = reached | neighbours[reached].any(0)
        if (further == reached).all():
            return reached
        reached = further


def pool(key: Array, tiles: int, size: int) -> Map:
    """``size`` random maps, as one Map with a leading axis. Consumes key. See ``pool_init``."""
    return _make_pool(key, check_tiles(tiles), size)


@functools.partial(jax.jit, static_argnums=(1, 2))
def _make_pool(key: Array, tiles: int, size: int) -> Map:
    return jax.vmap(lambda k: generate(k, tiles))(jax.random.split(key, size))


def pool_init(env: Any, maps: Map) -> Callable[[Array], Any]:
    """An ``init(key)`` that takes the map of each new game at random from a pool, for ``audamir_envs.auto_reset``.

    Everything but the map is drawn anew. Pass the pool to the jitted function as an argument, so that a fresh one
    needs no new compilation (its steps may be a scan of vmapped ones, but not a vmapped scan)::

        @jax.jit
        def rollout(state, key, maps):
            step = audamir_envs.auto_reset(env, init=pool_init(env, maps))
            ...

        for iteration in range(1000):
            state = rollout(state, key, maps)
            if iteration % 10 == 9:  # maps may repeat as often as the caller likes
                maps = pool(fresh_key, 32, 4096)

    Args: env: a Principalities environment; maps: with a leading axis, of as many tiles as the environment has.
    """
    size = maps.neighbours.shape[0]

    def init(key: Array) -> Any:
        map_key, game_key = jax.random.split(key)
        index = jax.random.randint(map_key, (), 0, size, jnp.int32)
        return env.init_from_map(game_key, jax.tree.map(lambda leaf: leaf[index], maps))

    return init
