"""SuperSuit: a turn-based game as a parallel environment, and many of them as one vector environment."""

import argparse

import numpy as np
import supersuit
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from audamir_envs import stigmergy_v0


def main() -> None:
    """Plays at random and prints the results by seat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=4, help="games at once")
    parser.add_argument("--steps", type=int, default=500)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)

    parallel = turn_based_aec_to_parallel(stigmergy_v0.env(side=4))
    one = supersuit.pettingzoo_env_to_vec_env_v1(parallel)
    # In this process (num_cpus=0): a process that runs JAX must not be forked.
    env = supersuit.concat_vec_envs_v1(one, arguments.games, num_cpus=0, base_class="gymnasium")
    seats = env.num_envs // arguments.games
    observations, _ = env.reset(seed=0)  # with a seed, so that the games differ
    results = np.zeros(seats)
    ended = 0
    for _ in range(arguments.steps):
        actions = np.zeros(env.num_envs, int)
        for lane in np.flatnonzero(observations["action_mask"].any(axis=1)):  # lanes of seats that are to move
            actions[lane] = rng.choice(np.flatnonzero(observations["action_mask"][lane]))
        observations, rewards, terminated, truncated, _ = env.step(actions)
        results += rewards.reshape(arguments.games, seats).sum(axis=0)
        ended += int((terminated | truncated).sum()) // seats
    print(f"{ended} games ended, results by seat {results.tolist()}")


if __name__ == "__main__":
    main()
