"""The network of Principalities: its features against plain Python, symmetries, gradients, any size by one set."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_ppo import random_parameters

import audamir_envs
from audamir_envs.principalities import network as tile_network
from audamir_envs.principalities.network import TileConfig, TileNetwork, TileOutput

NETWORK = TileNetwork(TileConfig(channels=6, blocks=1, pairs=4))
PLAYERS, TILES = 3, 7
RING = [[(i - 1) % TILES, (i + 1) % TILES] for i in range(TILES)]
OWNER, DICE = [0, 0, 1, 1, 2, 2, 0], [3, 1, 4, 1, 5, 2, 6]
CHORD = [[*RING[0], 3], *RING[1:3], [*RING[3], 0], *RING[4:]]  # a ring with a chord from 0 to 3


@pytest.fixture(scope="module")
def parameters():
    return random_parameters(NETWORK)


@pytest.fixture(scope="module")
def evaluate(parameters):
    """The network on one observation, compiled once."""
    apply = jax.jit(lambda parameters, observation: NETWORK.apply({"params": parameters}, observation[None]))
    return lambda observation, other=None: jax.tree.map(lambda leaf: leaf[0], apply(other or parameters, observation))


def observed(owner, dice, neighbours=CHORD, reserve=(0, 5, 0), to_move=0) -> np.ndarray:
    env = audamir_envs.make("principalities-v0", players=PLAYERS, tiles=TILES)
    fields = {"neighbours": neighbours, "owner": owner, "dice": dice, "reserve": list(reserve), "to_move": to_move}
    return np.asarray(env.from_text(json.dumps(fields)).observation)


features = jax.jit(tile_network._inputs)


def renumbered(rng):
    """A position, the same with its tiles renumbered, and the new number of each old tile."""
    owner, dice = rng.permutation(OWNER).tolist(), rng.integers(1, 9, TILES).tolist()
    new = rng.permutation(TILES)
    old = np.argsort(new)
    neighbours = [sorted(int(new[j]) for j in CHORD[old[i]]) for i in range(TILES)]
    moved = [owner[i] for i in old], [dice[i] for i in old], neighbours
    return observed(owner, dice), observed(*moved), new


def test_tiles_renumbered_renumber_the_attacks_and_nothing_else(evaluate) -> None:
    for seed in range(3):
        first, second, new = renumbered(np.random.default_rng(seed))
        a, b = evaluate(first), evaluate(second)
        attacks = np.asarray(a.logits[: TILES**2]).reshape(TILES, TILES)
        others = np.asarray(b.logits[: TILES**2]).reshape(TILES, TILES)
        assert np.ptp(attacks) > 0.1
        np.testing.assert_allclose(others[np.ix_(new, new)], attacks, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(b.logits[TILES**2 :], a.logits[TILES**2 :], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(b.shares, a.shares, rtol=1e-4, atol=1e-5)


def test_the_mover_sees_itself_first_whatever_its_seat(evaluate) -> None:
    one = evaluate(observed(OWNER, DICE))
    turned = [(seat + 1) % PLAYERS for seat in OWNER]
    two = evaluate(observed(turned, DICE, reserve=(0, 0, 5), to_move=1))
    np.testing.assert_array_equal(one.logits, two.logits)
    np.testing.assert_array_equal(one.shares, two.shares)


def test_shares_sum_to_one_and_the_dead_have_none(evaluate) -> None:
    said = evaluate(observed([0, 0, 1, 1, 1, 0, 0], DICE))
    assert float(said.shares.sum()) == pytest.approx(1, abs=1e-6)
    assert float(said.shares[2]) == 0
    assert (np.asarray(said.shares[:2]) > 0).all()
    assert float(said.values.sum()) == pytest.approx(0, abs=1e-5)
    assert float(said.values[2]) == pytest.approx(-1 / (PLAYERS - 1))


def test_one_set_of_parameters_plays_any_number_of_players_and_tiles(parameters) -> None:
    for players, tiles in ((2, 6), (8, 48)):
        env = audamir_envs.make("principalities-v0", players=players, tiles=tiles)
        shapes = jax.eval_shape(
            lambda o: NETWORK.apply({"params": parameters}, o),
            jax.ShapeDtypeStruct((3, *env.observation_shape), jnp.uint8),
        )
        assert shapes.logits.shape == (3, env.num_actions)
        assert shapes.shares.shape == shapes.seat_logits.shape == (3, players)


def test_gradient_of_each_head_agrees_with_finite_differences(evaluate, parameters) -> None:
    rng = np.random.default_rng(5)
    observation = observed(OWNER, DICE)
    leaves, tree = jax.tree.flatten(parameters)
    direction = [jnp.asarray(rng.normal(size=leaf.shape), jnp.float32) for leaf in leaves]

    def moved(step: float):
        return jax.tree.unflatten(tree, [leaf + step * d for leaf, d in zip(leaves, direction, strict=True)])

    seeds = [jnp.asarray(rng.normal(size=leaf.shape), jnp.float32) for leaf in evaluate(observation)]

    @jax.jit
    def slopes(parameters) -> list:
        said, back = jax.vjp(lambda p: NETWORK.apply({"params": p}, observation[None]), parameters)
        found = []
        for head in range(len(seeds)):
            parts = [seed[None] if n == head else jnp.zeros_like(said[n]) for n, seed in enumerate(seeds)]
            (gradient,) = back(TileOutput(*parts))
            found.append(sum(jnp.sum(g * d) for g, d in zip(jax.tree.leaves(gradient), direction, strict=True)))
        return found

    step = 3e-4  # small: kinks of relu; not smaller: rounding
    low, high = evaluate(observation, moved(-step)), evaluate(observation, moved(step))
    for head, slope in enumerate(slopes(parameters)):
        difference = float(jnp.sum((high[head] - low[head]) * seeds[head])) / (2 * step)
        assert abs(float(slope)) > 1e-2
        np.testing.assert_allclose(slope, difference, rtol=0.05, atol=0.02, err_msg=TileOutput._fields[head])


def plain_merged(owner, neighbours) -> list[int]:
    """For each tile: how many tiles seat 0 would have in one group there, with the tile its own."""
    sizes = []
    for tile in range(len(owner)):
        mine = {t for t, seat in enumerate(owner) if seat == 0} | {tile}
        group, open_ = {tile}, [tile]
        while open_:
            for other in neighbours[open_.pop()]:
                if other in mine and other not in group:
                    group.add(other)
                    open_.append(other)
        sizes.append(len(group))
    return sizes


def test_groups_that_a_capture_would_join_are_counted_once() -> None:
    rng = np.random.default_rng(7)
    owners = [[0, *rng.integers(0, 2, TILES - 1).tolist()] for _ in range(20)]
    seen = np.stack([observed(owner, [2] * TILES) for owner in owners])
    merged = np.asarray(features(seen).tiles)[:, :, 5] * 8
    np.testing.assert_array_equal(np.round(merged), [plain_merged(owner, CHORD) for owner in owners])


def test_threats_are_the_strongest_neighbours_of_others() -> None:
    owner, dice = OWNER, DICE
    inputs = features(observed(owner, dice)[None])
    threat = np.asarray(inputs.threat[0]).argmax(1)
    expected = [max([dice[j] for j in CHORD[i] if owner[j] != 0], default=0) for i in range(TILES)]
    np.testing.assert_array_equal(threat, expected)
    np.testing.assert_array_equal(np.asarray(inputs.left[0]).argmax(1), np.array(dice) - 1)
    links = np.asarray(inputs.links[0])
    for i in range(TILES):
        for j in range(TILES):
            beside = j in CHORD[i]
            assert links[i, j] == (beside and owner[i] == owner[j])
            assert links[TILES + i, j] == (beside and owner[i] != owner[j])
