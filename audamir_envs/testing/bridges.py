"""Every game through PettingZoo and Gymnasium; one case of a game will do, as this code does not depend on it."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, render_test, seed_test

from audamir_envs.agents import RandomAgent
from audamir_envs.bridges.gymnasium import SingleAgentEnv
from audamir_envs.bridges.pettingzoo import GameAEC, wrapped
from audamir_envs.bridges.selfplay import SelfPlayVectorEnv
from audamir_envs.bridges.vector import SingleAgentVectorEnv
from audamir_envs.testing.cases import LANES, Case, Checks, environment

RANDOM = RandomAgent()


def aec(case: Case, render_mode: str | None = None) -> Any:
    """The game as PettingZoo has it."""
    return wrapped(GameAEC(environment(case), render_mode))


@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array")
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be gymnasium.spaces.box")
class PettingZoo(Checks):
    """The game through PettingZoo, by its own checks and by ours."""

    def test_api(self, case, capsys):
        api_test(aec(case), num_cycles=40)
        assert "Passed" in capsys.readouterr().out

    def test_seed(self, case):
        seed_test(lambda: aec(case), num_cycles=15)

    def test_render(self, case, capsys):
        render_test(lambda render_mode=None: aec(case, render_mode))
        assert capsys.readouterr().out

    def test_a_game_to_its_end(self, case):
        env, game = aec(case), environment(case)
        rng = np.random.default_rng(0)
        env.reset(seed=11)
        returns = {}
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            over = terminated or truncated
            assert env.observation_space(agent).contains(observation)
            assert np.array_equal(observation["action_mask"], info["action_mask"])
            assert observation["action_mask"].any() != over
            if over:
                returns[agent] = reward
            env.step(None if over else int(rng.choice(np.flatnonzero(info["action_mask"]))))
        state = env.unwrapped.functional_state
        assert bool(state.terminated | state.truncated)
        assert returns == dict(zip(env.possible_agents, np.asarray(state.rewards).tolist(), strict=True))
        assert sum(returns.values()) == pytest.approx(0, abs=1e-6)
        for agent in env.possible_agents:
            after = env.observe(agent)
            assert after in env.observation_space(agent)
            assert not after["action_mask"].any()
        assert len(returns) == game.num_players

    def test_copies(self, case):
        env = aec(case)
        env.reset(seed=2)
        for _ in range(4):
            env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
        twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
        for _ in range(8):
            mask = env.last()[0]["action_mask"]
            if not mask.any():
                break
            action = int(np.flatnonzero(mask)[-1])
            env.step(action)
            for twin in twins:
                twin.step(action)
                assert twin.agent_selection == env.agent_selection
                for part in ("observation", "action_mask"):
                    assert np.array_equal(twin.last()[0][part], env.last()[0][part])

    def test_positions(self, case):
        env, game = aec(case), environment(case)
        env.reset(seed=2)
        for _ in range(3):
            env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
        text = game.to_text(env.unwrapped.functional_state)
        seen = env.last()[0]
        env.reset(seed=5, options={"position": text})
        assert game.to_text(env.unwrapped.functional_state) == text
        for part in ("observation", "action_mask"):
            assert np.array_equal(env.last()[0][part], seen[part])


class Gymnasium(Checks):
    """The game through Gymnasium: single, in lanes, and by self-play."""

    @pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes")
    def test_own_check(self, case):
        check_env(SingleAgentEnv(environment(case), opponent=RANDOM))

    def test_episodes(self, case):
        env = SingleAgentEnv(environment(case), opponent=RANDOM)
        rng = np.random.default_rng(0)
        for seed in range(2):
            observation, info = env.reset(seed=seed)
            terminated = truncated = False
            while not (terminated or truncated):
                assert observation in env.observation_space
                assert np.array_equal(info["action_mask"], env.action_masks())
                observation, reward, terminated, truncated, info = env.step(
                    int(rng.choice(np.flatnonzero(info["action_mask"])))
                )
                assert not info["illegal"]
                assert (reward == 0) or terminated or truncated
            assert info["action_mask"].all()
            assert -1 <= reward <= 1

    def test_illegal(self, case):
        env = SingleAgentEnv(environment(case), opponent=RANDOM)
        _, info = env.reset(seed=0)
        illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
        _, reward, terminated, truncated, info = env.step(illegal)
        assert (reward, terminated, truncated, info["illegal"]) == (-1.0, True, False, True)

    def test_lanes(self, case):
        mode = "SAME_STEP" if environment(case).stochastic else "NEXT_STEP"  # the toys are played in both
        env = SingleAgentVectorEnv(environment(case), LANES, opponent=RANDOM, autoreset_mode=mode)
        rng = np.random.default_rng(0)
        observation, info = env.reset(seed=0)
        assert len({lane.tobytes() for lane in observation}) > 1  # another seat, another opponent's move or another map
        waiting = np.zeros(LANES, bool)
        for _ in range(25):
            mask = info["action_mask"]
            assert observation in env.observation_space
            assert mask[waiting].all()
            actions = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
            observation, reward, terminated, truncated, info = env.step(actions)
            done = terminated | truncated
            assert not (done & waiting).any()
            assert not reward[~done].any()
            assert not info["illegal"].any()
            if mode == "NEXT_STEP":
                waiting = done
            else:
                assert ("final_obs" in info) == done.any()
                assert all(info["final_obs"][lane] in env.single_observation_space for lane in np.flatnonzero(done))
        env.reset(seed=0)
        again = env.reset(seed=0)[0]
        assert np.array_equal(again, env.reset(seed=0)[0])

    def test_self_play(self, case):
        env = SelfPlayVectorEnv(environment(case), LANES)
        rng = np.random.default_rng(0)
        observation, info = env.reset(seed=0)
        for _ in range(25):
            assert observation in env.observation_space
            actions = np.array([rng.choice(np.flatnonzero(row)) for row in info["action_mask"]])
            observation, rewards, terminated, truncated, info = env.step(actions)
            assert np.allclose(rewards.sum(axis=1), 0, atol=1e-6)
            assert not rewards[~(terminated | truncated)].any()
            assert not info["illegal"].any()
