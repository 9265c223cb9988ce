"""Code written for Pgx runs on our environments as on Pgx's own: the functions below know nothing but Pgx's API."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import audamir_envs

pytestmark = [pytest.mark.frameworks, pytest.mark.usefixtures("standard_promotion")]
pgx = pytest.importorskip("pgx", reason="Pgx is not installed: pip install pgx")

from pgx.experimental import act_randomly, auto_reset  # noqa: E402

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pgx_style_training.py"
RING = {"neighbours": [[1, 7], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [6, 0]]}
TWO_PLAYERS = {
    "tic_tac_toe": lambda: pgx.make("tic_tac_toe"),
    "colony": lambda: audamir_envs.make("colony-v0", max_turns=40),
    "stigmergy": lambda: audamir_envs.make("stigmergy-v0", side=2),
    "stigmergy-pie": lambda: audamir_envs.make("stigmergy-v0", side=2, komi="choose"),
}
ALL = TWO_PLAYERS | {
    "principalities": lambda: audamir_envs.make("principalities-v0", players=3, map=RING, max_rounds=3),
}
LANES, STEPS = 8, 90


@pytest.fixture
def standard_promotion():
    """Pgx and mctx mix types of numbers."""
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture(scope="module")
def trainer():
    spec = importlib.util.spec_from_file_location("pgx_style_training", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rollout(env, step, key):
    """Random play: every state [STEPS + 1, LANES], the actions and the keys of the steps."""
    start, key = jax.random.split(key)
    first = jax.vmap(env.init)(jax.random.split(start, LANES))

    def one_step(state, key):
        act_key, step_key = jax.random.split(key)
        action = act_randomly(act_key, state.legal_action_mask)
        keys = jax.random.split(step_key, LANES)
        after = jax.vmap(step)(state, action, keys)
        return after, (after, action, keys)

    _, (states, actions, keys) = jax.lax.scan(one_step, first, jax.random.split(key, STEPS))
    return jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), first, states), actions, keys


@pytest.mark.parametrize("name", ALL)
def test_random_rollouts_with_auto_reset(name):
    env = ALL[name]()
    states, actions, keys = jax.jit(lambda key: rollout(env, auto_reset(env.step, env.init), key))(
        jax.random.PRNGKey(0)
    )
    done = np.asarray(states.terminated | states.truncated)
    rewards = np.asarray(states.rewards)
    assert done.any(axis=0).all()  # every lane has seen an end, and a new game after it
    assert not rewards[~done].any()
    assert np.allclose(rewards.sum(axis=2), 0, atol=1e-6)
    legal = np.take_along_axis(np.asarray(states.legal_action_mask)[:-1], np.asarray(actions)[..., None], axis=2)
    assert legal.all()
    assert not getattr(states, "illegal", jnp.zeros(())).any()

    # The first game of each lane, without auto-reset: it ends at the same step with the same rewards.
    step = jax.jit(jax.vmap(env.step))
    state = jax.tree.map(lambda leaf: leaf[0], states)
    waiting = np.ones(LANES, bool)
    for number in range(int(done.argmax(axis=0).max())):
        split = jax.vmap(lambda key: jax.random.split(key)[0])(keys[number])  # as auto_reset makes the step's key
        state = step(state, actions[number], split)
        over = np.asarray(state.terminated | state.truncated)
        assert np.array_equal(over[waiting], done[number + 1][waiting])
        assert np.array_equal(np.asarray(state.rewards)[waiting], rewards[number + 1][waiting])
        waiting &= ~over
    assert not waiting.any()

    # After an end the step is that of a new game.
    after = done[:-1]
    count = np.asarray(states._step_count)
    assert (count[:-1][after] == 0).all()
    assert np.array_equal(count[1:][after], np.where(done[1:][after], 0, 1))


@pytest.mark.parametrize("name", ["tic_tac_toe", "colony", "stigmergy"])
def test_the_search_wins_where_one_move_wins(name, trainer):
    env = TWO_PLAYERS[name]()
    states, actions, _ = jax.jit(lambda key: rollout(env, env.step, key))(jax.random.PRNGKey(1))
    mover = np.asarray(states.current_player)[:-1]
    won = np.take_along_axis(np.asarray(states.rewards)[1:], mover[..., None], axis=2)[..., 0] > 0
    assert won.any()
    step, lane = (int(places[0]) for places in np.nonzero(won))
    state = jax.tree.map(lambda leaf: leaf[step, lane][None], states)
    network = trainer.Network(env.num_actions)
    params = network.init(jax.random.PRNGKey(2), state.observation)
    found = jax.jit(lambda state, key: trainer.search(env, network, params, state, key, 64))(
        state, jax.random.PRNGKey(3)
    )
    chosen = int(found.action[0])
    assert state.legal_action_mask[0, chosen]
    summary = found.search_tree.summary()
    winning = actions[step, lane]
    assert summary.qvalues[0, winning] == (summary.visit_counts[0, winning] > 0)  # once tried it is known to win
    assert summary.qvalues[0, chosen] > 0.5  # that move is chosen, or another one that will win


@pytest.mark.parametrize("name", ["colony", "stigmergy-pie"])
def test_the_trainer_runs_on_each(name, trainer):
    params, curve = trainer.train(
        TWO_PLAYERS[name](), iterations=2, games=4, steps=4, simulations=4, max_steps=40, seed=1
    )
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(params))
    assert len(curve) == 2
    assert np.isfinite(curve).all()


@pytest.mark.parametrize("name", ["tic_tac_toe", "stigmergy"])
def test_the_trainer_learns(name, trainer):
    _, curve = trainer.train(TWO_PLAYERS[name](), iterations=40, games=32, steps=12, simulations=16, max_steps=40)
    assert curve[-1][0] < curve[0][0] / 2
    assert curve[-1][1] > 0.3
