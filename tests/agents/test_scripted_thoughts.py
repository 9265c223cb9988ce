"""What scripted levels say of positions: probabilities over legal actions, and values where they have any."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import audamir_envs
from audamir_envs import sample_legal
from audamir_envs.agents.base import DRAWS

GAMES = {
    "colony-v0": ({}, 6),
    "stigmergy-v0": ({"side": 2, "komi": "choose"}, 5),
    "principalities-v0": ({"players": 3, "tiles": 6}, 12),
}


@functools.lru_cache
def states_of(env_id):
    """Three states of a random game, its start among them."""
    options, plies = GAMES[env_id]
    env = audamir_envs.make(env_id, **options)
    step, choose = jax.jit(env.step), jax.jit(sample_legal)
    state = jax.jit(env.init)(jax.random.key(0))
    seen = [state]
    for ply in range(plies):
        state = step(state, choose(jax.random.key(ply), state), jax.random.key(ply))
        seen.append(state)
    chosen = [seen[0], seen[plies // 2], seen[-1]]
    assert not any(bool(state.terminated | state.truncated) for state in chosen)
    return env, jax.tree.map(lambda *leaves: jnp.stack(leaves), *chosen)


SLOW = {("colony-v0", "normal"), ("colony-v0", "strong"), ("stigmergy-v0", "strong")}  # compile for long


@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        pytest.param(env_id, name, marks=[pytest.mark.slow] if (env_id, name) in SLOW else [])
        for env_id in GAMES
        for name in ("weak", "normal", "strong")
    ],
)
def test_policies_are_legal_and_hold_what_is_played(env_id, name) -> None:
    env, states = states_of(env_id)
    agent = audamir_envs.make_agent(env, name)
    found = jax.device_get(jax.jit(agent.evaluate_batch)(states))
    legal = np.asarray(states.legal_action_mask)
    np.testing.assert_allclose(found.policy.sum(axis=1), 1, atol=1e-5)
    assert (found.policy[~legal] == 0).all()
    repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf, DRAWS, axis=0), states)
    played = np.asarray(jax.jit(agent.act_batch)(repeated, jax.random.key(0))).reshape(3, DRAWS)
    for lane in range(3):
        assert (found.policy[lane, played[lane]] > 0).all()
    known = ~np.isnan(found.value)
    assert found.value.shape == (3, env.num_players)
    assert (np.abs(found.value[known]) <= 1 + 1e-6).all()
    np.testing.assert_allclose(np.where(known, found.value, 0).sum(axis=1), 0, atol=1e-5)
    searches = {"colony-v0": name != "weak", "stigmergy-v0": True, "principalities-v0": name == "strong"}
    assert known[-1].all() == searches[env_id]


def test_a_win_at_hand_is_worth_one() -> None:
    env = audamir_envs.make("principalities-v0", players=2, tiles=3)
    won = '{"neighbours": [[1], [0, 2], [1]], "owner": [0, 0, 1], "dice": [1, 8, 1], "reserve": [0, 0], "to_move": 0}'
    found = jax.jit(audamir_envs.make_agent(env, "strong").evaluate)(env.from_text(won))
    assert env.action_to_text(int(found.policy.argmax())) == "1>2"
    assert float(found.value[0]) > 0.95
    assert float(found.value[1]) == pytest.approx(-float(found.value[0]), abs=1e-6)


@pytest.mark.slow
def test_colonys_search_says_what_it_wins() -> None:
    env = audamir_envs.make("colony-v0", board="61")
    agent = audamir_envs.make_agent(env, "strong")
    state = env.init(jax.random.key(0))
    found = jax.jit(agent.evaluate)(state)
    best = np.flatnonzero(found.policy > 0.01 / 61 + 1e-4)
    acts = {int(a) for a in jax.jit(jax.vmap(agent.act, (None, 0)))(state, jax.random.split(jax.random.key(1), 40))}
    assert len(acts & set(best.tolist())) >= len(acts) - 2  # slips
    assert float(found.score[0]) == -float(found.score[1])
