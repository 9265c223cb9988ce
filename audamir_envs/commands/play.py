"""You against one level, or against one for each other seat, in the terminal; or levels that you watch."""

from __future__ import annotations

import argparse
import contextlib
import random
from typing import TYPE_CHECKING

from audamir_envs import streams
from audamir_envs.commands import common

if TYPE_CHECKING:
    from audamir_envs.core import Environment

EXAMPLE = "audamir play {env} normal --seat 1 -o board=61"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    common.add_environment(parser)
    parser.add_argument("agents", metavar="AGENT", nargs="*", default=[], help="your opponents (default: normal)")
    parser.add_argument("--watch", action="store_true", help="no seat is yours: give two agents, or one for each seat")
    parser.add_argument("--seat", type=common.whole(0), metavar="N", help="your seat, from 0 (default: by lot)")
    parser.add_argument("--seed", type=common.whole(0), metavar="N", help="for the same dice and opponents again")
    parser.add_argument("--position", metavar="TEXT", help="start from this position")
    parser.add_argument("--record", metavar="FILE", help="append the game to this file when it is over or you leave")


def run(arguments: argparse.Namespace) -> int:
    """Plays one game. Raises: ValueError for bad arguments."""
    # Not before the words have been read: it takes a second or more.
    from audamir_envs.agents.loading import load_agent_text
    from audamir_envs.commands.game import Game

    common.check_writable(arguments.record)
    env = common.make_environment(arguments)
    seed = random.randrange(2**31) if arguments.seed is None else arguments.seed
    seat, texts = _watched(env, arguments) if arguments.watch else _seated(env, arguments, seed)
    with streams.waiting("loading"):
        loaded = {text: load_agent_text(env, text) for text in texts}
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - importing it gives input() line editing and history
    game = Game(env, seat, texts, [loaded[text] for text in texts], seed, arguments.position)
    try:
        game.play()
    except (EOFError, KeyboardInterrupt):
        print("\nLeft the game.")
    if arguments.record and game.now.plies:
        game.record(arguments.record)
    return 0


def _seated(env: Environment, arguments: argparse.Namespace, seed: int) -> tuple[int, list[str]]:
    """The person's seat and the opponents in seat order after it. Raises: ValueError."""
    seat = random.Random(seed).randrange(env.num_players) if arguments.seat is None else arguments.seat
    if seat >= env.num_players:
        raise ValueError(f"--seat {seat} is not valid: use 0 to {env.num_players - 1}")
    texts = arguments.agents or ["normal"]
    if len(texts) == 1:
        texts *= env.num_players - 1
    if len(texts) != env.num_players - 1:
        raise ValueError(f"give one opponent, or {env.num_players - 1}: one for each other seat")
    return seat, texts


def _watched(env: Environment, arguments: argparse.Namespace) -> tuple[None, list[str]]:
    """Nobody's seat and the agents from seat 0 on; of two at a larger table the second has all seats but the first.

    Raises: ValueError.
    """
    texts = list(arguments.agents)
    if arguments.seat is not None:
        raise ValueError("--seat is yours and --watch leaves you none: use one of them")
    if len(texts) == 2:
        texts += texts[1:] * (env.num_players - 2)
    if len(texts) != env.num_players:
        many = f", or {env.num_players}: one for each seat" if env.num_players > 2 else ""
        raise ValueError(f"--watch needs two agents{many}; you gave {len(texts)}")
    return None, texts
