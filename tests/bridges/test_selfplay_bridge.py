"""All seats of many toy games at once."""

import copy
import itertools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy import Duel, Nim

from audamir_envs.bridges.selfplay import SelfPlayVectorEnv

LANES = 20


def run(env, steps, seed=1):
    """[(observation, rewards, terminated, truncated, info, actions that led here)] of random legal play."""
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=seed)
    told = [(observation, None, None, None, info, None)]
    for _ in range(steps):
        mask = np.asarray(told[-1][4]["action_mask"])
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
        told.append((*env.step(actions), actions))
    return told


@pytest.fixture(scope="module", params=[Nim, Duel])
def told(request):
    return request.param(), run(SelfPlayVectorEnv(request.param(), LANES), 40)


def test_every_lane_replays_in_the_functional_environment(told):
    env, steps = told
    if env.stochastic:
        pytest.skip("replayed by its invariants below")
    for lane in range(5):
        state = env.init(jax.random.key(0))
        for before, (observation, rewards, terminated, _, info, actions) in itertools.pairwise(steps):
            assert before[4]["current_player"][lane] == state.current_player
            state = env.step(state, actions[lane])
            assert rewards[lane].tolist() == state.rewards.tolist()
            assert terminated[lane] == state.terminated
            if state.terminated:
                assert np.array_equal(info["final_obs"][lane], state.observation)
                assert info["final_player"][lane] == state.current_player
                assert info["left"][lane] == 0
                state = env.init(jax.random.key(0))
            assert np.array_equal(observation[lane], state.observation)
            assert np.array_equal(info["action_mask"][lane], state.legal_action_mask)


def test_what_step_gives(told):
    env, steps = told
    ended = 0
    for observation, rewards, terminated, truncated, info, _ in steps[1:]:
        done = terminated | truncated
        ended += done.sum()
        assert observation.dtype == np.float32
        assert observation.shape == (LANES, *env.observation_shape)
        assert rewards.shape == (LANES, env.num_players)
        assert not rewards[~done].any()
        assert np.allclose(rewards[done].sum(axis=1), 0)
        assert info["action_mask"].dtype == np.int8
        assert info["action_mask"].any(axis=1).all()
        assert ("final_obs" in info) == done.any()
        if done.any():
            assert np.array_equal(info["_final_obs"], done)
            assert info["final_action_mask"][done].all()
        assert all(array.flags.writeable for array in (observation, rewards, terminated, *info.values()))
    assert ended > LANES


def test_device_arrays_stay_and_pass_by_dlpack(told):
    env, steps = told
    device = run(SelfPlayVectorEnv(env, LANES, device_outputs=True), 10)
    for on_device, on_host in zip(device, steps, strict=False):
        assert isinstance(on_device[0], jax.Array)
        assert np.array_equal(np.from_dlpack(on_device[0]), on_host[0])
        assert np.array_equal(on_device[4]["action_mask"], on_host[4]["action_mask"])
        assert np.array_equal(on_device[4]["current_player"], on_host[4]["current_player"])


def test_actions_by_dlpack():
    class Foreign:
        def __init__(self, array):
            self._array = array

        def __dlpack__(self, **options):
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self._array.__dlpack_device__()

    env = SelfPlayVectorEnv(Nim(), LANES)
    env.reset(seed=0)
    env.step(Foreign(jnp.zeros(LANES, jnp.int32)))
    observation, *_ = env.step(np.full(LANES, 3))
    assert (observation.sum(axis=(1, 2)) == 4).all()


def test_illegal_actions():
    env = SelfPlayVectorEnv(Duel(), 3)
    env.reset(seed=0)
    _, rewards, terminated, _, info = env.step(np.array([3, 0, 99]))
    assert terminated.tolist() == [False, True, True]
    assert info["illegal"].tolist() == [False, True, True]
    assert rewards[1].tolist() == [-1.0, 0.5, 0.5]


def test_seeds_and_positions():
    env = SelfPlayVectorEnv(Duel(), LANES)
    assert np.array_equal(env.reset(seed=1)[0], env.reset(seed=1)[0])
    assert np.array_equal(env.reset(seed=1)[0][1:], env.reset(seed=2)[0][:-1])
    assert len({str(lane) for lane in env.reset(seed=1)[0]}) > 5
    observation, info = env.reset(options={"position": "[[1, 2, 3], 1, 5]"})
    assert (observation[:, :, 0] == [2, 3, 1]).all()
    assert (info["current_player"] == 1).all()
    with pytest.raises(ValueError, match="num_envs"):
        SelfPlayVectorEnv(Duel(), 0)
    with pytest.raises(ValueError, match="do not fit"):
        env.step(np.zeros(3, int))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_and_pickles_in_the_middle_go_on_alike(copied):
    env = SelfPlayVectorEnv(Duel(), 3)
    told = run(env, 4)
    other = copied(env)
    actions = told[-1][4]["action_mask"].argmax(axis=1)
    for _ in range(8):
        one, two = env.step(actions), other.step(actions)
        for a, b in zip(one[:4], two[:4], strict=True):
            assert np.array_equal(a, b)
        actions = one[4]["action_mask"].argmax(axis=1)
    assert np.array_equal(env.reset()[0], other.reset()[0])
