"""OpenSpiel's MCTS bot plays our games against a scripted level."""

import argparse

import numpy as np
from open_spiel.python.algorithms import evaluate_bots, mcts

from audamir_envs.bridges import open_spiel


def main() -> None:
    """Plays and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="stigmergy-v0", help="colony-v0 or stigmergy-v0")
    parser.add_argument("--opponent", default="weak")
    parser.add_argument("--games", type=int, default=10)
    parser.add_argument("--simulations", type=int, default=100)
    arguments = parser.parse_args()

    options = {"side": 3, "komi": 4} if arguments.env == "stigmergy-v0" else {}
    game = open_spiel.load_game(arguments.env, **options)
    rng = np.random.RandomState(0)
    search = mcts.MCTSBot(game, 2.0, arguments.simulations, open_spiel.RolloutEvaluator(game), random_state=rng)
    level = open_spiel.AgentBot(game, arguments.opponent)
    results = []
    for number in range(arguments.games):
        bots = [search, level] if number % 2 == 0 else [level, search]
        returns = evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
        results.append(returns[number % 2])
    wins, losses = (sum(result == sign for result in results) for sign in (1, -1))
    print(f"{game}: MCTS with {arguments.simulations} simulations won {wins} and lost {losses} of {len(results)} games")


if __name__ == "__main__":
    main()
