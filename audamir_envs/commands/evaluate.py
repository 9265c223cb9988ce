"""Lets agents play each other, every agent equally often in every seat, and reports the score with its 95 % interval.

An agent is a name (random, weak, normal, strong, zero, zero-policy), a name with settings (zero:simulations=64), the
path of a checkpoint, or module:function for a NumPy policy fn(observation, action_mask) -> actions. With more than two
players give one agent a seat, or two: the first takes one seat, the second the others.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from audamir_envs.commands import common
from audamir_envs.files import write_result

if TYPE_CHECKING:
    from audamir_envs.arena import Evaluation

MOST = 20_000  # games that a sequential test plays at most

EXAMPLE = "audamir evaluate {env} strong normal --games 100 --opening-plies 2 -o board=61 --json out.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    common.add_environment(parser)
    parser.add_argument("agents", metavar="AGENT", nargs="+", help="two agents, or one for each seat")
    common.add_match(parser, games=100, each=f"; with --sprt at most, and then by default {MOST}", told=False)
    parser.add_argument(
        "--sprt",
        nargs=2,
        type=float,
        metavar=("ELO0", "ELO1"),
        help="end the match when it is decided whether the first agent is ELO0 or ELO1 points stronger (two players; "
        "pairs of games, wrong in 5 %% of the cases each way; openings: random:2 unless told)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Plays, prints and writes. Raises: ValueError, OSError."""
    from audamir_envs import arena  # not before the words have been read: it takes a second or more

    common.check_writable(arguments.json)
    common.check_writable(arguments.record)
    sprt = arena.Sprt(*arguments.sprt) if arguments.sprt else None
    settings = common.match_settings(arguments)
    if settings["games"] is None:
        settings["games"] = MOST if sprt else 100
    env = common.make_environment(arguments)
    with common.progress_bar(env.id) as progress:
        result = arena.evaluate(env, arguments.agents, sprt=sprt, progress=progress, **settings)
    try:  # first: whoever reads the report may leave before its end
        if arguments.json:
            write_result(arguments.json, json.dumps(result.to_json(), indent=1) + "\n")
    finally:  # on a full disk too
        report(result)
    return 0


def report(result: Evaluation) -> None:
    """Prints the result's tables."""
    from audamir_envs.arena import plain

    options = " ".join(f"{name}={plain(value)}" for name, value in result.options.items())
    rows = []
    for agent in result.agents:
        shared = result.games - result.wins[agent] - result.losses[agent]
        counts = (f"{result.wins[agent]}", f"{shared}", f"{result.losses[agent]}")
        rows.append((agent, *counts, f"{100 * result.score[agent]:.1f}", common.percent(result.interval[agent])))
    settings = result.settings
    how = f"openings {settings['openings']}, {'mirrored, ' if settings['mirrored'] else ''}seed {settings['seed']}"
    title = f"{result.env} ({options}): {result.games} games, {how}"
    common.print_table(title, ("agent", "wins", "draws", "losses", "score %", "95 % interval"), rows)
    seats = len(result.by_seat[result.agents[0]])
    rows = [
        (agent, *(f"{100 * seat.score:.1f} of {seat.games}" for seat in result.by_seat[agent]))
        for agent in result.agents
    ]
    common.print_table("score % by seat", ("agent", *(f"player_{seat}" for seat in range(seats))), rows)
    repeated = f"{result.repeated} the same as others, " if result.repeated else ""
    print(
        f"mean length {result.mean_length:.1f} plies, {result.unfinished} unfinished, {repeated}{result.seconds:.1f} s "
        f"({result.compile_seconds:.1f} s more to compile), {result.decisions_per_second:,.0f} decisions/s"
    )
    if result.sprt is not None:
        test = result.sprt
        pairs = " ".join(map(str, test["pairs"].values()))
        told = f"SPRT {test['elo0']:g} against {test['elo1']:g} Elo: LLR {test['llr']:.2f}, bounds {test['lower']:.2f} "
        told += f"and {test['upper']:.2f}; pairs of 0, 1/4, 1/2, 3/4, 1: {pairs}: "
        if test["accepted"]:
            print(f"{told}{test[test['accepted']]:g} is accepted after {result.games} games")
        else:
            once = ", each opening of the book once" if settings["openings"].startswith("book") else ""
            print(f"{told}not decided by {result.games} games{once}")
        if result.repeated:
            print(
                "all pairs are one and the same, which counted once: these agents need openings (--openings random:2)"
            )
