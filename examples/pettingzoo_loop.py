"""One game through PettingZoo's AEC interface, every player choosing at random among what its mask allows."""

import argparse

import numpy as np

from audamir_envs import colony_v0


def main() -> None:
    """Plays one game and prints its end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    env = colony_v0.env(render_mode="ansi", board="61")
    env.reset(seed=arguments.seed)
    random = np.random.default_rng(arguments.seed)
    plies = 0
    for _ in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            action = None
        else:
            action = random.choice(np.flatnonzero(observation["action_mask"]))
            plies += 1
        env.step(action)
        if all(env.terminations.values()):
            break
    print(env.render())
    print(f"{plies} plies, rewards {env.rewards}")


if __name__ == "__main__":
    main()
