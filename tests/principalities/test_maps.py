"""Random maps against searches in plain Python, a user's maps good and bad, and pools."""

import functools
import itertools
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import audamir_envs
from audamir_envs.principalities import maps
from audamir_envs.principalities.maps import Map


def ring(row, col):
    """The six neighbours of a hexagon in an odd-r grid, written out anew."""
    if row % 2:
        return [(row, col - 1), (row, col + 1), (row - 1, col), (row - 1, col + 1), (row + 1, col), (row + 1, col + 1)]
    return [(row, col - 1), (row, col + 1), (row - 1, col - 1), (row - 1, col), (row + 1, col - 1), (row + 1, col)]


def component(start, allowed):
    """The hexagons of ``allowed`` that a way inside it joins to ``start``."""
    seen, stack = {start}, [start]
    while stack:
        for place in ring(*stack.pop()):
            if place in allowed and place not in seen:
                seen.add(place)
                stack.append(place)
    return seen


def check(neighbours, hexagons):
    """All that must hold of every random map; returns the number of holes and whether the rim is ragged."""
    tiles = len(neighbours)
    rows, cols = hexagons.shape
    places = {t: set() for t in range(-1, tiles)}
    for place in itertools.product(range(rows), range(cols)):
        places[int(hexagons[place])].add(place)
    land = set().union(*(places[t] for t in range(tiles)))
    borders = {t: set() for t in range(tiles)}
    for place in land:
        for other in ring(*place):
            if other in land and hexagons[other] != hexagons[place]:
                borders[int(hexagons[place])].add(int(hexagons[other]))
    for tile in range(tiles):
        assert places[tile], "every tile has hexagons"
        assert component(min(places[tile]), places[tile]) == places[tile], "every tile is connected"
        assert set(np.flatnonzero(neighbours[tile])) == borders[tile], "neighbours share an edge"
        assert 1 <= len(borders[tile]) <= 10
    assert component(min(land), land) == land, "the map is connected"
    # Holes: void that is not joined to the sea around the grid.
    sea = {(r, c) for r in range(-1, rows + 1) for c in range(-1, cols + 1)} - land
    inner = sea - component((-1, -1), sea)
    holes = 0
    while inner:
        inner -= component(min(inner), inner)
        holes += 1
    rim = {(r, c) for r, c in itertools.product(range(rows), range(cols)) if r in (0, rows - 1) or c in (0, cols - 1)}
    return holes, 0 < len(rim & land) < len(rim)


@functools.cache
def batch(tiles, count, seed=0):
    keys = jax.random.split(jax.random.key(seed), count)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda key: maps.generate(key, tiles)))(keys))


@pytest.mark.parametrize("tiles", [32, 42, 48, 7])
def test_random_maps(tiles):
    made = batch(tiles, 100 if tiles in (7, 32) else 40)
    assert made.neighbours.dtype == np.bool_
    assert made.hex_of_tile.dtype == np.int8
    assert made.hex_of_tile.shape[1:] == maps.grid_shape(tiles)
    assert len({m.tobytes() for m in made.hex_of_tile}) == len(made.hex_of_tile), "no two maps alike"
    found = [check(*one) for one in zip(made.neighbours, made.hex_of_tile, strict=True)]
    if tiles >= 32:
        holes, ragged = np.array(found, float).T
        assert ragged.all()
        assert (holes >= 1).mean() > 0.99
        assert 3 < holes.mean() < 20
        assert 3.3 < made.neighbours.sum(-1).mean() < 4.5
        size = np.stack([(made.hex_of_tile == t).sum((1, 2)) for t in range(tiles)])
        assert 9 < size.mean() < 16
        assert (size >= 6).mean() > 0.9
        assert (size <= 31).mean() > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("tiles", [32, 36, 42, 48])
def test_ten_thousand_maps(tiles):
    degrees = []
    for seed in range(10):
        made = batch(tiles, 1000, seed + 1)
        degrees.append(made.neighbours.sum(-1).mean())
        for one in zip(made.neighbours, made.hex_of_tile, strict=True):
            _, ragged = check(*one)
            assert ragged
        batch.cache_clear()
    assert 3.3 < np.mean(degrees) < 4.5


