"""Games of evaluations: fair, complete, and the same on any number of devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import evaluation
from tiny_run import mesh_of

import audamir_envs


def likeliest(parameters, states, key):
    """Plays the legal action with the largest parameter."""
    del key
    return jnp.argmax(jnp.where(states.legal_action_mask, parameters, -jnp.inf), axis=-1).astype(jnp.int32)


def test_two_devices_play_the_games_of_one() -> None:
    games = 10  # five openings, so that one device has a place too many
    env = audamir_envs.make("stigmergy-v0", side=2, komi=2)
    opponent = audamir_envs.make_agent(env, "random")
    parameters = jnp.asarray(np.random.default_rng(0).normal(size=env.num_actions), jnp.float32)
    found = []
    for devices in (1, 2):
        match = evaluation.two_player_match(env, likeliest, opponent, games, 2, env.max_steps, mesh_of(devices))
        shares, unfinished = match(parameters, jax.random.key(3))
        assert shares.shape == unfinished.shape == (games,)
        assert not np.asarray(unfinished).any()
        found.append(np.asarray(shares))
    np.testing.assert_array_equal(*found)
    assert 0 < found[0].mean() < 1


@pytest.mark.slow
def test_rotated_games_are_the_same_on_two_devices() -> None:
    env = audamir_envs.make("principalities-v0", players=3, tiles=6)
    opponent = audamir_envs.make_agent(env, "random")
    parameters = jnp.asarray(np.random.default_rng(0).normal(size=env.num_actions), jnp.float32)
    found = []
    for devices in (1, 2):
        match = evaluation.rotated_match(env, likeliest, opponent, 9, 300, mesh_of(devices))
        found.append(jax.tree.map(np.asarray, match(parameters, jax.random.key(3))))
    assert found[0][0].shape == (9,)
    jax.tree.map(np.testing.assert_array_equal, *found)


def test_options_of_evaluations_are_checked() -> None:
    assert evaluation.environment("stigmergy-v0", "side=2,komi=4").options["komi"] == 4
    with pytest.raises(ValueError, match="evaluate_options: stigmergy-v0 has no option 'size'; it has side"):
        evaluation.environment("stigmergy-v0", "size=2")
