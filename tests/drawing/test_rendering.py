"""What the bridges ask to be drawn."""

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs.bridges.rendering import Renderer

GAMES = {
    "colony-v0": {},
    "stigmergy-v0": {"side": 2},
    "principalities-v0": {"players": 2, "map": [[1], [0]]},
}


@pytest.fixture(scope="module", params=GAMES)
def game(request):
    env = audamir_envs.make(request.param, **GAMES[request.param])
    return env, jax.jit(env.init)(jax.random.key(0))


@pytest.mark.parametrize("mode", ["ansi", "svg", "rgb_array"])
def test_a_last_action_that_is_none_is_not_drawn(game, mode):
    env, state = game
    renderer = Renderer(env, mode)
    plain = renderer.render(state, None)
    for number in (-1, env.num_actions):  # at the start of a game, and after a number that is no action
        assert np.array_equal(renderer.render(state, number), plain)
    if mode == "svg":
        assert renderer.render(state, 1) != plain
