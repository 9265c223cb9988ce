"""Plays Stigmergy's scripted levels and prints the tables of stigmergy.md.

``python docs/stigmergy_ladder.py {first,komi,ladder,regret} [--json FILE]``: first, the first mover under random play
by side; komi, Strong against itself at komi values around even; ladder, each level against the one below at the fair
komi; regret, wins thrown away on side 3.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib

import jax
import numpy as np

import audamir_envs
from audamir_envs.arena import evaluate
from audamir_envs.intervals import wilson
from audamir_envs.stigmergy.scripted import FAIR_KOMI
from audamir_envs.stigmergy.solver import regret, solve

OPENING_PLIES = 2  # random, so that games between equal levels differ
EVEN = (  # side, random opening plies, komi values, games at each; of large boards fewer, where games take minutes
    (4, OPENING_PLIES, (0, 2, 4), 200),
    (5, OPENING_PLIES, (0, 2, 4, 6, 8), 200),
    (6, OPENING_PLIES, (2, 4, 6, 8, 10), 100),
    (4, 0, (2, 4, 6), 100),
    (5, 0, (4, 6, 8), 100),
    (6, 0, (6, 10), 60),
    (7, OPENING_PLIES, (6, 10), 60),
)
LADDER = (("weak", "random"), ("normal", "weak"), ("strong", "normal"))


def match(side: int, komi: int, pair: tuple[str, str], games: int, opening_plies: int) -> dict:
    """One line: the first agent's score, Black's score, lengths."""
    env = audamir_envs.make("stigmergy-v0", side=side, komi=komi)
    result = evaluate(env, pair, games, opening_plies=opening_plies)
    black = float(result.records.shares[:, 0].mean())
    label = result.agents[0]
    return {
        "side": side,
        "komi": komi,
        "pair": pair,
        "games": games,
        "opening_plies": opening_plies,
        "score": result.score[label],
        "interval": result.interval[label],
        "by_seat": [seat.score for seat in result.by_seat[label]],
        "black": black,
        "black_interval": wilson(black, games),
        "plies": result.mean_length,
        "most_plies": int(np.max(result.records.plies)),
        "decisions_per_second": result.decisions_per_second,
        "versions": result.versions,
    }


def percent(value: float, interval: tuple[float, float]) -> str:
    """A share with its interval, in per cent."""
    return f"{100 * value:.1f} ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"


def row(line: dict) -> str:
    """A line as a row of a Markdown table."""
    return (
        f"| {line['side']} | {line['komi']} | {line['opening_plies']} | {' – '.join(line['pair'])} | {line['games']} "
        f"| {percent(line['score'], line['interval'])} | {percent(line['black'], line['black_interval'])} "
        f"| {line['plies']:.0f} | {line['most_plies']} |"
    )


def matches(part: str) -> list[tuple[int, int, tuple[str, str], int, int]]:
    """Side, komi, levels, games and random opening plies of the matches of a part."""
    if part == "first":
        return [(side, 0, ("random", "random"), 2000, 0) for side in range(2, 9)]
    if part == "komi":
        return [
            (side, komi, ("strong", "strong"), games, opening)
            for side, opening, values, games in EVEN
            for komi in values
        ]
    return [(side, FAIR_KOMI[side], pair, 200, OPENING_PLIES) for side, pair in itertools.product((4, 5, 6), LADDER)]


def play(part: str, file: pathlib.Path | None) -> None:
    """Plays what the file does not hold yet, prints all."""
    print("| side | komi | random plies | levels | games | first level, % | Black, % | plies | most |")
    print("|---|---|---|---|---|---|---|---|---|")
    lines = json.loads(file.read_text()) if file and file.exists() else []
    done = {(line["side"], line["komi"], tuple(line["pair"]), line["games"], line["opening_plies"]) for line in lines}
    for line in lines:
        print(row(line))
    for wanted in matches(part):
        if wanted in done:
            continue
        lines.append(match(*wanted))
        print(row(lines[-1]), flush=True)
        jax.clear_caches()
        if file:
            file.write_text(json.dumps(lines, indent=1))


def main() -> None:
    """Reads the command line and plays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("first", "komi", "ladder", "regret"))
    parser.add_argument("--json", type=pathlib.Path, help="also written here; matches found there are not repeated")
    chosen = parser.parse_args()
    if chosen.part == "regret":
        table = solve(3)
        for name, play_on in itertools.product(("random", "weak", "normal", "strong"), (False, True)):
            print(regret(name, table=table, play_on=play_on), flush=True)
        return
    play(chosen.part, chosen.json)


if __name__ == "__main__":
    main()
