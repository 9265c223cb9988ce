"""AgileRL: its PPO takes the mask from ``info`` of the batched Gymnasium environment."""

import argparse

import gymnasium
import numpy as np
from agilerl.algorithms import PPO
from agilerl.rollouts.on_policy import collect_rollouts

import audamir_envs  # noqa: F401  registers the environments


class Flat(gymnasium.vector.VectorWrapper):
    """Observations as vectors, for AgileRL's default networks (Gymnasium's own wrapper does not do it in SAME_STEP)."""

    def __init__(self, env: gymnasium.vector.VectorEnv) -> None:
        super().__init__(env)
        self.single_observation_space = gymnasium.spaces.flatten_space(env.single_observation_space)

    def reset(self, **arguments):
        """As the environment's."""
        observation, info = self.env.reset(**arguments)
        return observation.reshape(self.num_envs, -1), info

    def step(self, actions):
        """As the environment's."""
        observation, *rest = self.env.step(actions)
        return observation.reshape(self.num_envs, -1), *rest


def main() -> None:
    """Learns Colony against a level, printing the mean return of the games of each iteration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--steps", type=int, default=64, help="steps of each environment for each iteration")
    parser.add_argument("--envs", type=int, default=16)
    arguments = parser.parse_args()

    env = gymnasium.make_vec(
        "audamir_envs/Colony-v0",
        num_envs=arguments.envs,
        vectorization_mode="vector_entry_point",
        opponent="weak",
        autoreset_mode="SAME_STEP",  # the other mode has steps that only reset, which AgileRL would learn from
    )
    env = Flat(env)
    agent = PPO(
        env.single_observation_space,
        env.single_action_space,
        net_config={"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [64]}},
        num_envs=arguments.envs,
        learn_step=arguments.steps * arguments.envs,
        batch_size=256,
        lr=1e-3,
        gamma=1.0,
    )
    where: tuple = ()
    for iteration in range(arguments.iterations):
        names = ("last_obs", "last_done", "last_scores", "last_info")
        returns, *where = collect_rollouts(agent, env, arguments.steps, **dict(zip(names, where, strict=False)))
        agent.learn()
        mean = np.mean(returns) if returns else float("nan")
        print(f"iteration {iteration}: {len(returns)} games, mean return {mean:+.2f}")


if __name__ == "__main__":
    main()