def test_same_key_same_map():
    """Alone, in batches of any size (they are made in chunks) and in nested ones."""
    made = batch(7, 100)
    keys = jax.random.split(jax.random.key(0), 100)
    one = jax.jit(lambda key: maps.generate(key, 7))
    nested = jax.jit(jax.vmap(jax.vmap(lambda key: maps.generate(key, 7))))(keys.reshape(4, 25))
    for index in (3, 99):
        for other in (one(keys[index]), jax.tree.map(operator.itemgetter(divmod(index, 25)), nested)):
            np.testing.assert_array_equal(other.hex_of_tile, made.hex_of_tile[index])
            np.testing.assert_array_equal(other.neighbours, made.neighbours[index])


@pytest.mark.parametrize("tiles", [1, 97, "32", 32.0, True, None])
def test_bad_number_of_tiles(tiles):
    with pytest.raises(ValueError, match="2 to 96 tiles"):
        maps.generate(jax.random.key(0), tiles)


SQUARE = [[1, 3], [0, 2], [1, 3], [2, 0]]
HEXAGONS = [[0, 0, 1], [3, -1, 1], [3, 2, 2]]


def test_user_map_of_lists():
    made = maps.user_map(SQUARE)
    assert made.neighbours.dtype == jnp.bool_
    assert [np.flatnonzero(row).tolist() for row in made.neighbours] == [[1, 3], [0, 2], [1, 3], [0, 2]]
    assert made.hex_of_tile.tolist() == [[-1]]
    tuples = maps.user_map(tuple(map(np.array, SQUARE)))
    np.testing.assert_array_equal(tuples.neighbours, made.neighbours)


def test_user_map_of_hexagons():
    alone = maps.user_map({"hexagons": HEXAGONS})
    both = maps.user_map({"neighbours": SQUARE, "hexagons": HEXAGONS})
    text = maps.user_map('{"neighbours": [[1, 3], [0, 2], [1, 3], [2, 0]], "hexagons": [[0,0,1],[3,-1,1],[3,2,2]]}')
    again = maps.user_map(both)
    for made in (alone, both, text, again):
        assert [np.flatnonzero(row).tolist() for row in made.neighbours] == [[1, 3], [0, 2], [1, 3], [0, 2]]
        assert made.hex_of_tile.tolist() == HEXAGONS
        assert made.hex_of_tile.dtype == jnp.int8


def test_user_map_takes_what_generate_makes():
    made = jax.tree.map(lambda leaf: jnp.asarray(leaf[5]), batch(7, 100))
    again = maps.user_map(made)
    hexagons = maps.user_map({"hexagons": made.hex_of_tile.tolist()})
    for other in (again, hexagons):
        np.testing.assert_array_equal(other.neighbours, made.neighbours)
        np.testing.assert_array_equal(other.hex_of_tile, made.hex_of_tile)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([[1], [0, 2], []], "not symmetric: tile 2"),
        ([[1], [0], [3], [2]], "not connected.*tile 2"),
        ([[0, 1], [0]], "its own neighbour"),
        ([[2], [0]], "neighbour 2: tiles are numbered 0 to 1"),
        ([[-1], [0]], "neighbour -1"),
        ([[True], [0]], "neighbour True"),
        ([[1.0], [0]], "neighbour 1.0"),
        ([["1"], [0]], "neighbour '1'"),
        ([1, 0], "must be a list of tile numbers"),
        ([[]], "2 to 96 lists"),
        ([], "2 to 96 lists"),
        (5, "2 to 96 lists"),
        ([[]] * 97, "2 to 96 lists"),
        ({}, "neighbours and hexagons"),
        ({"edges": []}, "neighbours and hexagons, not 'edges'"),
        ("[[1],", "not JSON"),
        ({"hexagons": [[0, 1], [0]]}, "rows of equal length"),
        ({"hexagons": []}, "rows of equal length"),
        ({"hexagons": 3}, "rows of equal length"),
        ({"hexagons": [[0, -2]]}, "not to -2"),
        ({"hexagons": [[0, 0.5]]}, "not to 0.5"),
        ({"hexagons": [[0, 0]]}, "at least 2 tiles"),
        ({"hexagons": [[0, 2]]}, "every tile from 0 to 2"),
        ({"hexagons": [[0, -1, 1]]}, "not connected"),
        ({"neighbours": [[1], [0]], "hexagons": [[0, 1, 2]]}, "every tile from 0 to 1"),
        (Map(neighbours=jnp.zeros((2, 3), jnp.bool_), hex_of_tile=jnp.zeros((1, 1), jnp.int8)), "square boolean"),
        (Map(neighbours=jnp.zeros((2, 2), jnp.bool_), hex_of_tile=-jnp.ones((1, 1), jnp.int8)), "not connected"),
    ],
)
def test_bad_user_map(spec, message):
    with pytest.raises(ValueError, match=message):
        maps.user_map(spec)


