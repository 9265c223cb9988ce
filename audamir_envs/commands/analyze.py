"""Says what an agent thinks of a position, or of every position of a record.

With an environment: a table of the best actions, on request as JSON and as a picture. With a record: the file again,
with the analysis in it; if it is stopped, the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from audamir_envs import __version__, registry
from audamir_envs.commands import common
from audamir_envs.files import write_text

EXAMPLE = "audamir analyze {env} --agent zero:simulations=256 --svg thoughts.svg"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("what", metavar="ENV|FILE", help=f"one of {', '.join(registry.ids())}, or a record")
    common.add_options(parser)
    parser.add_argument("--agent", metavar="AGENT", required=True, help="who is asked")
    parser.add_argument("--position", metavar="TEXT", help="the position (default: the start)")
    parser.add_argument("--best", type=common.whole(1), metavar="N", default=10, help="rows (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the whole evaluation there as well")
    parser.add_argument("--svg", metavar="FILE", help="write a picture of the position with the policy on it")
    parser.add_argument("--out", metavar="FILE", help="where the record with its analysis goes (default: in its place)")


def run(arguments: argparse.Namespace) -> int:
    """Analyses. Raises: ValueError, OSError."""
    if arguments.what in registry.ids():
        if arguments.out:
            raise ValueError("--out goes with a record: use --json or --svg")
        return _position(arguments)
    for name in ("position", "json", "svg", "options"):
        if getattr(arguments, name):
            flag = "-o" if name == "options" else f"--{name}"
            raise ValueError(f"{flag} goes with an environment ({', '.join(registry.ids())}), not with a record")
    if not Path(arguments.what).exists():
        raise ValueError(f"{arguments.what!r:.80} is neither an environment ({', '.join(registry.ids())}) nor a file")
    return _record(arguments)


def _position(arguments: argparse.Namespace) -> int:
    import jax

    from audamir_envs import analysis
    from audamir_envs.agents.loading import load_agent_text
    from audamir_envs.drawing.svg import to_svg

    for path in (arguments.json, arguments.svg):
        if path:
            common.check_writable(path)
    arguments.env = arguments.what
    env = common.make_environment(arguments)
    agent = load_agent_text(env, arguments.agent)
    state = env.from_text(arguments.position) if arguments.position else env.init(jax.random.key(0))
    if bool(state.terminated | state.truncated):
        raise ValueError("this game is over: there is nothing to choose")
    [found], seconds = analysis.Analyst(agent, arguments.agent).evaluate([jax.device_get(state)], 1)
    told = analysis.to_json(env, state, found, arguments.agent, seconds)
    _print(env, state, told, arguments.best)
    if arguments.svg:
        write_text(arguments.svg, to_svg(analysis.picture(env, state, found)))
    if arguments.json:
        facts = {
            "env": env.id,
            "env_version": env.version,
            "position": env.to_text(state),
            "checksum": getattr(agent, "checksum", None),
            "analysis": told,
            "versions": {"audamir_envs": __version__, "jax": jax.__version__},
        }
        write_text(arguments.json, json.dumps(facts, indent=1) + "\n")
    return 0


def _print(env: Any, state: Any, told: dict[str, Any], best: int) -> None:
    print(env.board_text(state))
    print(f"to move: {env.player_name(int(state.current_player))}")
    for name, title in (("value", "value"), ("score", "lead in points")):
        if name in told:
            print(f"{title}: " + ", ".join(f"{env.player_name(i)} {x:+.2f}" for i, x in enumerate(told[name])))
    visits, values = told.get("visits"), told.get("action_values")
    header = ["action", "policy", *(["visits"] if visits is not None else []), *(["value"] if values else [])]
    rows = []
    for text, share in list(told["policy"].items())[:best]:
        row = [text, f"{100 * share:.1f} %"]
        row += [str(visits.get(text, 0))] if visits is not None else []
        row += [f"{values[text]:+.2f}" if text in values else ""] if values else []
        rows.append(row)
    common.print_table("", header, rows)
    if told.get("variation"):
        print(f"expected: {' '.join(told['variation'])}")


def _record(arguments: argparse.Namespace) -> int:
    from audamir_envs import analysis, records
    from audamir_envs.agents.loading import load_agent_text
    from audamir_envs.arena.playing import Progress

    out = arguments.out or arguments.what
    common.check_writable(out)
    env_ids = {section.header.env for section in records.read(arguments.what).sections}
    if len(env_ids) != 1:
        raise ValueError(f"{arguments.what} holds games of {', '.join(sorted(env_ids)) or 'nothing'}: analyse one game")
    analyst = analysis.Analyst(load_agent_text(env_ids.pop(), arguments.agent), arguments.agent)
    start, positions, finished = time.perf_counter(), 0, 0
    with common.progress_bar("analysing") as move:
        for finished, total, more in analysis.analyzed(analyst, arguments.what, out):
            positions += more
            if move:
                move(Progress(finished, total, positions, time.perf_counter() - start))
    print(f"{out}: {finished} games, {positions} positions looked at now", file=sys.stderr)
    return 0
