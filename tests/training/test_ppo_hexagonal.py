"""PPO on hexagonal boards, tiny: it iterates, its level loads as both agents, and it learns."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import presets
from audamir_training.ppo import PPO
from audamir_training.ppo_network import PolicyNetwork
from audamir_training.settings import PPOSettings
from tiny_ppo import TINY_PPO
from tiny_run import advanced, copied, mesh_of

import audamir_envs

TINY = dataclasses.replace(TINY_PPO, env="stigmergy-v0", layouts="2", evaluate_options="side=2", opening_plies=2)


@pytest.fixture(scope="module")
def run() -> PPO:
    return PPO(TINY, mesh_of(1))


@pytest.fixture(scope="module")
def three(run):
    return advanced(run, run.start(), 3)


def test_games_are_played_and_learned_from(run, three) -> None:
    state, metrics = three
    assert run.positions(state) == 3 * 64
    assert run.gradient_steps(state) == 3 * 4
    assert all(np.isfinite(list(line.values())).all() for line in metrics)
    assert int(state.games) > 0
    before, after = copied(run.start()).learner.parameters, copied(state.learner.parameters)
    changed = jax.tree.map(lambda old, new: bool((old != new).any()), before, after)
    heads = {path[0].key for path, _ in jax.tree_util.tree_leaves_with_path(changed)}
    assert len(heads) > 3
    assert sum(jax.tree.leaves(changed)) > len(jax.tree.leaves(changed)) / 2
    lanes = copied(state.lanes[0].state)
    assert not lanes.terminated.any()


def test_values_of_both_seats_and_who_wins_agree(run, three) -> None:
    state = copied(three[0])
    policy = PolicyNetwork(run.variants[0].env, TINY.channels, TINY.blocks)
    seen = jnp.asarray(state.lanes[0].state.observation)
    said = jax.jit(policy.apply, static_argnums=0)(run.variants[0].env.num_actions, state.learner.parameters, seen)
    np.testing.assert_allclose(said.values[:, 0], -said.values[:, 1])
    shares = jax.nn.softmax(said.seat_logits)
    np.testing.assert_allclose(2 * shares - 1, said.values, atol=1e-5)
    assert said.logits.shape == (8, run.variants[0].env.num_actions)


def test_the_level_plays_by_its_policy_and_by_search(run, three, tmp_path) -> None:
    path = tmp_path / "zero.safetensors"
    run.export(path, run.player(three[0]), {"budget": {}})
    env = audamir_envs.make("stigmergy-v0", side=2)
    state = env.init(jax.random.key(0))
    for settings in ({"policy": True}, {"simulations": 2, "considered": 2}):
        agent = audamir_envs.make_agent("stigmergy-v0", str(path), **settings)
        assert bool(state.legal_action_mask[int(jax.jit(agent.act)(state, jax.random.key(1)))])


def test_presets_of_a_game_hold_for_the_other_algorithm_as_far_as_they_mean_the_same() -> None:
    settings, _ = presets.preset("stigmergy-v0", "small", "ppo")
    own, _ = presets.preset("stigmergy-v0", "small")
    assert isinstance(settings, PPOSettings)
    assert (settings.layouts, settings.evaluate_options) == (own.layouts, own.evaluate_options)
    assert settings.learning_rate == PPOSettings().learning_rate
    assert settings.decay_positions == presets.preset("principalities-v0", "small")[0].decay_positions


def test_no_level_meets_its_examiner_unless_asked() -> None:
    for env_id in ("colony-v0", "stigmergy-v0", "principalities-v0"):
        for name in presets.NAMES:
            assert presets.preset(env_id, name)[0].level_share == 0


@pytest.mark.slow
def test_it_learns_to_beat_the_weak_level_on_side_3() -> None:
    settings = dataclasses.replace(
        TINY, layouts="3", evaluate_options="side=3,komi=4", channels=16, lanes=64, steps=32, batch=256, microbatch=64,
        epochs=2, snapshot_iterations=10, snapshots=8, groups=4, decay_positions=200_000, level_share=0.0,
        opening_plies=4,
    )  # fmt: skip
    run = PPO(settings, mesh_of(1))
    state = run.start()
    match = run.match("weak", 256)
    before, *_ = match(run.player(state), jax.random.key(7))
    state, _ = advanced(run, state, 60)
    after, unfinished, _ = match(run.player(state), jax.random.key(7))
    assert not np.asarray(unfinished).any()
    assert float(jnp.mean(after)) > max(0.6, float(jnp.mean(before)) + 0.1)
