"""The batched Gymnasium environment on the toy games."""

import copy
import pickle

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from toy import Duel, First, Nim, Shooter

from audamir_envs.agents import RandomAgent, from_callable
from audamir_envs.agents.base import BatchAgent
from audamir_envs.bridges.gymnasium import SingleAgentEnv
from audamir_envs.bridges.vector import SingleAgentVectorEnv

NEXT, SAME = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP
FIRST, RANDOM, SHOOTER = First(), RandomAgent(), Shooter()
LANES = 20
GAMES = {"nim": (lambda: Nim(starter="random"), FIRST), "duel": (Duel, SHOOTER)}


def make(game, mode=NEXT, lanes=LANES, **settings):
    env, opponent = GAMES[game]
    return SingleAgentVectorEnv(env(), lanes, **{"opponent": opponent, "autoreset_mode": mode, **settings})


def last_legal(mask):
    """The legal action with the highest number: what the test's learners play."""
    mask = np.asarray(mask)
    return mask.shape[-1] - 1 - mask[..., ::-1].argmax(axis=-1)


def run(env, steps, seed=3):
    """[(observation, rewards, terminated, truncated, info)], the reset first."""
    observation, info = env.reset(seed=seed)
    nothing = np.zeros(env.num_envs)
    told = [(observation, nothing, nothing > 0, nothing > 0, info)]
    for _ in range(steps):
        told.append(env.step(last_legal(told[-1][4]["action_mask"])))
    return told


def episodes(told, mode):
    """For each lane the finished episodes: (reward, truncated, length, final observation, lives or stones left)."""
    lanes = len(told[0][1])
    found, lengths = [[] for _ in range(lanes)], np.zeros(lanes, int)
    waiting = np.zeros(lanes, bool)
    for observation, reward, terminated, truncated, info in told[1:]:
        lengths += ~waiting
        done = terminated | truncated
        assert not (waiting & done).any()
        assert not reward[~done].any()
        for lane in np.flatnonzero(done):
            final, facts = (observation, info) if mode is NEXT else (info["final_obs"], info["final_info"])
            fact = facts["left" if "left" in facts else "lives"][lane]
            found[lane].append((reward[lane], truncated[lane], lengths[lane], final[lane].tolist(), fact))
        lengths[done] = 0
        waiting = done if mode is NEXT else waiting
    return found


@pytest.fixture(scope="module", params=GAMES)
def runs(request):
    """The same seeds through both modes."""
    steps = 60
    return request.param, {mode: run(make(request.param, mode), steps) for mode in (NEXT, SAME)}


def test_both_modes_play_the_same_episodes(runs):
    _, told = runs
    after, at_once = (episodes(told[mode], mode) for mode in (NEXT, SAME))
    assert sum(map(len, after)) > 3 * LANES
    for one, other in zip(after, at_once, strict=True):
        assert len(other) >= len(one)
        assert other[: len(one)] == one


def test_lanes_play_what_the_single_environment_plays(runs):
    game, told = runs
    make_game, opponent = GAMES[game]
    single = SingleAgentEnv(make_game(), opponent=opponent)
    for lane in range(8):
        observation, info = single.reset(seed=3 + lane)
        if info["seat"] != 0 and game == "duel":
            continue  # the opponents have moved already, with dice of other keys
        outcome = (0.0, False, False)
        for step in told[NEXT]:
            assert np.array_equal(step[0][lane], observation)
            assert tuple(part[lane] for part in step[1:4]) == outcome
            assert np.array_equal(step[4]["action_mask"][lane], info["action_mask"])
            assert step[4]["seat"][lane] == info["seat"]
            if any(outcome[1:]) or game == "duel":
                break
            observation, *outcome, info = single.step(last_legal(info["action_mask"]))
            outcome = tuple(outcome)


def test_next_step_semantics(runs):
    _, told = runs
    before = told[NEXT][0]
    ended = 0
    for now in told[NEXT][1:]:
        waited = before[2] | before[3]
        ended += waited.sum()
        assert before[4]["action_mask"][waited].all()
        assert not (now[2] | now[3])[waited].any()
        assert not now[1][waited].any()
        before = now
    assert ended > LANES


def test_same_step_semantics(runs):
    _, told = runs
    renewed = 0
    for step in told[SAME][1:]:
        observation, _, terminated, truncated, info = step
        done = terminated | truncated
        assert ("final_obs" in info) == done.any()
        if not done.any():
            continue
        assert np.array_equal(info["_final_obs"], done)
        assert np.array_equal(info["_final_info"], done)
        final = info["final_info"]
        for name in ("action_mask", "seat", "illegal"):
            assert np.array_equal(final[f"_{name}"], done)
        assert final["action_mask"][done].all()
        for lane in range(LANES):
            assert (info["final_obs"][lane] is not None) == done[lane]
            if done[lane]:
                assert info["final_obs"][lane].dtype == np.float32
                renewed += not np.array_equal(info["final_obs"][lane], observation[lane])
    assert renewed > LANES


