"""A policy of your own, in plain NumPy, against a scripted level: the way into the arena from any framework."""

import argparse

import numpy as np

import audamir_envs
from audamir_envs import agents, arena


def first_legal_of_the_middle(observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
    """Prefers the legal action whose number is nearest to the middle of all numbers.

    Args: observation: float32 [batch, 9, 9, C]; action_mask: bool [batch, 794]. Returns: integers [batch].
    """
    actions = np.arange(action_mask.shape[1])
    distance = np.abs(actions - actions.mean())
    return np.where(action_mask, distance, np.inf).argmin(axis=1)


def main() -> None:
    """Plays some games and prints the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=20)
    arguments = parser.parse_args()

    env = audamir_envs.make("colony-v0")
    mine = agents.from_callable(first_legal_of_the_middle, name="middle")
    result = arena.evaluate(env, [mine, audamir_envs.make_agent(env, "weak")], games=arguments.games, seed=0)
    print(result)


if __name__ == "__main__":
    main()
