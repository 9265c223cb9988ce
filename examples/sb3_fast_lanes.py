"""MaskablePPO on many games in one jitted call, beside the same on Stable-Baselines3's own lanes.

python examples/sb3_fast_lanes.py --lanes 64
"""

import argparse
import time

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.env_util import make_vec_env as one_by_one

from audamir_envs.bridges.stable_baselines3 import make_vec_env


def steps_a_second(lanes, steps: int) -> float:
    """Steps of all lanes together, with random legal actions and masks, as a learner asks for them."""
    rng = np.random.default_rng(0)
    lanes.reset()
    for number in range(steps + 2):
        if number == 2:  # compiled
            start = time.perf_counter()
        masks = get_action_masks(lanes)
        lanes.step((rng.random(masks.shape) * masks).argmax(axis=1))
    return steps * lanes.num_envs / (time.perf_counter() - start)


def main() -> None:
    """Measures both, then learns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="colony-v0")
    parser.add_argument("--opponent", default="weak")
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--measure", type=int, default=200, help="steps of each lane that are timed")
    parser.add_argument("--steps", type=int, default=50_000, help="steps of learning")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lanes = make_vec_env(arguments.env, arguments.lanes, opponent=arguments.opponent, seed=0)
    slow = one_by_one(
        f"audamir_envs/{arguments.env.capitalize()}", n_envs=8, env_kwargs={"opponent": arguments.opponent}
    )
    for name, kind in (("Stable-Baselines3's own", slow), ("in one call", lanes)):
        print(f"{name}, {kind.num_envs} lanes: {steps_a_second(kind, arguments.measure):.0f} steps a second")
    model = MaskablePPO("MlpPolicy", lanes, n_steps=32, batch_size=256, n_epochs=4, learning_rate=1e-3, seed=0)
    start = time.perf_counter()
    model.learn(arguments.steps)
    rewards = [episode["r"] for episode in model.ep_info_buffer]
    took = time.perf_counter() - start
    print(f"{arguments.steps} steps in {took:.0f} s, mean reward of the last games {np.mean(rewards or [np.nan]):.2f}")


if __name__ == "__main__":
    main()
