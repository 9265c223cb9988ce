"""The network: its convolution against plain loops, gradients against finite differences, any side by one set."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from audamir_envs.hexboard import hexboard
from audamir_envs.learned.networks import (
    HexConfig,
    HexOutput,
    bind,
    hex_convolution,
    init_parameters,
    make_network,
    side_of,
)

PLANES, KINDS = 5, 2
CONFIG = HexConfig(PLANES, KINDS, (0, 1, 2, 3, 3), (1.0, 0.5, 1.0, 1.0, 2.0), channels=6, blocks=2, head="komi")


def plain_convolution(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    board = hexboard(side_of(x.shape[0]))
    out = np.zeros((*x.shape[:2], kernel.shape[2]), np.float64)
    for cell in range(board.size):
        out[cell] += x[cell] @ kernel[0]
        for direction, neighbour in enumerate(board.neighbours[cell]):
            if neighbour >= 0:
                out[cell] += x[neighbour] @ kernel[1 + direction]
    return out


@pytest.fixture(scope="module")
def network():
    return make_network(CONFIG)


@pytest.fixture(scope="module")
def parameters(network):
    fresh = init_parameters(network, (5, 5, PLANES), 19 * KINDS + 1, jax.random.key(3))
    # Heads begin near zero; moved away so that every parameter matters.
    leaves, tree = jax.tree.flatten(fresh)
    rng = np.random.default_rng(1)
    return jax.tree.unflatten(
        tree, [leaf + 0.1 * jnp.asarray(rng.normal(size=leaf.shape), jnp.float32) for leaf in leaves]
    )


@pytest.mark.parametrize("side", [2, 3, 5])
def test_convolution_sums_over_the_neighbourhood(side: int) -> None:
    rng = np.random.default_rng(side)
    x = rng.normal(size=(hexboard(side).size, 3, 4)).astype(np.float32)
    kernel = rng.normal(size=(7, 4, 5)).astype(np.float32)
    np.testing.assert_allclose(hex_convolution(x, kernel), plain_convolution(x, kernel), rtol=2e-5, atol=2e-5)


def test_gradient_of_the_convolution_is_that_of_the_sum() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(19, 2, 3)).astype(np.float32)
    kernel = rng.normal(size=(7, 3, 4)).astype(np.float32)
    seed = rng.normal(size=(19, 2, 4)).astype(np.float32)
    of_x, of_kernel = jax.grad(lambda x, kernel: jnp.sum(hex_convolution(x, kernel) * seed), (0, 1))(x, kernel)
    # The function is linear in each argument, so a basis tells the gradient exactly.
    for index in np.ndindex(*x.shape):
        unit = np.zeros_like(x)
        unit[index] = 1
        np.testing.assert_allclose(of_x[index], (plain_convolution(unit, kernel) * seed).sum(), rtol=1e-4, atol=1e-4)
    for index in np.ndindex(*kernel.shape):
        unit = np.zeros_like(kernel)
        unit[index] = 1
        expected = (plain_convolution(x, unit) * seed).sum()
        np.testing.assert_allclose(of_kernel[index], expected, rtol=1e-4, atol=1e-4)


def test_gradient_of_each_head_agrees_with_finite_differences(network, parameters) -> None:
    rng = np.random.default_rng(5)
    observation = rng.integers(0, 2, (2, 5, 5, PLANES)).astype(np.float32)
    leaves, tree = jax.tree.flatten(parameters)
    direction = [np.asarray(rng.normal(size=leaf.shape), np.float32) for leaf in leaves]
    shapes = jax.eval_shape(lambda p: bind(network, p, 39)(observation), parameters)
    seeds = [rng.normal(size=head.shape).astype(np.float32) for head in shapes]

    def along(step):
        moved = jax.tree.unflatten(tree, [leaf + step * d for leaf, d in zip(leaves, direction, strict=True)])
        said = bind(network, moved, 39)(observation)
        return jnp.stack([jnp.sum(head * seed) for head, seed in zip(said, seeds, strict=True)])

    @jax.jit
    def slopes_and_differences(step):
        slopes = jax.vmap(jax.vjp(along, jnp.float32(0))[1])(jnp.eye(len(seeds), dtype=jnp.float32))[0]
        return slopes, (along(step) - along(-step)) / (2 * step)

    step = 3e-4  # small: kinks of relu and maximum; not smaller: rounding
    slopes, differences = slopes_and_differences(jnp.float32(step))
    for head, slope, difference in zip(HexOutput._fields, slopes, differences, strict=True):
        assert abs(float(slope)) > 1e-2, head
        np.testing.assert_allclose(slope, difference, rtol=0.05, atol=0.01, err_msg=head)


def test_one_set_of_parameters_plays_every_side(network, parameters) -> None:
    for side in (2, 4):
        cells = hexboard(side).size
        evaluate = jax.jit(bind(network, parameters, cells * KINDS + 1))
        said = evaluate(jnp.ones((3, 2 * side - 1, 2 * side - 1, PLANES), jnp.uint8))
        assert said.logits.shape == (3, cells * KINDS + 1)
        assert said.ownership.shape == (3, cells)
        assert said.value.shape == said.score.shape == (3,)
        assert bool(jnp.all(jnp.isfinite(said.logits)))
        assert bool(jnp.all(jnp.abs(said.value) < 1))


def test_what_lies_off_the_board_does_not_matter(network, parameters) -> None:
    rng = np.random.default_rng(2)
    observation = rng.normal(size=(1, 5, 5, PLANES)).astype(np.float32)
    other = observation.copy()
    off = hexboard(3).cell_of_grid.reshape(5, 5) < 0
    other[0, off] = 9
    evaluate = jax.jit(bind(network, parameters, 39))
    first, second = evaluate(observation), evaluate(other)
    np.testing.assert_array_equal(first.logits, second.logits)


def test_the_pie_likes_the_komi_that_the_network_names(network, parameters) -> None:
    said = jax.jit(bind(network, parameters, 19 * KINDS + 1 + 10 + 2))(jnp.ones((1, 5, 5, PLANES), jnp.uint8))
    komi = np.asarray(said.logits[0, 19 * KINDS + 1 : -2])
    assert komi.shape == (10,)
    best = int(komi.argmax())
    assert (np.diff(komi[: best + 1]) > 0).all()
    assert (np.diff(komi[best:]) < 0).all()
    np.testing.assert_allclose(said.logits[0, -1], -said.logits[0, -2])


def test_a_number_of_cells_that_no_board_has_is_refused() -> None:
    assert [side_of(n) for n in (7, 19, 37, 61, 91, 127, 169)] == [2, 3, 4, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="20 cells"):
        side_of(20)


def test_what_the_action_head_does_not_cover_is_refused() -> None:
    def config(**changes) -> HexConfig:
        return dataclasses.replace(CONFIG, **{"head": "cells"} | changes)

    cells, shape = hexboard(3).size, (5, 5, PLANES)
    assert config().choices(shape, 2 * cells + 1) == 0
    assert config(further=()).choices(shape, 2 * cells) == 0
    assert config(further=("pass", "swap")).choices(shape, 2 * cells + 2) == 0
    assert config(head="komi").choices(shape, 2 * cells + 1) == 0
    assert config(head="komi").choices(shape, 2 * cells + 1 + 4 + 2) == 4
    for chosen, actions in ((config(), 2 * cells), (config(), 2 * cells + 2), (config(), 2 * cells + 7)):
        with pytest.raises(ValueError, match=f"2 on each of 19 cells, and pass: 39; the game has {actions}"):
            chosen.choices(shape, actions)
    for actions in (2 * cells, 2 * cells + 2, 2 * cells + 3):
        with pytest.raises(ValueError, match=r"39, or more than two more \(a pie\); the game has"):
            init_parameters(make_network(config(head="komi")), shape, actions, jax.random.key(0))
    with pytest.raises(ValueError, match="reads 5 planes, not 4"):
        config().choices((5, 5, 4), 2 * cells + 1)
    for other in ((5, 4, PLANES), (4, 4, PLANES), (5, PLANES)):
        with pytest.raises(ValueError, match="reads hexagonal boards"):
            config().choices(other, 2 * cells + 1)


@pytest.mark.parametrize(("further", "head"), [((), "cells"), (("pass", "swap", "resign"), "cells"), (("a",), "komi")])
def test_every_head_gives_a_logit_an_action(further, head) -> None:
    config = HexConfig(PLANES, 1, tuple(range(PLANES)), (1.0,) * PLANES, 2, 1, further, head)
    network, cells = make_network(config), hexboard(2).size
    for actions in {cells + len(further), cells + len(further) + (5 if head == "komi" else 0)}:

        def said(key: jax.Array, actions: int = actions) -> jax.Array:
            parameters = init_parameters(network, (3, 3, PLANES), actions, key)
            return bind(network, parameters, actions)(jnp.zeros((2, 3, 3, PLANES))).logits

        assert jax.eval_shape(said, jax.random.key(0)).shape == (2, actions)
