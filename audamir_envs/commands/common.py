"""What several commands share: environments and agents from texts, tables, progress."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from audamir_envs import registry
from audamir_envs.files import check_writable as check_writable

if TYPE_CHECKING:
    from audamir_envs.arena.playing import Progress
    from audamir_envs.core import Environment


def add_environment(parser: argparse.ArgumentParser) -> None:
    """The arguments ENV and -o."""
    parser.add_argument("env", metavar="ENV", help=f"one of {', '.join(registry.ids())}")
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The argument -o."""
    parser.add_argument(
        "-o",
        dest="options",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an option of the environment; repeat it for several",
    )


def make_environment(arguments: argparse.Namespace) -> Environment:
    """The environment that ENV and -o name. Raises: ValueError naming what is valid."""
    known = registry.environment_class(arguments.env).OPTIONS
    options: dict[str, Any] = {}
    for text in arguments.options:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"-o {text} is not written as NAME=VALUE")
        if name not in known:
            raise ValueError(f"{arguments.env} has no option {name!r}: its options are {', '.join(known)}")
        options[name] = known[name].parse(name, value)
    return registry.make(arguments.env, **options)


def whole(least: int) -> Callable[[str], int]:
    """A type for argparse: whole numbers from ``least`` that fit 63 bits, as JAX's seeds must."""

    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > 19 or not least <= int(text) < 2**63:
            raise argparse.ArgumentTypeError(f"{text!r:.40} is not a whole number from {least} to {2**63 - 1}")
        return int(text)

    return read


def add_match(parser: argparse.ArgumentParser, games: int, each: str = "", told: bool = True) -> None:
    """The arguments of matches: --games, --seed, openings, --max-plies, --batch, --mirrored, --record, --json.

    Args: games: the default that is shown; each: what its number counts; told: whether it is filled in, or None.
    """
    default = games if told else None
    parser.add_argument("--games", type=whole(1), metavar="N", default=default, help=f"games{each} (default: {games})")
    parser.add_argument(
        "--seed",
        type=whole(0),
        metavar="N",
        default=0,
        help="the same seed gives the same games (default: %(default)s)",
    )
    parser.add_argument(
        "--opening-plies", type=whole(0), default=0, metavar="N", help="random plies at the start (default: 0)"
    )
    parser.add_argument("--max-plies", type=whole(1), metavar="N", help="cut games here and settle them on points")
    parser.add_argument("--batch", type=whole(1), metavar="N", help="games played at once")
    parser.add_argument(
        "--mirrored", action="store_true", help="one start, opening and dice for each rotation of seats"
    )
    parser.add_argument(
        "--openings",
        metavar="WHAT",
        help="book (the one shipped; each opening is played from all seats), the path of one, random:N, or none",
    )
    add_record(parser)
    parser.add_argument("--json", metavar="FILE", help="write the result there as well")


def add_record(parser: argparse.ArgumentParser) -> None:
    """The argument --record."""
    parser.add_argument(
        "--record", metavar="FILE", help="append each game to this file; what it holds of this run is not played again"
    )


def match_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """What ``add_match`` has read, for the arena's functions."""
    names = ("games", "seed", "opening_plies", "max_plies", "batch", "mirrored", "openings", "record")
    return {name: getattr(arguments, name) for name in names}


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Callable[[Progress], None] | None]:
    """A callback for the arena that moves a bar on stderr; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(24),
        MofNCompleteColumn(),
        TextColumn("games {task.fields[speed]}"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, speed="compiling")

        def move(progress: Progress) -> None:
            speed = f"{progress.decisions / max(progress.seconds, 1e-9):,.0f} decisions/s"
            bar.update(task, total=progress.games, completed=progress.finished, speed=speed)

        yield move


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """A table on stdout: ruled in a terminal, plain columns elsewhere. ``left`` columns are set left, others right."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title or None, title_justify="left", title_style="bold")
        for i, name in enumerate(header):
            table.add_column(name, justify="left" if i < left else "right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        return
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    if title:
        print(title)
    for row in [header, *rows]:
        cells = enumerate(zip(row, widths, strict=True))
        print("  ".join(c.ljust(width) if i < left else c.rjust(width) for i, (c, width) in cells).rstrip())


def percent(interval: tuple[float, float]) -> str:
    """An interval of scores in words."""
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"