def test_spaces_and_types(runs):
    game, told = runs
    env = make(game)
    for observation, reward, terminated, truncated, info in told[NEXT][1:]:
        assert observation in env.observation_space
        assert reward.shape == terminated.shape == truncated.shape == (LANES,)
        assert terminated.dtype == truncated.dtype == np.bool_
        assert info["action_mask"].dtype == np.int8
        assert info["action_mask"].any(axis=1).all()
        for name, values in info.items():
            assert len(values) == LANES, name
            assert name.startswith("_") or f"_{name}" in info
    assert env.metadata["autoreset_mode"] is NEXT
    assert make(game, "SAME_STEP").metadata["autoreset_mode"] is SAME


def test_arrays_are_the_callers_own(runs):
    for told in runs[1].values():
        arrays = [
            array for step in told[:12] for array in (*step[:4], *step[4].values()) if isinstance(array, np.ndarray)
        ]
        assert all(array.flags.writeable for array in arrays)
        assert not any(np.shares_memory(a, b) for n, a in enumerate(arrays) for b in arrays[:n])


def test_lanes_do_not_depend_on_the_number_of_lanes(runs):
    game, told = runs
    few = run(make(game, SAME, lanes=3), 12)
    for small, large in zip(few, told[SAME], strict=False):
        for lane in range(3):
            assert np.array_equal(small[0][lane], large[0][lane])
            assert small[1][lane] == large[1][lane]


def test_device_outputs_are_the_same_and_stay(runs):
    game, told = runs
    env = make(game, SAME, device_outputs=True)
    kept = run(env, 12)
    for step, on_host in zip(kept, told[SAME], strict=False):
        for array, expected in zip(step[:4], on_host[:4], strict=True):
            assert np.array_equal(array, expected)
        assert isinstance(step[0], jax.Array)
        assert step[0].dtype == jnp.float32
        assert isinstance(step[4]["action_mask"], jax.Array)
        assert np.array_equal(step[4]["action_mask"], on_host[4]["action_mask"])
        for lane in np.flatnonzero(on_host[2] | on_host[3]):
            assert np.array_equal(step[4]["final_obs"][lane], on_host[4]["final_obs"][lane])


@pytest.mark.parametrize("mode", [NEXT, SAME])
def test_gymnasiums_statistics_are_exact(runs, mode):
    game, told = runs
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(make(game, mode))
    wanted = [[(one[0], one[2]) for one in lane] for lane in episodes(told[mode], mode)]
    counted = [[] for _ in range(LANES)]
    for *_, info in run(env, 60)[1:]:
        for lane in np.flatnonzero(info.get("_episode", np.zeros(LANES))):
            counted[lane].append((info["episode"]["r"][lane], info["episode"]["l"][lane]))
    assert counted == wanted


@pytest.mark.parametrize("mode", [NEXT, SAME])
@pytest.mark.parametrize("action", [0, -1, 4, 2**40])
def test_an_illegal_action_ends_its_lane_alone(mode, action):
    env = make("duel", mode, seat=0)  # action 0 shoots at itself
    _, info = env.reset(seed=0)
    actions = last_legal(info["action_mask"])
    actions[5] = action
    _, reward, terminated, _, info = env.step(actions)
    facts = info if mode is NEXT else info["final_info"]
    assert np.flatnonzero(facts["illegal"]).tolist() == [5]
    assert reward[5] == -1
    assert terminated[5]
    assert (reward[np.arange(LANES) != 5] >= -0.5).all()


def test_seeds():
    def start(seed):
        return env.reset(seed=seed)[0].tolist()

    env = make("duel", seat=0)
    assert start(1) == start(1)
    assert start(1) != start(2)
    assert start(1)[1:] == start(2)[:-1]  # lane i is seeded by seed + i
    assert start(list(range(1, LANES + 1))) == start(1)
    assert len({str(lane) for lane in start(1)}) > 5
    env.reset(seed=4)
    first = [env.reset()[0].tolist() for _ in range(2)]
    env.reset(seed=4)
    assert first == [env.reset()[0].tolist() for _ in range(2)]
    assert first[0] != first[1]
    with pytest.raises(ValueError, match="2 seeds do not fit num_envs=20"):
        env.reset(seed=[1, 2])


def test_positions():
    env = make("duel")
    observation, info = env.reset(seed=0, options={"position": "[[0, 3, 3], 1, 5]", "unknown": 1})
    assert set(info["seat"]) == {1, 2}
    assert not observation[np.arange(LANES), (0 - info["seat"]) % 3, 0].any()
    with pytest.raises(ValueError, match="the game is over"):
        env.reset(options={"position": "[[0, 0, 3], 2, 5]"})


