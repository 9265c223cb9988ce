"""The single Gymnasium environment on the toy games."""

import copy
import pickle

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from toy import Duel, First, Nim, Shooter

from audamir_envs.agents import RandomAgent, from_callable
from audamir_envs.agents.base import BatchAgent
from audamir_envs.bridges.gymnasium import SingleAgentEnv

FIRST, RANDOM, SHOOTER = First(), RandomAgent(), Shooter()
NUMPY_FIRST = from_callable(lambda observation, action_mask: action_mask.argmax(axis=1), "numpy-first")


@pytest.fixture(params=[Nim, Duel])
def env(request):
    return SingleAgentEnv(request.param(), opponent=RANDOM)


def play(env, seed, **reset):
    """One episode of random legal play: all that step() gave."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed, **reset)
    steps = []
    while not steps or not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(int(rng.choice(np.flatnonzero(info["action_mask"])))))
        info = steps[-1][4]
    return steps


@pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes")
def test_gymnasiums_own_check(env):
    check_env(env)


def test_what_step_gives(env):
    for seed in range(10):
        steps = play(env, seed)
        for observation, reward, terminated, truncated, info in steps[:-1]:
            assert observation in env.observation_space
            assert (reward, terminated, truncated) == (0.0, False, False)
            assert set(info) == set(steps[-1][4]) >= {"action_mask", "seat", "illegal"}
            assert info["action_mask"].dtype == np.int8
            assert info["action_mask"].any()
            assert env.action_space.sample(info["action_mask"]) in np.flatnonzero(info["action_mask"])
        observation, reward, terminated, truncated, info = steps[-1]
        assert observation in env.observation_space
        assert type(reward) is float
        assert type(terminated) is bool
        assert type(truncated) is bool
        assert info["action_mask"].all()
        assert env.action_masks().dtype == np.bool_
        assert env.action_masks().all()
        assert not info["illegal"]


def test_a_game_of_nim_by_hand():
    env = SingleAgentEnv(Nim(), opponent=FIRST, seat=0)
    observation, info = env.reset(seed=0)
    assert info["seat"] == 0
    assert observation.tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 0]]
    assert np.array_equal(info["action_mask"], env.action_masks())
    observation, reward, *_ = env.step(2)  # the whole first heap; the opponent takes one of the second
    assert observation.tolist() == [[0, 0, 0], [1, 0, 0], [1, 0, 0]]
    assert reward == 0.0
    assert env.game.to_text(env.functional_state) == "0 1 1 0"
    observation, reward, terminated, _, info = env.step(3)
    assert (reward, terminated) == (-1.0, True)  # the opponent took the last one
    assert (info["left"], info["place"], info["faced"]) == (0, 0, 1)
    assert not observation.any() or env.functional_state.current_player == 0
    again = env.step(0)
    assert again[1:4] == (0.0, True, False)


def test_the_second_seat_is_answered_first():
    env = SingleAgentEnv(Nim(), opponent=FIRST, seat=1)
    observation, info = env.reset(seed=0)
    assert info["seat"] == 1
    assert observation.tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 0]]


def test_random_seats_are_all_taken():
    env = SingleAgentEnv(Duel(), opponent=SHOOTER)
    seats = [env.reset(seed=seed)[1]["seat"] for seed in range(60)]
    assert min(seats.count(seat) for seat in range(3)) >= 10


@pytest.mark.parametrize("action", [0, -1, 4, 10**30])
def test_an_illegal_action_ends_the_episode(action):
    env = SingleAgentEnv(Duel(), opponent=RANDOM, seat=0)  # action 0 shoots at itself
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["illegal"]) == (-1.0, True, False, True)
    assert info["action_mask"].all()
    assert env.step(3)[1:4] == (0.0, True, False)


def test_an_eliminated_learner_ends_the_episode_while_the_game_goes_on():
    env = SingleAgentEnv(Duel(), opponent=SHOOTER, seat=0)
    early = 0
    for seed in range(30):
        *_, (_, reward, terminated, truncated, info) = play(env, seed)
        state = env.functional_state
        if info["lives"] == 0:
            early += not bool(state.terminated)
            assert (reward, terminated, truncated) == (-0.5, True, False)
    assert early > 0


def test_an_episode_lost_before_the_first_turn_ends_at_the_first_step():
    env = SingleAgentEnv(Duel(), opponent=SHOOTER, seat=1)
    lost = 0
    for seed in range(200):  # player_0 shoots first, and player_1 may have one life only
        observation, info = env.reset(seed=seed)
        if not observation[0, 0]:
            lost += 1
            assert info["action_mask"].all()
            assert env.step(2)[1:4] == (-0.5, True, False)
            assert env.step(2)[1:4] == (0.0, True, False)
    assert lost > 0


def test_truncation():
    env = SingleAgentEnv(Duel(max_rounds=1), opponent=SHOOTER, seat=0)
    env.reset(seed=0)
    assert env.step(3)[2:4] == (False, True)


def test_one_opponent_a_seat():
    class Waiter(BatchAgent):
        name = "waiter"

        def act(self, state, key):
            return jnp.int32(3)

    env = SingleAgentEnv(Duel(), opponent=[SHOOTER, Waiter()], seat=1)
    # After player_1 come player_2, who shoots at player_0, and player_0, who waits.
    env.reset(seed=0, options={"position": "[[3, 3, 3], 1, 0]"})
    lives = [3, 3, 3]
    while lives[0] == 3:
        env.step(3)
        lives = np.asarray(env.functional_state.game.lives).tolist()
    assert lives == [2, 3, 3]


@pytest.mark.parametrize("game", [Nim, Duel])
def test_opponents_outside_jax_play_the_same(game):
    inside, outside = (SingleAgentEnv(game(), opponent=one, seat=0) for one in (FIRST, NUMPY_FIRST))
    for seed in range(5):
        left, right = play(inside, seed), play(outside, seed)
        if game is Nim:
            assert len(left) == len(right)
            for one, other in zip(left, right, strict=True):
                assert np.array_equal(one[0], other[0])
                assert one[1:4] == other[1:4]


def test_an_opponents_illegal_action_is_an_error():
    class Cheat(BatchAgent):
        name = "cheat"

        def act(self, state, key):
            return jnp.int32(-1)

    env = SingleAgentEnv(Nim(), opponent=Cheat(), seat=0)
    env.reset()
    with pytest.raises(RuntimeError, match="cheat"):
        env.step(0)
    outside = from_callable(lambda observation, action_mask: np.full(len(action_mask), 99), "outsider")
    env = SingleAgentEnv(Nim(), opponent=outside, seat=0)
    env.reset()
    with pytest.raises(ValueError, match="outsider"):
        env.step(0)


@pytest.mark.parametrize("double", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_copies_continue_identically(env, double):
    _, info = env.reset(seed=2)
    action = int(np.flatnonzero(info["action_mask"])[0])
    twin = double(env)
    for one, other in [(env.step(action), twin.step(action)), (env.reset(), twin.reset())]:
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[-1]["action_mask"], other[-1]["action_mask"])
        assert one[1:-1] == other[1:-1]


def test_seeds(env):
    one, other = play(env, 7), play(env, 7)
    assert [step[1:4] for step in one] == [step[1:4] for step in other]
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(one, other, strict=True))


def test_positions():
    env = SingleAgentEnv(Duel(), opponent=SHOOTER, seat=0)
    observation, _ = env.reset(options={"position": "[[1, 2, 3], 0, 5]", "unknown": 1})
    assert observation[:, 0].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="seat 0 is out of the game"):
        env.reset(options={"position": "[[0, 2, 3], 1, 5]"})
    anywhere = SingleAgentEnv(Duel(), opponent=SHOOTER)
    seats = {anywhere.reset(seed=seed, options={"position": "[[0, 2, 3], 1, 5]"})[1]["seat"] for seed in range(12)}
    assert seats == {1, 2}


def test_bad_arguments():
    for bad in (3, -1, True, "first", 0.0):
        with pytest.raises(ValueError, match="'random' or an integer from 0 to 2"):
            SingleAgentEnv(Duel(), opponent=RANDOM, seat=bad)
    with pytest.raises(ValueError, match="3 opponents do not fit 3 players"):
        SingleAgentEnv(Duel(), opponent=[RANDOM] * 3)
    with pytest.raises(TypeError, match="no agent"):
        SingleAgentEnv(Duel(), opponent=3)
    with pytest.raises(ValueError, match="render_mode"):
        SingleAgentEnv(Duel(), opponent=RANDOM, render_mode="video")
    env = SingleAgentEnv(Duel(), opponent=RANDOM)
    env.reset()
    with pytest.raises(TypeError):
        env.step(0.5)


def test_rendering(capsys):
    env = SingleAgentEnv(Nim(), opponent=FIRST, seat=0, render_mode="human")
    env.reset()
    env.step(0)
    assert env.render() is None
    assert capsys.readouterr().out
    for mode, kind in [("rgb_array", np.ndarray), ("ansi", str), ("svg", str)]:
        env = SingleAgentEnv(Nim(), opponent=FIRST, render_mode=mode)
        env.reset()
        assert isinstance(env.render(), kind)
        env.close()


def test_wrappers_find_the_mask(env):
    wrapped = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.TimeLimit(env, 50))
    wrapped.reset(seed=0)
    assert wrapped.get_wrapper_attr("action_masks")().any()


def test_before_the_first_reset_there_is_no_game():
    env = SingleAgentEnv(Nim(), opponent=FIRST, render_mode="ansi")
    for early in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(gymnasium.error.ResetNeeded):
            early()
    env.reset(seed=0)
    assert env.action_masks().any()
