"""What trained levels say of positions: legal, consistent with what they play, and right where the truth is known."""

import functools
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from effort import FULL

import audamir_envs
from audamir_envs import sample_legal
from audamir_envs.agents.base import evaluate_batch
from audamir_envs.hexboard import hexboard

EXACT = pathlib.Path(__file__).parents[1] / "data" / "stigmergy_exact_side3.jsonl"


@functools.lru_cache
def positions(env, plies: int, count: int):
    """Unfinished states behind up to ``plies`` random legal actions."""

    def one(key):
        length_key, start_key, play_key = jax.random.split(key, 3)
        length = jax.random.randint(length_key, (), 0, plies + 1, jnp.int32)

        def ply(state, given):
            number, key = given
            action_key, step_key = jax.random.split(key)
            after = env.step(state, sample_legal(action_key, state), step_key)
            goes_on = (number < length) & ~(after.terminated | after.truncated)
            return jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), after, state), None

        numbers = jnp.arange(plies, dtype=jnp.int32)
        return jax.lax.scan(ply, env.init(start_key), (numbers, jax.random.split(play_key, plies)))[0]

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(5), count))


def check(env, agent, states, options=None):
    """Everything that holds for a level which does not draw its actions."""
    found = jax.device_get(jax.jit(functools.partial(evaluate_batch, agent), compiler_options=options)(states))
    legal, movers = np.asarray(states.legal_action_mask), np.asarray(states.current_player)
    batch = len(movers)
    assert found.policy.shape == legal.shape
    assert found.policy.dtype == found.value.dtype == np.float32
    np.testing.assert_allclose(found.policy.sum(axis=1), 1, atol=1e-5)
    assert (found.policy >= 0).all()
    assert (found.policy[~legal] == 0).all()
    assert found.value.shape == (batch, env.num_players)
    assert (np.abs(found.value) <= 1 + 1e-6).all()
    np.testing.assert_allclose(found.value.sum(axis=1), 0, atol=1e-5)  # what one wins the others lose
    if found.action_values is not None:
        tried = ~np.isnan(found.action_values)
        assert legal[tried].all()
        assert tried.any(axis=1).all()
        assert (np.abs(found.action_values[tried]) <= 1 + 1e-6).all()
    if found.visits is not None:
        assert ((found.visits > 0) == ~np.isnan(found.action_values)).all()
    best = found.policy.argmax(axis=1)
    np.testing.assert_array_equal(found.variation[:, 0], best)
    replay = jax.jit(env.step)
    for lane in range(min(batch, 3)):
        state = jax.tree.map(lambda leaf: leaf[lane], jax.device_get(states))  # noqa: B023 - used at once
        for number, action in enumerate(found.variation[lane]):
            if action < 0:
                assert (found.variation[lane, number:] == -1).all()
                break
            assert not state.terminated
            assert not state.truncated
            assert state.legal_action_mask[action]
            state = jax.device_get(replay(state, action, jax.random.key(number)))
    return found


SETTINGS = {"zero": {"simulations": 6}, "zero-policy": {}}
NAMES = [pytest.param("zero", marks=pytest.mark.slow), "zero-policy"]  # the search compiles for long


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("env_id", "options"), [("stigmergy-v0", {"side": 3, "komi": "choose"}), ("colony-v0", {})])
def test_hexagonal_games(env_id, options, name) -> None:
    env = audamir_envs.make(env_id, **options)
    agent = audamir_envs.make_agent(env, name, **SETTINGS[name])
    states = positions(env, 12, 6)
    found = check(env, agent, states)
    np.testing.assert_array_equal(jax.jit(agent.act_batch)(states, jax.random.key(1)), found.policy.argmax(axis=1))
    cells = hexboard((env.observation_shape[0] + 1) // 2).size
    assert found.ownership.shape == (6, cells, 2)
    assert (found.ownership.sum(axis=2) <= 1).all()
    assert (found.ownership >= 0).all()
    np.testing.assert_allclose(found.score.sum(axis=1), 0, atol=1e-4)
    if name == "zero":
        assert (found.visits.sum(axis=1) == 6).all()


@pytest.mark.parametrize("name", NAMES)
def test_principalities(name) -> None:
    env = audamir_envs.make("principalities-v0", players=3, tiles=6)
    agent = audamir_envs.make_agent(env, name)
    states = positions(env, 20, 4)
    found = check(env, agent, states)
    if name == "zero-policy":  # the other one draws the futures of a turn's end anew each time
        np.testing.assert_array_equal(jax.jit(agent.act_batch)(states, jax.random.key(1)), found.policy.argmax(axis=1))
    one = jax.tree.map(lambda leaf: leaf[1], states)
    alone = jax.jit(agent.evaluate)(one)
    np.testing.assert_allclose(alone.policy, found.policy[1], atol=1e-4)
    np.testing.assert_allclose(alone.value, found.value[1], atol=1e-4)


def test_noise_of_play_changes_nothing_that_is_said() -> None:
    env = audamir_envs.make("stigmergy-v0", side=3)
    states = positions(env, 12, 4)
    said = [
        jax.jit(audamir_envs.make_agent(env, "zero-policy", temperature=temperature).evaluate_batch)(states).policy
        for temperature in (0.0, 2.0)
    ]
    np.testing.assert_array_equal(*said)


def read_exact(env) -> tuple:
    """(states, exact margins for Black) of the stored positions of side 3."""
    board = hexboard(3)
    texts, margins = [], []
    for line in EXACT.read_text().splitlines():
        position = json.loads(line)
        signs = {label: "x" for label in position["black"].split()} | {
            label: "o" for label in position["white"].split()
        }
        letters = iter(signs.get(label, ".") for label in board.labels)
        rows = ["".join(next(letters) for _ in range(width)) for width in (3, 4, 5, 4, 3)]
        texts.append(f"{'/'.join(rows)} {'x' if position['to_move'] == 'black' else 'o'} 4 {int(position['passed'])} 0")
        margins.append(position["margin"])
    states = [env.from_text(text) for text in texts]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states), np.array(margins)


@pytest.mark.slow
def test_values_of_side_3_agree_with_the_exact_ones() -> None:
    env = audamir_envs.make("stigmergy-v0", side=3, komi=4)
    states, margins = read_exact(env)
    agent = audamir_envs.make_agent(env, "zero", simulations=32)
    found = check(env, agent, states, FULL)
    assert (found.visits.sum(axis=1) == 32).all()
    right = np.sign(found.value[:, 0]) == np.sign(margins - 4)
    sure = np.abs(found.value[:, 0]) > 0.8
    # Measured: 96 % of all, all of the 79 % that are sure, and the score off by 2.2 points on average.
    assert right.mean() > 0.93
    assert sure.mean() > 0.6
    assert right[sure].mean() > 0.98
    assert np.abs(found.score[:, 0] - margins).mean() < 3
