"""Plays Colony's scripted levels against each other on all eight layouts and prints the tables of colony.md.

``python docs/colony_ladder.py [--games 400] [--seed 0] [--json FILE]``; about half an hour on two cores.
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

LAYOUTS = [
    {"board": board, "start": start, "claim_empty": claim}
    for board, start, claim in itertools.product(("58", "61"), ("three", "one"), (False, True))
]
PAIRS = list(itertools.combinations_with_replacement(("weak", "normal", "strong"), 2))


def match(options: dict, pair: tuple[str, str], games: int, seed: int) -> dict:
    """One line of the tables: the first level's score, draws, the first mover's score, lengths."""
    result = evaluate(audamir_envs.make("colony-v0", **options), pair, games, seed=seed)
    records = result.records
    first = records.shares[np.arange(games), records.starter]
    decisive = first != 0.5
    label = result.agents[0]
    low, high = wilson(float(first.mean()), games)
    return {
        **options,
        "pair": pair,
        "games": games,
        "wins": result.wins[label],
        "draws": result.draws,
        "losses": result.losses[label],
        "score": result.score[label],
        "interval": result.interval[label],
        "drawn": result.draws / games,
        "drawn_interval": wilson(result.draws / games, games),
        "first_mover": float(first.mean()),
        "first_mover_interval": (low, high),
        "plies": result.mean_length,
        "plies_of_won_games": float(records.plies[decisive].mean()) if decisive.any() else None,
        "decisions_per_second": result.decisions_per_second,
        "versions": result.versions,
    }


def percent(value: float, interval: tuple[float, float]) -> str:
    """A share with its interval, in per cent."""
    return f"{100 * value:.1f} ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"


def row(line: dict) -> str:
    """A line as a row of a Markdown table."""
    layout = f"{line['board']}, {line['start']}, {'claim' if line['claim_empty'] else 'no claim'}"
    return (
        f"| {layout} | {' – '.join(line['pair'])} | {line['wins']} / {line['draws']} / {line['losses']} "
        f"| {percent(line['score'], line['interval'])} | {percent(line['drawn'], line['drawn_interval'])} "
        f"| {percent(line['first_mover'], line['first_mover_interval'])} | {line['plies']:.0f} |"
    )


def main() -> None:
    """Reads the command line and plays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=pathlib.Path, help="also written here; matches found there are not repeated")
    chosen = parser.parse_args()
    print("| layout | levels | won / drawn / lost | score, % | drawn, % | first mover, % | plies |")
    print("|---|---|---|---|---|---|---|")
    lines = json.loads(chosen.json.read_text()) if chosen.json and chosen.json.exists() else []
    for line in lines:
        print(row(line))
    done = [(tuple(line["pair"]), line["board"], line["start"], line["claim_empty"]) for line in lines]
    for pair, layout in itertools.product(PAIRS, LAYOUTS):
        if (pair, *layout.values()) in done:
            continue
        lines.append(match(layout, pair, chosen.games, chosen.seed))
        print(row(lines[-1]), flush=True)
        jax.clear_caches()  # every match is compiled anew, and what it leaves behind adds up
        if chosen.json:
            chosen.json.write_text(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
