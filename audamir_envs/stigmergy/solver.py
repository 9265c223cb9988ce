"""The exact solver of Stigmergy on boards of side 2 and 3, what it says of agents, and its command line.

>>> table = solve(3, cache="~/.cache/audamir")
>>> table.value, table.margin(black=["c3"], white=["c2"], to_move="black")
(5, 5)

``solver_tables`` computes the tables, ``solver_exact`` looks positions up in them, ``regret`` grades agents by them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import jax
import numpy as np

from audamir_envs.agents.base import Agent
from audamir_envs.agents.responses import MOST, BestResponse
from audamir_envs.agents.responses import best_response as respond
from audamir_envs.core import Environment, State
from audamir_envs.files import check_writable, write_result
from audamir_envs.stigmergy.environment import Stigmergy
from audamir_envs.stigmergy.regret import Regret, regret, sample_positions
from audamir_envs.stigmergy.solver_exact import ExactTable, Stones, check_side, load, solve

__all__ = [
    "ExactTable",
    "Regret",
    "Stones",
    "add_arguments",
    "best_response",
    "judge",
    "load",
    "regret",
    "run",
    "sample_positions",
    "solve",
]

EXAMPLE = "--side 2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the solver's arguments to the parser of the command."""
    parser.add_argument("--side", type=int, help="side of the board: 2 or 3 (default: 3)")
    parser.add_argument("--cache", metavar="FOLDER", help="take the table from this folder, or put it there")
    parser.add_argument("--save", metavar="FILE", help="write the table to this .npz file")
    parser.add_argument("--load", metavar="FILE", help="read the table from this file instead of solving")
    parser.add_argument(
        "--against",
        metavar="AGENT",
        help="instead: what the best opponent of an agent gets, which plays without chance",
    )
    parser.add_argument("--komi", type=int, metavar="N", help="of --against (default: the environment's)")


def run(args: argparse.Namespace) -> int:
    """Prints the value, the value of every first move and the best komi either way; returns the exit code 0.

    With --against prints the best response instead.
    Raises: ValueError, OSError: as ``solve``, ``load``, ``save`` and ``best_response``.
    """
    if args.against is not None:
        if args.load or args.save or args.cache:
            raise ValueError("--against needs no table: leave --load, --save and --cache out")
        side = 3 if args.side is None else args.side
        check_side(side)
        print("\n".join(_report_response(args.against, side, args.komi)))
        return 0
    if args.komi is not None:
        raise ValueError("--komi means nothing without --against: a table holds the values of all komi")
    check_writable(args.save)
    if args.load is not None:
        table = load(args.load)
        if args.side not in (None, table.side):
            raise ValueError(f"{args.load} is the table of side {table.side}, not {args.side}")
    else:
        side = 3 if args.side is None else args.side
        check_side(side)
        table = _solve_showing_progress(side, args.cache)
    try:  # first: whoever reads the report may leave before its end
        if args.save:
            write_result(args.save, table.to_bytes())
    finally:
        print("\n".join(report(table)))
    return 0


def best_response(agent: Agent, side: int, komi: int, *, most_positions: int = MOST) -> BestResponse:
    """The exact value of the best opponent of an agent on an empty board (``agents.best_response``), at a fixed komi.

    Raises: ValueError: as there; options that the environment does not have. On side 3 against agents that leave much
    open the positions are too many.
    """
    return respond(Stigmergy(side=side, komi=komi), agent, most_positions=most_positions)


def judge(env: Environment) -> Callable[[State], tuple[np.ndarray, np.ndarray]]:
    """Says of a batch of states seat 0's exact value, and its lead with komi when both play perfectly.

    For books: the value is that of the result, in parts of the largest lead that counts as even, one point: a lead of
    one point either way is 0, since komi is even and no position is nearer to a draw; any other is 1 or -1.
    Raises: ValueError: a side that is not solved.
    """
    side: int = env.options["side"]
    check_side(side)
    table = solve(side, "~/.cache/audamir")

    def judged(states: State) -> tuple[np.ndarray, np.ndarray]:
        leads = []
        for row in range(states.current_player.shape[0]):
            stones, komi, phase = table.read(jax.tree.map(lambda leaf, row=row: leaf[row], states))
            if phase != "play":
                raise ValueError("a book of exact values is of games with a fixed komi")
            black = table.margin_of(stones) - komi
            leads.append(black if int(states.game.black_seat[row]) == 0 else -black)
        lead = np.array(leads, np.float64)
        return np.where(np.abs(lead) <= 1, 0.0, np.sign(lead)), lead

    return judged


def report(table: ExactTable) -> Sequence[str]:
    """What ``run`` prints, as lines."""
    board, moves = table.board, table.first_moves()
    black, white = table.best_komi()
    lines = [
        f"Stigmergy, side {table.side}: {len(table.values):,} positions (up to symmetry and colours), exact",
        f"Value of the empty board: {table.value:+d} for Black (final margin, komi 0, both perfect)",
        "Value of each first move:",
    ]
    rows = {int(r): [label for label, row in zip(board.labels, board.r, strict=True) if row == r] for r in board.r}
    for row in rows.values():
        lines.append(
            "    " * (board.width - len(row) + 1) + "".join(f"{label} {moves[label]:+d}".ljust(8) for label in row)
        )
    beyond = f"none within {board.size} cells"
    lines.append(f"Largest komi with which Black wins: {beyond if black is None else black}")
    lines.append(f"Smallest komi with which White wins: {beyond if white is None else white}")
    return [line.rstrip() for line in lines]


def _report_response(text: str, side: int, komi: int | None) -> Sequence[str]:
    from audamir_envs.agents.loading import load_agent_text  # it imports what learned agents need

    env = Stigmergy(side=side) if komi is None else Stigmergy(side=side, komi=komi)
    found = respond(env, load_agent_text(env, text))
    lines = [f"Stigmergy, side {side}, komi {env.options['komi']}: the best response to {text}, exact"]
    for seat, value in enumerate(found.value):
        told = {1.0: "wins", 0.0: "draws", -1.0: "loses"}[value]
        moves = " ".join(map(env.action_to_text, found.line[seat]))
        lines.append(f"as player_{seat} it {told} ({found.positions[seat]:,} positions): {moves}")
    return [*lines, f"score over both seats: {100 * found.score:.0f} %"]


def _solve_showing_progress(side: int, cache: str | None) -> ExactTable:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("solving", total=None)
        return solve(side, cache, lambda done, total: bar.update(task, completed=done, total=total))
