"""Rates agents by games against each other: Elo points with 95 % intervals, and what moving first is worth.

With two players every pair plays; with more, every agent sits at tables of random others. Seats are balanced.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

from audamir_envs.commands import common
from audamir_envs.files import write_result

if TYPE_CHECKING:
    from audamir_envs.arena import Ladder

EXAMPLE = "audamir ladder {env} weak normal strong --games 40 --opening-plies 2 --json out.json --plot out.png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    common.add_environment(parser)
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="who is rated (default: all levels)")
    common.add_match(parser, games=100, each=" of each pair, or with more than two players of each agent")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the ratings there (needs matplotlib)")


def run(arguments: argparse.Namespace) -> int:
    """Plays, prints and writes. Raises: ValueError, OSError, ModuleNotFoundError."""
    from audamir_envs import arena  # not before the words have been read: it takes a second or more

    common.check_writable(arguments.json)
    common.check_writable(arguments.record)
    common.check_writable(arguments.plot)
    if arguments.plot:
        arena.check_plot(arguments.plot)
        if arguments.json and os.path.realpath(arguments.json) == os.path.realpath(arguments.plot):
            raise ValueError(f"--json and --plot both name {arguments.plot}: use two files")
    env = common.make_environment(arguments)
    with common.progress_bar(env.id) as progress:
        result = arena.ladder(env, arguments.agents or None, progress=progress, **common.match_settings(arguments))
    try:  # first: whoever reads the report may leave before its end
        if arguments.json:
            write_result(arguments.json, json.dumps(result.to_json(), indent=1) + "\n")
        if arguments.plot:
            result.plot(arguments.plot)
    finally:  # on a full disk too
        report(result)
    return 0


def report(result: Ladder) -> None:
    """Prints the result's tables."""
    from audamir_envs.arena import plain

    header = ["agent", "rating", "95 % interval", "score %", "games"]
    rows = []
    for agent in result.agents:
        low, high = result.interval[agent]
        row = [agent, f"{result.rating[agent]:+.0f}", f"{low:+.0f} to {high:+.0f}", f"{100 * result.score[agent]:.1f}"]
        row.append(f"{result.played[agent]}")
        if result.openskill:
            row.append("{:.1f} ± {:.1f}".format(*result.openskill[agent]))
        rows.append(row)
    if result.openskill:
        header.append("openskill")
    options = " ".join(f"{name}={plain(value)}" for name, value in result.options.items())
    common.print_table(f"{result.env} ({options}): {result.games} games", header, rows)
    if result.against:
        rows = [
            [a, *("" if a == b else f"{100 * result.against[a][b]:.1f}" for b in result.agents)] for a in result.agents
        ]
        common.print_table("score % of the row against the column", ["", *result.agents], rows)
        for a, b, c in result.cycles:
            print(f"not transitive: {a} beats {b}, {b} beats {c}, {c} beats {a}; a rating cannot say that")
        if not result.cycles and len(result.agents) > 2:
            print("no three of them surely beat each other in a circle")
    low, high = result.first_move_interval
    print(
        f"moving first is worth {result.first_move:+.0f} ({low:+.0f} to {high:+.0f}); mean length "
        f"{result.mean_length:.1f} plies, {result.unfinished} unfinished, {result.seconds:.1f} s"
    )
