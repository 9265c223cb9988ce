"""sb3-contrib: MaskablePPO learns Colony against a level, and is then put into the arena."""

import argparse

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import audamir_envs
from audamir_envs import agents, arena


class Pieces(gymnasium.Wrapper):
    """Rewards pieces won too: a random player all but never beats a level, so results alone teach too slowly."""

    def reset(self, **arguments):
        """As the environment's."""
        observation, info = self.env.reset(**arguments)
        self._pieces = info["pieces"]
        return observation, info

    def step(self, action):
        """As the environment's, with another reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        gained, self._pieces = info["pieces"] - self._pieces, info["pieces"]
        return observation, reward + 0.05 * gained, terminated, truncated, info


def main() -> None:
    """Learns, and prints the scores before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--games", type=int, default=200, help="games of each evaluation")
    parser.add_argument("--opponent", default="weak")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    # The observation is a Box, and the mask is found through wrappers by action_masks().
    lanes = make_vec_env(
        "audamir_envs/Colony-v0", n_envs=8, seed=0, wrapper_class=Pieces, env_kwargs={"opponent": arguments.opponent}
    )
    model = MaskablePPO(
        "MlpPolicy",
        lanes,
        n_steps=128,
        batch_size=256,
        n_epochs=8,
        learning_rate=1e-3,
        gamma=0.9,
        policy_kwargs={"net_arch": [256]},
        seed=0,
    )
    colony = audamir_envs.make("colony-v0")
    policy = agents.from_callable(
        lambda seen, mask: model.predict(seen, action_masks=mask, deterministic=True)[0], name="maskable-ppo"
    )
    print(arena.evaluate(colony, [policy, arguments.opponent], games=arguments.games))
    model.learn(arguments.steps)
    print(arena.evaluate(colony, [policy, arguments.opponent], games=arguments.games))


if __name__ == "__main__":
    main()
