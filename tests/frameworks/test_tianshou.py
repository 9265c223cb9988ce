"""Tianshou: ``PettingZooEnv``, its collector and masked policies, one for each seat."""

import numpy as np
import pytest
from frameworks.games import GAMES, aec

torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/frameworks.md")
pytest.importorskip("tianshou", reason="Tianshou is not installed: see docs/frameworks.md")

from pettingzoo.utils import BaseWrapper  # noqa: E402
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy  # noqa: E402
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm  # noqa: E402
from tianshou.algorithm.optim import AdamOptimizerFactory  # noqa: E402
from tianshou.data import Collector, VectorReplayBuffer  # noqa: E402
from tianshou.env import DummyVectorEnv, PettingZooEnv  # noqa: E402
from tianshou.utils.net.common import Net  # noqa: E402

pytestmark = pytest.mark.frameworks

EPISODES, LANES = 200, 4


class Diary(BaseWrapper):
    """Writes down the actions and results of every finished game, as the environment itself says them."""

    def __init__(self, env):
        super().__init__(env)
        self.games = []

    def reset(self, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self._actions = []

    def step(self, action):
        self._actions.append(int(action))
        super().step(action)
        if all(self.env.terminations.values()) or all(self.env.truncations.values()):
            rewards = [self.env.rewards[agent] for agent in self.env.possible_agents]
            assert rewards == np.asarray(self.unwrapped.functional_state.rewards).tolist()
            self.games.append((self._actions, rewards, self.env.infos["player_0"]["illegal"]))


def learner(env):
    """A masked DQN for one seat."""
    space = env.observation_space["observation"]
    network = Net(state_shape=space.shape, action_shape=env.action_space.n, hidden_sizes=[32])
    policy = DiscreteQLearningPolicy(
        model=network, action_space=env.action_space, observation_space=space, eps_training=0.3, eps_inference=0.3
    )
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=100)


@pytest.mark.parametrize("game", GAMES)
def test_200_episodes(game):
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  the one that Tianshou explores with
    diaries = [Diary(aec(game)) for _ in range(LANES)]
    lanes = DummyVectorEnv([lambda diary=diary: PettingZooEnv(diary) for diary in diaries])
    env = PettingZooEnv(aec(game))
    seats = len(env.agents)
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=[learner(env) for _ in range(seats)], env=env)
    buffer = VectorReplayBuffer(EPISODES * 60, LANES)
    collector = Collector(algorithm.policy, lanes, buffer, exploration_noise=True)
    collector.reset(gym_reset_kwargs={"seed": 1})
    for diary in diaries:
        diary.games.clear()
    stats = collector.collect(n_episode=EPISODES)

    assert stats.n_collected_episodes == EPISODES
    assert stats.returns.shape == (EPISODES, seats)
    assert np.allclose(stats.returns.sum(axis=1), 0, atol=1e-6)
    played = buffer[:]
    assert played.obs.mask[np.arange(len(played)), played.act].all()
    for lane, diary in enumerate(diaries):
        part = buffer.buffers[lane][:]
        ends = np.flatnonzero(part.done)
        assert len(ends) == len(diary.games)
        for start, end, (actions, rewards, illegal) in zip([0, *ends[:-1] + 1], ends, diary.games, strict=True):
            assert not illegal
            assert part.act[start : end + 1].tolist() == actions
            assert part.rew[start : end + 1].sum(axis=0).tolist() == rewards
            assert not part.rew[start:end].any()
    assert sum(len(diary.games) for diary in diaries) == EPISODES
    returned = sorted(stats.returns.tolist())
    assert returned == sorted(rewards for diary in diaries for _, rewards, _ in diary.games)


def test_an_update_learns_from_every_seat():
    env = PettingZooEnv(aec("stigmergy-v0"))
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=[learner(env) for _ in env.agents], env=env)
    lanes = DummyVectorEnv([lambda: PettingZooEnv(aec("stigmergy-v0")) for _ in range(LANES)])
    buffer = VectorReplayBuffer(2000, LANES)
    collector = Collector(algorithm.policy, lanes, buffer, exploration_noise=True)
    collector.reset()
    collector.collect(n_episode=20)
    before = [parameter.detach().clone() for parameter in algorithm.parameters()]
    from tianshou.utils.torch_utils import policy_within_training_step

    with policy_within_training_step(algorithm.policy):
        stats = algorithm.update(buffer=buffer, sample_size=64)
    losses = stats.get_loss_stats_dict()
    assert {name.split("/")[0] for name in losses} == set(env.agents)
    assert np.isfinite(list(losses.values())).all()
    assert any(not torch.equal(old, new) for old, new in zip(before, algorithm.parameters(), strict=True))
