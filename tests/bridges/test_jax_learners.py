"""gymnax's and JaxMARL's interfaces on the toy games; the packages themselves are in tests/frameworks."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy import Duel, First, Nim, Shooter

from audamir_envs.agents import RandomAgent, from_callable
from audamir_envs.bridges import gymnax, jaxmarl
from audamir_envs.bridges.gymnasium import SingleAgentEnv
from audamir_envs.sampling import sample_legal

LANES = 12
NIM, DUEL = Nim(), Duel(max_rounds=12)


def last_legal(mask):
    return mask.shape[-1] - 1 - np.asarray(mask)[..., ::-1].argmax(axis=-1)


@pytest.mark.parametrize("seat", [0, 1])
def test_gymnax_plays_what_the_gymnasium_environment_plays(seat):
    env, params = gymnax.make(NIM, First(), seat=seat)
    other = SingleAgentEnv(NIM, First(), seat=seat)
    seen, state = env.reset(jax.random.key(0), params)
    expected, info = other.reset(seed=0)
    ends = 0
    for number in range(12):
        assert seen.dtype == jnp.float32
        assert np.array_equal(seen, expected)
        assert np.array_equal(state.action_mask, info["action_mask"])
        assert np.array_equal(env.get_obs(state), expected)
        action = last_legal(state.action_mask)
        seen, state, reward, terminated, truncated, told = env.step(jax.random.key(number), state, action, params)
        expected, *wanted, info = other.step(int(action))
        assert [float(reward), bool(terminated), bool(truncated)] == wanted
        assert np.array_equal(told["final_observation"], expected)
        assert told["left"] == info["left"]
        assert told["seat"] == seat
        if terminated:
            expected, info = other.reset()
            ends += 1
    assert ends > 1


@pytest.fixture(scope="module")
def duel():
    """The environment, and 30 random steps of its lanes."""
    env, params = gymnax.make(DUEL, [Shooter(), First()])
    keys = jax.random.split(jax.random.key(5), (30, LANES))

    def step(carry, keys):
        key, state = carry
        key, choose = jax.random.split(key)
        actions = sample_legal(choose, state.action_mask)
        _, after, *told = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, state, actions, params)
        return (key, after), (state, actions, after, told)

    _, start = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(jax.random.key(4), LANES), params)
    return (
        env,
        params,
        keys,
        jax.device_get(jax.jit(lambda c, k: jax.lax.scan(step, c, k))((jax.random.key(6), start), keys)[1]),
    )


def test_gymnax_lanes_are_single_games(duel):
    """Nested vmaps, cond and single calls give what the lanes give."""
    env, params, keys, (states, actions, after, told) = duel

    def one(key, state, action):
        _, state, *told = jax.lax.cond(action >= 0, env.step, env.step, key, state, action, params)
        return state, told

    nested = jax.jit(jax.vmap(jax.vmap(one)))(keys[:4], *jax.tree.map(lambda leaf: leaf[:4], (states, actions)))
    for mine, lanes in zip(jax.tree.leaves(nested), jax.tree.leaves((after, told)), strict=True):
        assert np.array_equal(mine, lanes[:4])
    for number in range(8):
        at = (number, number % LANES)
        _, state, *single = env.step(keys[at], *jax.tree.map(lambda leaf, at=at: leaf[at], (states, actions)), params)
        for mine, lanes in zip(jax.tree.leaves((state, single)), jax.tree.leaves((after, told)), strict=True):
            assert np.array_equal(mine, lanes[at])


def test_gymnax_episodes_follow_the_rules(duel):
    _, _, _, (states, _, after, (reward, terminated, truncated, info)) = duel
    done = terminated | truncated
    assert 10 < done.sum() < done.size / 2
    assert truncated.any()
    assert not (reward != 0)[~done].any()
    assert set(np.unique(reward[done])) <= {-0.5, 0.0, 0.25, 1.0}
    assert (info["lives"][terminated & (reward == 1)] > 0).all()
    assert (info["lives"][terminated & (reward == -0.5) & ~truncated] == 0).mean() > 0.5
    assert (after.time == np.where(done, 0, states.time + 1)).all()
    assert not info["illegal"].any()
    assert len(np.unique(after.episode.seat[done])) == 3
    seat, mover = states.episode.seat, states.episode.state.current_player
    unfinished = states.episode.state.game.lives[(*np.indices(seat.shape), seat)] > 0
    assert (seat == mover)[unfinished & ~states.episode.state.terminated].all()
    assert np.array_equal(info["action_mask"], after.action_mask)
    starts = after.episode.state.game.lives[done]
    assert len(np.unique(starts, axis=0)) > 5


def test_gymnax_truncates_after_its_steps_and_ends_illegal_ones():
    env, params = gymnax.make(NIM, First(), seat=0, mask_in_observation=True)
    assert params.max_steps_in_episode == NIM.max_steps
    short = params.replace(max_steps_in_episode=1)
    seen, state = env.reset(jax.random.key(0), short)
    assert seen.shape == (9 + 9,) == env.observation_space(short).shape
    assert np.array_equal(seen[9:], state.action_mask)
    _, following, reward, terminated, truncated, info = env.step(jax.random.key(1), state, 0, short)
    assert [float(reward), bool(terminated), bool(truncated)] == [0, False, True]
    assert not np.array_equal(info["final_observation"], seen)
    assert following.time == 0
    assert np.array_equal(following.action_mask, state.action_mask)
    _, _, reward, terminated, _, info = env.step(jax.random.key(1), state, 99, params)
    assert [float(reward), bool(terminated), bool(info["illegal"])] == [-1, True, True]
    for again in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert again is not env
        assert (again == env) == (again.opponent is env.opponent)
    with pytest.raises(ValueError, match="'mine' plays outside JAX"):
        gymnax.make(NIM, from_callable(lambda seen, mask: mask.argmax(axis=1), "mine"))


def test_keys_of_every_kind():
    env, params = gymnax.make(NIM, RandomAgent())
    both = jaxmarl.make(NIM)
    for key in (jax.random.key(1), jax.random.key(1, impl="rbg"), jax.random.PRNGKey(1)):
        _, state = env.reset(key, params)
        env.step(key, state, 3, params)
        both.step(key, both.reset(key)[1], dict.fromkeys(both.agents, 3))


@pytest.mark.parametrize("game", [NIM, DUEL], ids=["nim", "duel"])
def test_jaxmarl_plays_the_functional_game(game):
    env = jaxmarl.make(game)
    step = jax.jit(game.step)
    seen, state = env.reset(jax.random.key(2))
    plain, ends = state, 0
    for number in range(25):
        key, rng = jax.random.key(number), np.random.default_rng(number)
        masks = env.get_avail_actions(state)
        mover = int(state.current_player)
        for seat, agent in enumerate(env.agents):
            assert np.array_equal(seen[agent], game.observe(plain, seat).astype(np.float32))
            expected = (
                np.append(plain.legal_action_mask, False) if seat == mover else np.arange(env.noop + 1) == env.noop
            )
            assert np.array_equal(masks[agent], expected)
        actions = {agent: rng.choice(np.flatnonzero(mask)) for agent, mask in masks.items()}
        plain = step(plain, actions[env.agents[mover]], jax.random.split(key)[0])
        seen, state, rewards, dones, infos = env.step(key, state, actions)
        over = bool(plain.terminated | plain.truncated)
        assert np.array_equal(list(rewards.values()), plain.rewards)
        assert set(dones) == {*env.agents, "__all__"}
        assert all(bool(done) == over for done in dones.values())
        assert infos["truncated"].tolist() == [bool(plain.truncated)] * game.num_players
        assert not infos["illegal"].any()
        if over:
            plain, ends = state, ends + 1
    assert ends > 1


def test_jaxmarl_illegal_actions_and_starts():
    env = jaxmarl.make(NIM)
    _, state = env.reset(jax.random.key(0))
    for action in (env.noop, -1, 99):
        _, _, rewards, dones, infos = env.step(jax.random.key(0), state, {"agent_0": action, "agent_1": env.noop})
        assert [float(reward) for reward in rewards.values()] == [-1, 1]
        assert infos["illegal"].tolist() == [True, False]
        assert dones["__all__"]
    _, kept, *_ = env.step(jax.random.key(0), state, {"agent_0": 0, "agent_1": env.noop})
    _, again, *_ = env.step(jax.random.key(0), state, {"agent_0": 99, "agent_1": 0}, reset_state=kept)
    assert np.array_equal(again.game.heaps, kept.game.heaps)


def test_environments_of_equal_options_are_equal():
    one, two = (gymnax.make("stigmergy-v0", "weak", side=2)[0] for _ in range(2))
    assert one == two == copy.deepcopy(one)
    assert len({one, two, gymnax.make("stigmergy-v0", "weak", side=3)[0]}) == 2
    both = jaxmarl.make("stigmergy-v0", side=2)
    assert both == pickle.loads(pickle.dumps(both)) != jaxmarl.make("stigmergy-v0", side=3)
    assert hash(both) == hash(copy.deepcopy(both))


def test_spaces_of_ones_own():
    env, _ = gymnax.make(NIM, First())
    action = env.action_space().sample(jax.random.key(0))
    assert env.action_space().contains(action)
    seen = env.observation_space().sample(jax.random.key(0))
    assert seen.shape == env.observation_space().shape == NIM.observation_shape
    assert env.observation_space().contains(seen)
    assert not env.observation_space().contains(seen + 2)
    assert env.num_actions == env.action_space().n == jaxmarl.make(NIM).action_space("agent_0").n - 1
