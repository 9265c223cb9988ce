"""A small ladder: every agent plays every other, ratings with intervals are printed and drawn into a picture."""

import argparse

import audamir_envs
from audamir_envs import arena


def main() -> None:
    """Plays and writes the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="colony-v0", help=f"one of {', '.join(audamir_envs.ids())}")
    parser.add_argument("--agents", nargs="+", default=["random", "weak", "weak:slip=0.1", "normal"])
    parser.add_argument("--games", type=int, default=40, help="of each pair")
    parser.add_argument("--out", default="ladder.png", help="its ending chooses the format: .png, .svg or .pdf")
    arguments = parser.parse_args()

    arena.check_plot(arguments.out)  # before anything is played
    result = arena.ladder(arguments.env, arguments.agents, games=arguments.games, seed=0, opening_plies=2)
    for agent in result.agents:
        low, high = result.interval[agent]
        print(f"{agent:16} {result.rating[agent]:+7.0f}  ({low:+.0f} to {high:+.0f})")
    result.plot(arguments.out)
    print(f"drawn to {arguments.out}")


if __name__ == "__main__":
    main()
