"""SuperSuit and PettingZoo's conversions: turn-based games as parallel and as vector environments."""

import numpy as np
import pytest
from frameworks.games import GAMES, aec, random_actions, replay
from pettingzoo.test import parallel_api_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

supersuit = pytest.importorskip("supersuit", reason="SuperSuit is not installed: see docs/frameworks.md")

pytestmark = pytest.mark.frameworks

every_game = pytest.mark.parametrize("game", GAMES)


@every_game
def test_as_a_parallel_environment(game):
    ours, parallel = aec(game), turn_based_aec_to_parallel(aec(game))
    for seed in range(5):
        ours.reset(seed=seed)
        actions = random_actions(ours, np.random.default_rng(seed))
        ours.reset(seed=seed)
        observations, infos = parallel.reset(seed=seed)
        for ply in replay(ours, actions):
            assert parallel.agents == parallel.possible_agents
            for agent in parallel.agents:
                assert np.array_equal(observations[agent]["observation"], ply.observations[agent])
                assert np.array_equal(observations[agent]["action_mask"], infos[agent]["action_mask"])
                assert observations[agent]["action_mask"].any() == (agent == ply.mover)
            assert np.array_equal(observations[ply.mover]["action_mask"], ply.mask)
            given = dict.fromkeys(parallel.agents, 0) | {ply.mover: ply.action}
            observations, rewards, terminated, truncated, infos = parallel.step(given)
            assert rewards == ply.rewards
            assert set(terminated.values()) == {ply.terminated}
            assert set(truncated.values()) == {ply.truncated}
        assert not parallel.agents


@every_game
def test_vectorised(game):
    """Lanes of all games and agents: the one that may act is the one whose mask is not empty."""
    games, agents = 3, len(aec(game).possible_agents)
    one = supersuit.pettingzoo_env_to_vec_env_v1(turn_based_aec_to_parallel(aec(game)))
    env = supersuit.concat_vec_envs_v1(one, games, num_cpus=0, base_class="gymnasium")
    assert env.num_envs == games * agents
    rng = np.random.default_rng(0)
    observations, _ = env.reset(seed=7)
    played = [[] for _ in range(games)]
    ours = [aec(game) for _ in range(games)]
    for number, single in enumerate(ours):
        single.reset(seed=7 + number)
    ended = 0
    for _ in range(150):
        masks = observations["action_mask"].reshape(games, agents, -1)
        assert (masks.any(axis=2).sum(axis=1) == 1).all()
        movers = masks.any(axis=2).argmax(axis=1)
        actions = np.zeros((games, agents), int)
        for number, mover in enumerate(movers):
            actions[number, mover] = rng.choice(np.flatnonzero(masks[number, mover]))
            played[number].append(int(actions[number, mover]))
        observations, rewards, terminated, truncated, infos = env.step(actions.reshape(-1))
        done = (terminated | truncated).reshape(games, agents).astype(bool)
        assert (done.all(axis=1) == done.any(axis=1)).all()
        for number in np.flatnonzero(done.all(axis=1)):
            ended += 1
            plies = replay(ours[number], played[number])
            assert rewards.reshape(games, agents)[number].tolist() == list(map(np.float32, plies[-1].rewards.values()))
            for seat, agent in enumerate(ours[number].possible_agents):
                final = infos[number * agents + seat]["terminal_observation"]["observation"]
                assert np.array_equal(final, ours[number].observe(agent)["observation"])
            ours[number].reset()
            played[number] = []
    assert ended >= games


@every_game
def test_parallel_api(game):
    parallel_api_test(turn_based_aec_to_parallel(aec(game)), num_cycles=100)


def test_other_wrappers_of_supersuit():
    """Those that leave observations alone work; those for Box observations alone do not (SuperSuit's issue 145)."""
    env = supersuit.clip_reward_v0(aec("stigmergy-v0"), -0.5, 0.5)
    env.reset(seed=0)
    random_actions(env, np.random.default_rng(0))
    assert sorted(env.rewards.values()) == [-0.5, 0.5]
    with pytest.raises(AttributeError, match="'Dict' object has no attribute 'low'"):
        supersuit.flatten_v0(aec("stigmergy-v0"))
    with pytest.raises(AttributeError, match="'Dict' object has no attribute 'low'"):
        supersuit.dtype_v0(aec("stigmergy-v0"), np.float32)
