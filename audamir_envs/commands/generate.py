"""Plays games and makes columns for learning of them: what evaluate --record and dataset do, in one go.

The games are in DIR/games.jsonl. A run that was interrupted goes on by the same command. Policies and values are added
where all agents say what they think (--no-policy leaves them out).
"""

from __future__ import annotations

import argparse
import os

from audamir_envs.commands import common
from audamir_envs.commands.dataset import add_output, report, thinks

EXAMPLE = "audamir generate {env} zero:simulations=32 zero:simulations=32 --games 1000 --out data/games"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    common.add_environment(parser)
    parser.add_argument("agents", metavar="AGENT", nargs="+", help="two agents, or one for each seat")
    parser.add_argument("--games", type=common.whole(1), metavar="N", default=1000, help="(default: %(default)s)")
    parser.add_argument("--seed", type=common.whole(0), metavar="N", default=0, help="(default: %(default)s)")
    parser.add_argument("--openings", metavar="WHAT", default="random:2", help="as for evaluate (default: %(default)s)")
    parser.add_argument("--max-plies", type=common.whole(1), metavar="N", help="cut games here")
    parser.add_argument("--batch", type=common.whole(1), metavar="N", help="games played at once")
    parser.add_argument("--no-policy", action="store_true", help="leave out what the agents think")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Plays and writes. Raises: ValueError, OSError, ModuleNotFoundError."""
    from audamir_envs import arena, records
    from audamir_envs.records import datasets

    if not arguments.out:
        raise ValueError("give --out DIR")
    datasets.check(arguments.out, arguments.format)
    env = common.make_environment(arguments)
    path = os.path.join(arguments.out, "games.jsonl")
    entrants, _ = arena.resolve(env, arguments.agents)
    with common.progress_bar(env.id) as progress:
        arena.evaluate(
            env,
            arguments.agents,
            arguments.games,
            seed=arguments.seed,
            openings=arguments.openings,
            max_plies=arguments.max_plies,
            batch=arguments.batch,
            record=path,
            progress=progress,
        )
    thinkers = [] if arguments.no_policy or not all(map(thinks, entrants)) else entrants
    games = records.read(path).sections[-1].games
    report(datasets.write(games, arguments.out, agents=thinkers, kind=arguments.format, rows=arguments.rows))
    return 0
