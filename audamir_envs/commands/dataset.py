"""Makes columns for learning from recorded games: observation, mask, action, player, return, ends, and policies."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from audamir_envs.commands import common

if TYPE_CHECKING:
    from audamir_envs.records import Game

EXAMPLE = "audamir dataset games.jsonl --out data/games --format parquet"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="records, as --record writes them")
    add_output(parser)
    parser.add_argument(
        "--policy", metavar="AGENT", help="add what this agent thinks of every position: its policy and value"
    )
    parser.add_argument(
        "--minari",
        metavar="ID",
        help="make a Minari dataset of this id instead, as one seat sees the games (needs minari; see --seat)",
    )
    parser.add_argument("--seat", type=common.whole(0), metavar="N", default=0, help="for --minari (default: 0)")


def add_output(parser: argparse.ArgumentParser) -> None:
    """The arguments --out, --format, --rows."""
    parser.add_argument("--out", metavar="DIR", help="the folder to write")
    parser.add_argument(
        "--format", choices=("npz", "parquet"), default="npz", help="of the files; parquet needs pyarrow (default: npz)"
    )
    parser.add_argument(
        "--rows", type=common.whole(1), metavar="N", default=100_000, help="rows of a file (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes. Raises: ValueError, OSError, ModuleNotFoundError."""
    from audamir_envs.records import Game, datasets, scan

    if bool(arguments.out) == bool(arguments.minari):
        raise ValueError("give --out DIR or --minari ID")
    if arguments.out:
        datasets.check(arguments.out, arguments.format)
    items = itertools.chain.from_iterable(map(scan, arguments.files))
    games = _games(items, Game)
    if arguments.minari:
        from audamir_envs.records import minari

        made = minari.write(games, arguments.minari, seat=arguments.seat)
        print(f"{arguments.minari}: {made.total_episodes:,} episodes, {made.total_steps:,} steps")
        return 0
    agents = []
    if arguments.policy:
        first = next(games, None)
        if first is None:
            raise ValueError("there are no games to make a dataset of")
        agents = [_thinker(first, arguments.policy)]
        games = itertools.chain([first], games)
    report(datasets.write(games, arguments.out, agents=agents, kind=arguments.format, rows=arguments.rows))
    return 0


def report(made: Any) -> None:
    """Prints what was written."""
    facts = made.facts
    print(f"{made.folder}: {facts['games']:,} games, {facts['rows']:,} rows in {len(facts['files'])} files")
    for name, (kind, *shape) in facts["columns"].items():
        print(f"  {name:12} {kind} {shape or ''}".rstrip())


def _games(items: Iterator[Any], kind: type) -> Iterator[Game]:
    """Raises: RecordError."""
    for item in items:
        if isinstance(item, ValueError):
            raise item
        if isinstance(item, kind):
            yield item


def _thinker(game: Game, text: str) -> Any:
    """The agent of a text. Raises: ValueError."""
    from audamir_envs.agents.loading import load_agent_text
    from audamir_envs.records.replaying import environment_of

    agent = load_agent_text(environment_of(game), text)
    if not thinks(agent):
        raise ValueError(f"agent {text!r} only acts: it does not say what it thinks of a position")
    return agent


def thinks(agent: Any) -> bool:
    """Whether an agent says what it thinks of a position."""
    from audamir_envs.agents.base import BatchAgent

    own = getattr(type(agent), "evaluate_batch", None)
    return own is not BatchAgent.evaluate_batch and (own is not None or hasattr(agent, "evaluate"))
