"""RLlib (new API stack): PPO with its action-masking module, one shared policy for all seats."""

import argparse
from typing import Any

import gymnasium
import numpy as np
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from audamir_envs.bridges.pettingzoo import GameAEC, wrapped


class RLlibNames(BaseWrapper):
    """RLlib's masked module wants the keys ``observations`` and ``action_mask``, and its default network flat boxes."""

    def observation_space(self, agent: str) -> gymnasium.Space:
        """The same, named and shaped as RLlib has it."""
        space: Any = self.env.observation_space(agent)
        box = gymnasium.spaces.flatten_space(space["observation"])
        return gymnasium.spaces.Dict({"action_mask": space["action_mask"], "observations": box})

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """The same, named and shaped as RLlib has it."""
        seen: Any = self.env.observe(agent)
        return {"action_mask": seen["action_mask"], "observations": seen["observation"].reshape(-1)}


def config_for(env_id: str, options: dict[str, Any], batch: int = 2000, runners: int = 0) -> PPOConfig:
    """PPO for all seats of a game. Args: batch: steps an iteration; runners: processes that play, 0 for this one."""
    register_env(env_id, lambda config: PettingZooEnv(RLlibNames(wrapped(GameAEC(env_id, **options)))))
    return (
        PPOConfig()
        .environment(env_id)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda *arguments, **keywords: "shared")
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(
                rl_module_specs={
                    "shared": RLModuleSpec(
                        module_class=ActionMaskingTorchRLModule,
                        model_config={"fcnet_hiddens": [128], "head_fcnet_hiddens": []},
                    )
                }
            )
        )
        .env_runners(num_env_runners=runners, batch_mode="complete_episodes")
        .training(train_batch_size_per_learner=batch, minibatch_size=min(128, batch), num_epochs=2, gamma=1.0)
    )


def main() -> None:
    """Trains, printing episodes and losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--batch", type=int, default=2000)
    arguments = parser.parse_args()

    algorithm = config_for("colony-v0", {"max_turns": 100}, arguments.batch).build_algo()
    for iteration in range(arguments.iterations):
        result = algorithm.train()
        played, learned = result["env_runners"], result["learners"]["shared"]
        print(
            f"iteration {iteration}: {played['num_episodes']} games of {played['episode_len_mean']:.0f} steps, "
            f"loss {learned['total_loss']:.3f}, entropy {learned['entropy']:.2f}"
        )
    algorithm.stop()


if __name__ == "__main__":
    main()
