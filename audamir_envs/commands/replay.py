"""Shows recorded games again, one position after another, or plays them all again on the rules to verify them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from audamir_envs.commands import common

if TYPE_CHECKING:
    from audamir_envs.records import Game, RecordError

EXAMPLE = "audamir replay games.jsonl --game 3"

HELP = """\
Enter or n: next position; b: back; a number: the position after so many plies; e: the end; t: the position as text;
m: the moves; q: leave"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a record, as --record writes it")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--game", type=common.whole(1), metavar="N", help="show the Nth game of the file (from 1)")
    what.add_argument("--verify", action="store_true", help="play every game again; name what differs")
    what.add_argument("--list", action="store_true", help="one line a game")
    parser.add_argument("--skip-errors", action="store_true", help="leave out lines that cannot be used, and name them")
    parser.add_argument("--batch", type=common.whole(1), default=64, metavar="N", help="games verified at once")


def run(arguments: argparse.Namespace) -> int:
    """Shows or verifies. Returns: 1 where games differ or lines were left out. Raises: ValueError, OSError."""
    errors: list[RecordError] = []
    games = _games(arguments.file, arguments.skip_errors, errors)
    if arguments.verify:
        differences = _verify(games, arguments.batch)
    else:
        differences = _list(games) if arguments.list else _show(games, arguments.game or 1, arguments.file)
    return 1 if differences or errors else 0


def _games(path: str, skip: bool, errors: list[RecordError]) -> Iterator[Game]:
    """The games one by one. Raises: RecordError."""
    from audamir_envs.records import Game, Header, RecordError, scan

    wanted, found = 0, 0
    for item in scan(path):
        if isinstance(item, RecordError):
            if not skip:
                raise item
            errors.append(item)
            print(item, file=sys.stderr)
        elif isinstance(item, Header):
            wanted += item.games or 0
        elif isinstance(item, Game):
            found += 1
            yield item
    if found < wanted:
        print(f"{path}: the recording was interrupted: {found} of {wanted} games are there", file=sys.stderr)


def _verify(games: Iterator[Game], batch: int) -> int:
    from audamir_envs.records import verify

    count, differences = 0, 0

    def counted() -> Iterator[Game]:
        nonlocal count
        for game in games:
            count += 1
            yield game

    with _progress() as progress:
        for difference in verify(counted(), batch=batch, progress=progress):
            differences += 1
            print(difference)
    print(f"{count:,} games, {differences:,} differ from what the rules make of them")
    return differences


def _progress() -> Any:
    """A context manager of a callback with the number of games verified; None where stderr is no terminal."""
    import contextlib

    @contextlib.contextmanager
    def bar() -> Iterator[Any]:
        if not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console

        with Console(stderr=True).status("verifying") as status:
            yield lambda done: status.update(f"verified {done:,} games")

    return bar()


def _list(games: Iterator[Game]) -> int:
    rows = []
    for place, game in enumerate(games, start=1):
        assert game.header is not None
        seats = ", ".join(game.header.agents[number]["agent"] for number in game.seats)
        result = " ".join(f"{share:.3g}" for share in game.shares)
        rows.append((game.header.env, seats, f"{place}", f"{game.plies}", result, "cut" if game.cut else ""))
    common.print_table("", ("env", "agents by seat", "game", "plies", "shares", ""), rows, left=2)
    return 0


def _show(games: Iterator[Game], wanted: int, path: str) -> int:
    from audamir_envs.records import replay
    from audamir_envs.records.replaying import environment_of

    place, game = 0, None
    for place, game in enumerate(games, start=1):  # noqa: B007
        if place == wanted:
            break
    if game is None or place != wanted:
        raise ValueError(f"{path} has {place} game{'' if place == 1 else 's'}, not {wanted}")
    env = environment_of(game)
    states = list(replay(game))
    viewer = _Viewer(env, game, states)
    viewer.head()
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        viewer.step_through()
    else:
        for ply in range(game.plies + 1):
            viewer.show(ply)
    viewer.result()
    return 0


class _Viewer:
    """Positions of a game in the terminal."""

    def __init__(self, env: Any, game: Game, states: list[Any]) -> None:
        self.env, self.game, self.states = env, game, states
        assert game.header is not None
        self.names = [game.header.agents[number]["agent"] for number in game.seats]

    def head(self) -> None:
        """Who plays."""
        seats = ", ".join(f"{self.env.player_name(seat)} ({name})" for seat, name in enumerate(self.names))
        print(f"{self.env.id}, game {self.game.number}: {seats}")

    def show(self, ply: int) -> None:
        """The position after so many plies, and what led to it."""
        action = self.game.actions[ply - 1] if ply else None
        if action is not None:
            seat = int(self.states[ply - 1].current_player)
            chance = self.game.chance[ply - 1] if self.game.chance else ""
            opening = ", opening" if ply <= self.game.opening else ""
            print(
                f"\n{ply}/{self.game.plies}  {self.env.player_name(seat)} ({self.names[seat]}{opening}): "
                f"{self.game.moves[ply - 1]}{f'  [{chance}]' if chance else ''}"
            )
        print(self.env.board_text(self.states[ply], action))

    def step_through(self) -> None:
        """By keys, until the person leaves."""
        print(HELP)
        ply, last = 0, self.game.plies
        self.show(0)
        while True:
            try:
                word = input(f"{ply}/{last}> ").strip().lower()
            except (EOFError, KeyboardInterrupt):
                print()
                return
            match word:
                case "" | "n":
                    if ply == last:
                        return
                    ply += 1
                case "b":
                    ply = max(0, ply - 1)
                case "e":
                    ply = last
                case "q":
                    return
                case "t":
                    print(self.env.to_text(self.states[ply]))
                    continue
                case "m":
                    print(" ".join(self.game.moves))
                    continue
                case _ if word.isdecimal() and len(word) < 9 and int(word) <= last:
                    ply = int(word)
                case _:
                    print(HELP)
                    continue
            self.show(ply)

    def result(self) -> None:
        """Who won."""
        best = [seat for seat, share in enumerate(self.game.shares) if share > 0]
        names = ", ".join(f"{self.env.player_name(seat)} ({self.names[seat]})" for seat in best)
        cut = " (the game was cut and settled on points)" if self.game.cut else ""
        print(f"\n{names} wins{cut}." if len(best) == 1 else f"\nDraw between {names}{cut}.")
