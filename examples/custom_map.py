"""Principalities on a map of your own: drawn with letters, played on by scripted levels, saved as a picture."""

import argparse
from pathlib import Path

import jax

import audamir_envs
from audamir_envs import arena
from audamir_envs.drawing.svg import to_svg

# A letter is a small hexagon of a tile, a dot none. Odd rows stand half a hexagon further to the right. Tiles whose
# hexagons touch are neighbours.
ISLAND = """
. a a b b b c c .
a a a b b c c c c
a d d d b e e c f
g g d d . . e f f
g g g h . e e f f
. g h h h i i f .
. . h h i i i i .
"""


def hexagons(drawing: str) -> list[list[int]]:
    """The rows of the grid with tile numbers, -1 for none: what the option ``map`` takes."""
    rows = [line.split() for line in drawing.strip().splitlines()]
    letters = sorted({letter for row in rows for letter in row if letter != "."})
    return [[-1 if letter == "." else letters.index(letter) for letter in row] for row in rows]


def main() -> None:
    """Shows the map with a fresh deal, then plays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--games", type=int, default=30)
    parser.add_argument("--svg", type=Path, help="also draw the start to this file")
    arguments = parser.parse_args()

    env = audamir_envs.make("principalities-v0", players=arguments.players, map={"hexagons": hexagons(ISLAND)})
    state = jax.jit(env.init)(jax.random.key(0))
    print(env.board_text(state))
    if arguments.svg:
        arguments.svg.write_text(to_svg(env.scene(state)), encoding="utf-8")
        print(f"drawn to {arguments.svg}")
    print(arena.evaluate(env, ["normal", "weak"], games=arguments.games, seed=0, max_plies=2000))


if __name__ == "__main__":
    main()
