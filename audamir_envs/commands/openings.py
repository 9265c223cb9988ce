"""Makes a book of openings: positions that a strong search, or the game's solver, calls even, each with its margin."""

from __future__ import annotations

import argparse
import sys

from audamir_envs.commands import common

EXAMPLE = "audamir openings {env} --agent zero:simulations=128 --count 50 --out openings.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    common.add_environment(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help="the book to write")
    parser.add_argument("--agent", default="zero", help="who judges; exact: the game's solver (default: %(default)s)")
    parser.add_argument("--player", default="normal", metavar="AGENT", help="who plays before (default: %(default)s)")
    parser.add_argument(
        "--count", type=common.whole(1), default=50, metavar="N", help="openings (default: %(default)s)"
    )
    parser.add_argument(
        "--bound", type=float, default=0.2, metavar="V", help="the largest |value| of a seat (default: %(default)s)"
    )
    parser.add_argument("--random-plies", type=common.whole(1), default=6, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--self-plies", type=common.whole(0), default=4, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--seed", type=common.whole(0), default=0, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--batch", type=common.whole(1), default=64, metavar="N", help="positions judged at once")


def run(arguments: argparse.Namespace) -> int:
    """Makes and writes. Raises: ValueError, OSError."""
    from audamir_envs.agents.loading import load_agent_text
    from audamir_envs.arena import book_making
    from audamir_envs.arena.evaluation import versions
    from audamir_envs.commands.dataset import thinks
    from audamir_envs.registry import optional_part

    common.check_writable(arguments.out)
    if not 0 <= arguments.bound <= 1:
        raise ValueError(f"--bound {arguments.bound} is not valid: use a number from 0 to 1")
    env = common.make_environment(arguments)
    checksum = None
    if arguments.agent == "exact":
        solver = optional_part(env.id, "solver")
        if solver is None or not hasattr(solver, "judge"):
            raise ValueError(f"{env.id} has no solver that judges positions: name an agent")
        judge = solver.judge(env)
    else:
        agent = load_agent_text(env, arguments.agent)
        if not thinks(agent):
            raise ValueError(f"agent {arguments.agent!r} only acts: it does not say what it thinks of a position")
        checksum, judge = getattr(agent, "checksum", None), book_making.judge_of(agent)
    names = ("agent", "player", "count", "bound", "random_plies", "self_plies", "seed")
    made = {"command": "audamir openings"} | {name: getattr(arguments, name) for name in names}
    made |= {"checksum": checksum, "versions": versions(env)}

    def told(found: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{found} of {arguments.count} openings ", end="", file=sys.stderr, flush=True)

    book = book_making.make(
        env,
        judge,
        load_agent_text(env, arguments.player),
        count=arguments.count,
        bound=arguments.bound,
        random_plies=arguments.random_plies,
        self_plies=arguments.self_plies,
        seed=arguments.seed,
        batch=arguments.batch,
        made=made,
        progress=told,
    )
    book.write(arguments.out)
    print(f"{arguments.out}: {len(book.openings)} openings of {env.id}")
    return 0
