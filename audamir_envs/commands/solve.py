"""Solves a small game exactly, where a game has a solver."""

from __future__ import annotations

import argparse

from audamir_envs import registry


def _example() -> str:
    for env_id in registry.working():
        solver = registry.optional_part(env_id, "solver")
        if solver is not None:
            return f"audamir solve {env_id} {solver.EXAMPLE}"
    return "audamir solve ENV"  # no game has a solver


EXAMPLE = _example


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A command for each game that has a solver."""
    games = parser.add_subparsers(dest="env", metavar="ENV", required=True, parser_class=type(parser))
    for env_id in registry.working():
        solver = registry.optional_part(env_id, "solver")
        game = games.add_parser(env_id, help="has no solver" if solver is None else "exact values and best moves")
        if solver is not None:
            solver.add_arguments(game)
            game.description, game.epilog = __doc__, f"example:\n  audamir solve {env_id}"
            game.formatter_class = argparse.RawDescriptionHelpFormatter


def run(arguments: argparse.Namespace) -> int:
    """Runs the game's solver. Raises: ValueError: the game has none, or as the solver says."""
    solver = registry.optional_part(arguments.env, "solver")
    if solver is None:
        solved = [env_id for env_id in registry.working() if registry.optional_part(env_id, "solver")]
        raise ValueError(f"{arguments.env} has no solver: use {', '.join(solved)}")
    return solver.run(arguments)
