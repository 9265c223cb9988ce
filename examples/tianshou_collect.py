"""Tianshou: its collector plays whole games with a masked DQN for each seat, which then learn from the buffer."""

import argparse

from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step

from audamir_envs import colony_v0


def make() -> PettingZooEnv:
    """One game; observation and mask are where Tianshou looks for them."""
    return PettingZooEnv(colony_v0.env(max_turns=100))


def learner(env: PettingZooEnv) -> DQN:
    """A masked DQN for one seat."""
    space = env.observation_space["observation"]
    network = Net(state_shape=space.shape, action_shape=env.action_space.n, hidden_sizes=[128])
    policy = DiscreteQLearningPolicy(
        model=network, action_space=env.action_space, observation_space=space, eps_training=0.2, eps_inference=0.2
    )
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=200)


def main() -> None:
    """Collects, learns, and prints the mean return of each seat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--games", type=int, default=20, help="games for each round")
    parser.add_argument("--updates", type=int, default=20, help="updates for each round")
    arguments = parser.parse_args()

    env, lanes = make(), 4
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=[learner(env) for _ in env.agents], env=env)
    buffer = VectorReplayBuffer(8000, lanes)
    collector = Collector(algorithm.policy, DummyVectorEnv([make] * lanes), buffer, exploration_noise=True)
    collector.reset()
    for number in range(arguments.rounds):
        played = collector.collect(n_episode=arguments.games)
        with policy_within_training_step(algorithm.policy):
            for _ in range(arguments.updates):
                losses = algorithm.update(buffer=buffer, sample_size=64).get_loss_stats_dict()
        returns = " ".join(f"{mean:+.2f}" for mean in played.returns.mean(axis=0))
        print(f"round {number}: {played.n_collected_episodes} games, returns by seat {returns}, losses {losses}")


if __name__ == "__main__":
    main()
