"""Writes a recorded game as one HTML page that any browser shows from disk: board, moves, and the analysis if recorded.

FILE is what --record or the page of `audamir serve` has written.
"""

from __future__ import annotations

import argparse

from audamir_envs import records
from audamir_envs.commands import common
from audamir_envs.files import write_text

EXAMPLE = "audamir view games.jsonl --game 3 -o game.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a record")
    parser.add_argument(
        "--game", type=common.whole(0), metavar="N", help="its number in the record (default: the first)"
    )
    parser.add_argument("-o", "--out", metavar="HTML", required=True, help="the page to write")
    parser.add_argument("--title", help="the page's heading (default: the game and who played)")


def run(arguments: argparse.Namespace) -> int:
    """Writes the page. Raises: ValueError, OSError."""
    from audamir_envs.web.view import document

    common.check_writable(arguments.out)
    write_text(arguments.out, document(_game(arguments.file, arguments.game), arguments.title))
    return 0


def _game(path: str, number: int | None) -> records.Game:
    """Raises: ValueError: there is no such game, or its line cannot be used; OSError."""
    fault: records.RecordError | None = None
    for item in records.scan(path):
        if isinstance(item, records.Game) and number in (None, item.number):
            return item
        if isinstance(item, records.RecordError):
            fault = fault or item
    if fault is not None:
        raise fault
    raise ValueError(f"{path} has no game{'' if number is None else f' {number}'}")