@pytest.mark.parametrize("mode", [NEXT, SAME])
def test_episodes_lost_before_the_first_turn_are_counted(mode):
    env = make("duel", mode, lanes=64, seat=1)  # player_0 shoots first, and player_1 may have one life only
    observation, info = env.reset(seed=0)
    lost = observation[:, 0, 0] == 0
    assert lost.any()
    assert info["action_mask"][lost].all()
    _, reward, terminated, *_ = env.step(last_legal(info["action_mask"]))
    assert (reward[lost] == -0.5).all()
    assert terminated[lost].all()


@pytest.mark.parametrize("mode", [NEXT, SAME])
def test_opponents_outside_jax_play_the_same(mode):
    outside = from_callable(lambda observation, action_mask: action_mask.argmax(axis=1), "numpy-first")
    one, other = run(make("nim", mode), 20), run(make("nim", mode, opponent=outside), 20)
    for left, right in zip(one, other, strict=True):
        for name in range(4):
            assert np.array_equal(left[name], right[name])
        assert np.array_equal(left[4]["action_mask"], right[4]["action_mask"])


def test_one_opponent_a_seat_and_agents_without_batches():
    class Waiter:
        name = "waiter"

        def act(self, state, key):
            return jnp.int32(3)

    env = make("duel", opponent=[SHOOTER, Waiter()], seat=1)
    _, info = env.reset(seed=0, options={"position": "[[3, 3, 3], 1, 0]"})
    assert (info["seat"] == 1).all()
    observation, *_ = env.step(np.full(LANES, 3))  # player_2 shoots at player_0, who waits
    mine, following, before = observation[:, 0, 0], observation[:, 1, 0], observation[:, 2, 0]
    assert (mine == 3).all()
    assert (following == 3).all()
    assert set(before) == {2, 3}


@pytest.mark.parametrize("device_outputs", [False, True])
def test_an_opponents_illegal_action_is_an_error(device_outputs):
    class Cheat(BatchAgent):
        name = "cheat"

        def act(self, state, key):
            return jnp.int32(-1)

    env = make("nim", opponent=Cheat(), seat=0, device_outputs=device_outputs)
    _, info = env.reset(seed=0)
    actions = last_legal(info["action_mask"])
    if device_outputs:
        env.step(actions)  # here it is seen at the next step, so that no step waits
    with pytest.raises(RuntimeError, match="cheat"):
        env.step(actions)


def test_actions_of_every_kind():
    env = make("nim", device_outputs=True)
    _, info = env.reset(seed=0)
    actions = last_legal(info["action_mask"])
    for form in (
        actions,
        actions.astype(np.int32),
        actions.tolist(),
        jnp.asarray(actions),
        jnp.asarray(actions, jnp.int16),
    ):
        env.step(form)
    with pytest.raises(ValueError, match="num_envs=20"):
        env.step(actions[:3])
    with pytest.raises(TypeError, match="integers"):
        env.step(actions.astype(np.float32))


def test_bad_arguments():
    for bad in (AutoresetMode.DISABLED, "Later", 3):
        with pytest.raises(ValueError, match="NEXT_STEP or SAME_STEP"):
            make("nim", bad)
    for bad in (0, -1, 1.5):
        with pytest.raises(ValueError, match="num_envs"):
            make("nim", lanes=bad)
    with pytest.raises(gymnasium.error.ResetNeeded):
        make("nim").step(np.zeros(LANES, int))


def test_action_masks():
    env = make("nim")
    _, info = env.reset(seed=0)
    assert env.action_masks().dtype == np.bool_
    assert np.array_equal(env.action_masks(), info["action_mask"])
    assert env.action_masks() is not env.action_masks()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("settings", [{"mode": NEXT}, {"mode": SAME, "device_outputs": True}])
def test_copies_and_pickles_in_the_middle_go_on_alike(copied, settings):
    env = make("duel", lanes=3, **settings)
    told = run(env, 4)
    other = copied(env)
    actions = last_legal(told[-1][4]["action_mask"])
    for _ in range(8):
        one, two = env.step(actions), other.step(actions)
        for a, b in zip(one[:4], two[:4], strict=True):
            assert np.array_equal(a, b)
        actions = last_legal(one[4]["action_mask"])
    assert np.array_equal(env.reset()[0], other.reset()[0])


def test_actions_beyond_int32_are_illegal_and_do_not_wrap_round():
    env = make("nim", lanes=2)
    env.reset(seed=0)
    assert env.action_masks()[:, 0].all()
    _, rewards, terminated, _, info = env.step(np.array([2**32, -(2**32)]))
    assert rewards.tolist() == [-1, -1]
    assert terminated.all()
    assert info["illegal"].all()


def test_numbers_of_numpy_are_numbers():
    env = make("nim", lanes=np.int64(2), seat=np.int64(1))
    assert env.reset(seed=0)[1]["seat"].tolist() == [1, 1]
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(ValueError, match="use an integer from 1"):
            make("nim", lanes=wrong)
        with pytest.raises(ValueError, match="use 'random' or an integer from 0 to 1"):
            make("nim", seat=wrong)