def test_pool():
    """The pool as an argument of a jitted scan of batched steps: every new game is on one of its maps, each gets its
    turn, the deal is not the map's, and a fresh pool needs no new compilation."""
    env = audamir_envs.make("principalities-v0", players=2, tiles=7)
    traces = []

    @jax.jit
    def rollout(key, pool):
        traces.append(1)
        again = audamir_envs.auto_reset(env, init=maps.pool_init(env, pool))

        def play(state, key):
            first, second = jax.random.split(key)
            return again.step(state, audamir_envs.sample_legal(first, state), second)

        def steps_of_batch(states, key):
            states = jax.vmap(play)(states, jax.random.split(key, 8))
            return states, (states.game.hex_of_tile, states.game.owner, states.just_reset)

        states = jax.vmap(again.init)(jax.random.split(key, 8))
        return jax.lax.scan(steps_of_batch, states, jax.random.split(key, 200))[1]

    for seed in range(2):
        pool = maps.pool(jax.random.key(seed), 7, 5)
        known = {m.tobytes() for m in np.asarray(pool.hex_of_tile)}
        hexagons, owners, resets = jax.tree.map(np.asarray, rollout(jax.random.key(3), pool))
        assert len(known) == 5
        assert {m.tobytes() for m in hexagons.reshape(-1, *hexagons.shape[2:])} == known
        assert resets.sum() > 10
        assert len({deal.tobytes() for deal in owners[resets]}) > 6
    assert traces == [1]


def test_environments_are_told_apart_by_their_whole_map():
    one = maps.user_map([[other for other in range(40) if abs(other - tile) == 1] for tile in range(40)])
    linked = np.array(one.neighbours)
    linked[15, 25] = linked[25, 15] = True  # in the middle, which the text of a large array leaves out
    other = Map(neighbours=jnp.asarray(linked), hex_of_tile=one.hex_of_tile)
    a, b = (audamir_envs.make("principalities-v0", map=map) for map in (one, other))
    assert a != b
    assert a == audamir_envs.make("principalities-v0", map=Map(neighbours=one.neighbours, hex_of_tile=one.hex_of_tile))
    assert a == audamir_envs.make("principalities-v0", **a.options)


def test_an_environment_does_not_follow_its_callers_list():
    lists = [[1], [0, 2], [1]]
    env = audamir_envs.make("principalities-v0", players=2, map=lists)
    before = hash(env)
    lists[0].append(2)
    assert hash(env) == before
    assert env.options["map"] == {"neighbours": [[1], [0, 2], [1]]}


@pytest.mark.parametrize("text", ["[" * 100_000, f"[[{'1' * 5000}], [0]]"])
def test_json_of_no_use_is_a_value_error(text):
    with pytest.raises(ValueError, match="map: a number in the JSON is too long, or it is nested too deeply"):
        maps.user_map(text)


def test_the_default_can_be_said_on_the_command_line():
    assert audamir_envs.registry.environment_class("principalities-v0").OPTIONS["map"].parse("map", "none") is None
