"""The contract of the frame on two toy games: illegal actions, terminal steps, auto-reset."""

import itertools

import jax
import numpy as np
import pytest
from toy import Duel, Nim

import audamir_envs

FINAL = ("observation", "legal_action_mask", "rewards", "terminated", "truncated")


def same(one, other):
    return all(jax.tree.leaves(jax.tree.map(lambda a, b: np.array_equal(np.asarray(a), np.asarray(b)), one, other)))


def lane(states, number):
    return jax.tree.map(lambda leaf: leaf[number], states)


@pytest.fixture(scope="module")
def nim():
    env = Nim()
    return env, jax.jit(env.step), jax.jit(env.init)(jax.random.key(0))


@pytest.mark.parametrize("action", [5, 8, -1, 9, 2**31 - 1])
def test_an_illegal_action_ends_the_game(nim, action):
    _, step, state = nim
    after = step(state, action)
    assert after.illegal
    assert after.terminated
    assert not after.truncated
    assert after.rewards.tolist() == [-1.0, 1.0]
    assert after.legal_action_mask.all()
    assert after._step_count == 0
    assert same(after.game, state.game)
    assert after.current_player == 0
    for following in (0, action):
        again = step(after, following)
        assert again.rewards.tolist() == [0.0, 0.0]
        assert same(again.replace(rewards=after.rewards), after)


@pytest.fixture(scope="module")
def duel():
    env = Duel(max_rounds=1)
    return jax.jit(env.step), jax.jit(env.init)(jax.random.key(0))


def test_an_illegal_action_of_three(duel):
    step, state = duel
    after = step(state, 0, jax.random.key(1))
    assert after.rewards.tolist() == [-1.0, 0.5, 0.5]


def test_a_step_after_the_end_changes_nothing(nim):
    env, step, _ = nim
    state = step(env.from_text("0 0 1 1"), 6)
    assert state.terminated
    assert state.rewards.tolist() == [-1.0, 1.0]
    assert state.legal_action_mask.all()
    assert state._step_count == 1
    again = step(state, 4)
    assert again.rewards.tolist() == [0.0, 0.0]
    assert not again.illegal
    assert same(again.replace(rewards=state.rewards), state)


def test_a_limit_truncates(duel):
    step, start = duel
    state = step(start, 3, jax.random.key(1))
    assert state.truncated
    assert not state.terminated
    assert np.asarray(state.rewards).sum() == pytest.approx(0)
    offence = step(start, 0, jax.random.key(1))
    assert offence.terminated
    assert not offence.truncated


def test_bad_calls(nim):
    env, _, state = nim
    with pytest.raises(TypeError, match="integer"):
        env.step(state, 1.0)
    duel = Duel()
    with pytest.raises(TypeError, match="key"):
        duel.step(duel.init(jax.random.key(0)), 3)
    for bad in ({"size": 9}, {"size": True}, {"size": "3"}, {"starter": "both"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Nim(**bad)
    with pytest.raises(ValueError, match="size, starter"):
        Nim(colour=1)


def test_observations_of_both_seats(nim):
    env, _, state = nim
    assert np.array_equal(env.observe(state), state.observation)
    assert np.array_equal(env.observe(state, 0), state.observation)
    assert not env.observe(state, 1).any()


@pytest.mark.parametrize(("game", "lanes"), [(Nim, 1), (Nim, 5), (Nim, 40), (Duel, 1), (Duel, 40)])
def test_auto_reset_is_step_then_init(game, lanes):
    """Against the plain way, lane by lane: step with one half of the key, and if that ends the game, init the other."""
    env = game()
    wrapped = audamir_envs.auto_reset(env)
    step, plain_step, init = jax.jit(jax.vmap(wrapped.step)), jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.init))
    split = jax.jit(jax.vmap(jax.random.split))
    rng = np.random.default_rng(0)
    key = jax.random.key(lanes)
    states = jax.jit(jax.vmap(wrapped.init))(jax.random.split(jax.random.key(1), lanes))
    plain = init(jax.random.split(jax.random.key(1), lanes))
    assert not states.just_reset.any()
    final = {name: np.zeros_like(getattr(states, name)) for name in FINAL}
    resets = 0
    for _ in range(25):
        key, now = jax.random.split(key)
        keys = jax.random.split(now, lanes)
        mask = np.asarray(states.legal_action_mask)
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in mask], np.int32)
        if resets == 3:
            actions[0] = -1
        both = split(keys)
        plain = plain_step(plain, actions, both[:, 0])
        fresh = init(both[:, 1])
        states = step(states, actions, keys)
        done = np.asarray(plain.terminated | plain.truncated)
        resets += done.sum()
        assert np.array_equal(states.just_reset, done)
        assert np.array_equal(wrapped.step_rewards(states), plain.rewards)
        for name in FINAL:
            final[name] = np.where(done.reshape(-1, *[1] * (final[name].ndim - 1)), getattr(plain, name), final[name])
            assert np.array_equal(getattr(states, f"final_{name}"), final[name])
        plain = jax.tree.map(
            lambda new, old, done=done: np.where(done.reshape(-1, *[1] * (old.ndim - 1)), new, old), fresh, plain
        )
        for field in audamir_envs.State.__dataclass_fields__:
            assert same(getattr(states, field), getattr(plain, field)), field
    assert resets >= lanes


def test_auto_reset_alone_and_in_a_scan():
    env = Duel()
    wrapped = audamir_envs.auto_reset(env)

    def play(key):
        def ply(state, key):
            sampled, stepped = jax.random.split(key)
            state = wrapped(state, audamir_envs.sample_legal(sampled, state), stepped)
            return state, state

        return jax.lax.scan(ply, wrapped.init(key), jax.random.split(key, 60))[1]

    alone = jax.device_get(jax.jit(play)(jax.random.key(3)))
    keys = jax.random.wrap_key_data(np.stack([jax.random.key_data(jax.random.key(seed)) for seed in (3, 0)]))
    lanes = jax.device_get(jax.jit(jax.vmap(play))(keys))
    assert same(alone, lane(lanes, 0))
    assert alone.just_reset.sum() > 1
    assert (alone.final_terminated | alone.final_truncated)[alone.just_reset].all()


def test_auto_reset_from_prepared_games():
    env = Nim()
    prepared = env.from_text("1 0 0 1")
    wrapped = audamir_envs.auto_reset(env, init=lambda key: prepared)
    states = jax.jit(jax.vmap(wrapped.init))(jax.random.split(jax.random.key(0), 3))
    after = jax.jit(jax.vmap(wrapped.step))(states, np.zeros(3, np.int32), jax.random.split(jax.random.key(1), 3))
    assert after.just_reset.all()
    assert (after.current_player == 1).all()
    assert after.final_rewards.tolist() == [[-1.0, 1.0]] * 3


def test_environments_are_values():
    assert Nim() == Nim(size=3) != Nim(size=2)
    assert len({Nim(), Nim(size=3), Nim(size=2), Duel()}) == 3
    for one, other in itertools.combinations([Nim(), Nim(size=2), Duel()], 2):
        assert one != other
    assert "size=2" in repr(Nim(size=2))


def test_an_environment_of_another_class_is_another_environment():
    class Stranger(Duel):
        """With the id and the options of its base, and maybe other rules."""

    assert Duel() == Duel()
    assert hash(Duel()) == hash(Duel())
    assert Stranger() != Duel()
