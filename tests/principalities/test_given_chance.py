"""Games played again from what chance decided."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import audamir_envs
from audamir_envs.sampling import sample_legal

LANES, PLIES = 16, 48


@pytest.fixture(scope="module")
def env():
    return audamir_envs.make("principalities-v0", players=3, tiles=9, max_rounds=8)


@pytest.fixture(scope="module")
def played(env):
    """Random games stepped by key and by chance at once: what both led to, and what chance decided."""

    def body(states, key):
        own, theirs = states
        keys = jax.random.split(key, LANES + 1)
        actions = sample_legal(keys[0], own)
        by_key = jax.vmap(env.step)(own, actions, keys[1:])
        chance = jax.vmap(env.chance_of)(own, actions, keys[1:])
        possible = jax.vmap(env.chance_possible)(own.game, actions, chance)
        more = jax.vmap(env.chance_possible)(own.game, actions, chance.at[:, 2].add(jnp.uint8(1)))
        by_chance = jax.vmap(env.step_with_chance)(theirs, actions, chance)
        return (by_key, by_chance), (actions, chance, possible, more, own.terminated | own.truncated, own.game)

    @jax.jit
    def run(key):
        states = jax.vmap(env.init)(jax.random.split(key, LANES))
        return jax.lax.scan(body, (states, states), jax.random.split(key, PLIES))

    return jax.device_get(run(jax.random.key(3)))


def test_a_step_is_the_step_with_what_chance_decides(played):
    (by_key, by_chance), _ = played
    jax.tree.map(np.testing.assert_array_equal, by_key, by_chance)
    assert by_key.terminated.any() or by_key.truncated.any()


def test_what_chance_decides_is_possible_and_one_die_more_is_not(played):
    _, (_, _, possible, more, over, _) = played
    assert possible[~over].all()
    assert not more[~over].any()


def test_impossible_sums_are_told(env, played):
    _, (actions, chance, _, _, over, games) = played
    ply, lane = map(int, np.argwhere((actions < 81) & ~over)[0])
    game = jax.tree.map(lambda leaf: leaf[ply, lane], games)
    action, drawn = actions[ply, lane], chance[ply, lane]
    source, target = divmod(int(action), 9)
    possible = jax.jit(env.chance_possible)
    for attacking in range(50):
        fine = game.dice[source] <= attacking <= 6 * game.dice[source]
        assert bool(possible(game, action, drawn * 0 + np.array([attacking, drawn[1], *[0] * 9], np.uint8))) == fine
    for defending in range(50):
        fine = game.dice[target] <= defending <= 6 * game.dice[target]
        assert bool(possible(game, action, drawn * 0 + np.array([drawn[0], defending, *[0] * 9], np.uint8))) == fine


def test_text_and_back(env, played):
    _, (actions, chance, _, _, over, _) = played
    kinds = set()
    for ply, lane in np.argwhere(~over):
        action, drawn = int(actions[ply, lane]), chance[ply, lane]
        text = env.chance_to_text(action, drawn)
        np.testing.assert_array_equal(env.text_to_chance(action, text), drawn)
        kinds.add(":" in text)
    assert kinds == {True, False}
    assert env.chance_to_text(5, np.array([20, 13, *[0] * 9], np.uint8)) == "20:13"
    assert env.chance_to_text(81, np.array([0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1], np.uint8)) == "1 1 8"


def test_bad_texts(env):
    for action, text, message in (
        (5, "20-13", "sums of both sides' dice as 20:13"),
        (5, "200:13", "sums of both sides"),
        (5, "", "sums of both sides"),
        (81, "3 9", "'9' is no tile where a die can fall: tiles are 0 to 8"),
        (81, "x", "'x' is no tile"),
        (81, "² 1", "is no tile"),
        (81, " ".join("3" * 9), "more than 8 dice fall on tile 3"),
    ):
        with pytest.raises(ValueError, match=message):
            env.text_to_chance(action, text)
    with pytest.raises(TypeError, match="from a string"):
        env.text_to_chance(5, 3)


def test_games_without_chance_have_none_to_give(key):
    env = audamir_envs.make("stigmergy-v0", side=2)
    state = env.init(key)
    assert env.chance_of(state, 0, key).shape == (0,) == env.chance_shape
    assert env.text_to_chance(0, "").shape == (0,)
    after, same = env.step(state, 0), env.step_with_chance(state, 0, np.zeros(0, np.uint8))
    jax.tree.map(np.testing.assert_array_equal, after, same)
    with pytest.raises(ValueError, match="is no outcome of chance"):
        env.text_to_chance(0, "3")
