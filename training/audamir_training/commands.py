"""``audamir train``, ``audamir plot`` and ``audamir export``, found by their entry points; each takes its own words.

``exploiting`` shares their parser and their settings.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import importlib
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audamir_envs import registry
from audamir_envs.agents.loading import parse_agent
from audamir_envs.cli import Parser
from audamir_training import algorithms, games, presets
from audamir_training.settings import AlphaZeroSettings, PPOSettings, RunSettings

_NOT_FLAGS = ("env",)  # given by position
_GROUPS = (("the run", RunSettings), ("AlphaZero", AlphaZeroSettings), ("PPO", PPOSettings))
_BOTH = "AlphaZero and PPO"


def train(arguments: Sequence[str]) -> int:
    """Train a level by self-play, or go on with a run.

    Returns: 0; 129, 130 or 143 after SIGHUP, SIGINT or SIGTERM (the state is saved then too).
    Raises: ValueError for settings that are not valid; CheckpointError, ValueError, OSError as ``runs.Run.go``.
    """
    parser = make_parser(
        "train", _train_description(), f"audamir train {example_id()} --preset quick --minutes 4 --out runs/c1"
    )
    parser.usage = "audamir train [-h] [--preset {quick,small,full}] --out DIR [--SETTING VALUE ...] ENV"
    parser.add_argument("env", metavar="ENV", help=f"one of {', '.join(games.learnable())}")
    parser.add_argument("--algorithm", choices=tuple(algorithms.SETTINGS), help="default: the game's own")
    parser.add_argument("--preset", choices=presets.NAMES, help="settings to start from (default: small)")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the run's folder")
    parser.add_argument(
        "--learner", type=Path, metavar="FILE", help="start from another run's learner.safetensors; its replay refills"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="record the evaluations' games (docs/records.md)")
    parser.add_argument("--quiet", action="store_true", help="show nothing while training")
    parser.add_argument(
        "--tracker", metavar="MODULE:FUNCTION", help="hands the numbers on to a program of yours (docs/training.md)"
    )
    distributed = parser.add_argument_group("several processes; what is not given comes from the cluster's environment")
    distributed.add_argument("--distributed", action="store_true", help="join the other processes of the run")
    distributed.add_argument("--coordinator", metavar="HOST:PORT", help="address of the first process")
    distributed.add_argument("--processes", type=int, metavar="N", help="how many there are")
    distributed.add_argument("--process", type=int, metavar="I", help="which of them this is, from 0")
    add_flags(parser)
    args = parser.parse_args(arguments)

    alone = [f"--{name}" for name in ("coordinator", "processes", "process") if getattr(args, name) is not None]
    if alone and not args.distributed:
        raise ValueError(f"{', '.join(alone)} mean nothing without --distributed: add it, or leave them out")

    # JAX must not touch a device before the processes have joined; what would is imported after that.
    from audamir_training import devices, processes

    if args.distributed:
        devices.connect(args.coordinator, args.processes, args.process)
    saving = threading.Lock()
    with processes.together(args.coordinator, saving) if args.distributed else contextlib.nullcontext():
        return _train(args, saving)


def _train(args: argparse.Namespace, saving: threading.Lock) -> int:
    from audamir_training import devices
    from audamir_training.display import Display
    from audamir_training.runs import Run
    from audamir_training.trackers import Tracker

    settings, run_settings = settings_of(args)
    algorithm = algorithms.build(settings)
    quiet = args.quiet or not devices.is_writer()
    display = Display(f"{args.env} in {args.out}", run_settings.minutes, quiet)
    trackers = [Tracker(_function(args.tracker), args.tracker, display.warn)] if args.tracker else []
    facts = {"env": args.env}
    run = Run(algorithm, run_settings, args.out, display, facts, args.learner, trackers, saving, args.record)
    return run.go()


def plot(arguments: Sequence[str]) -> int:
    """Draw a run's curves.

    Raises: ValueError without lines to draw; OSError.
    """
    parser = make_parser("plot", "Draws the curves of a run as PNG.", "audamir plot runs/c1")
    parser.add_argument("run", type=Path, metavar="DIR", help="the run's folder")
    parser.add_argument("--png", type=Path, metavar="FILE", help="default: curves.png in the folder")
    args = parser.parse_args(arguments)
    from audamir_training import plots

    target = args.png or args.run / "curves.png"
    plots.draw(args.run, target, _warn)
    print(target)
    return 0


def export(arguments: Sequence[str]) -> int:
    """Write a run's level and its card.

    Raises: FileNotFoundError, FileExistsError, CheckpointError, ValueError, OSError as ``exporting.export``.
    """
    parser = make_parser(
        "export", "Writes a run's level and its card.", f"audamir export runs/c1 levels/{example_id()}"
    )
    parser.add_argument("run", type=Path, metavar="DIR", help="the run's folder")
    parser.add_argument("target", type=Path, metavar="TO", help="a folder, or a file that ends in .safetensors")
    parser.add_argument("--last", action="store_true", help="the newest parameters, not the best measured")
    parser.add_argument("--force", action="store_true", help="also a run that has learned nothing yet")
    parser.add_argument("--play", metavar="SETTING=VALUE,...", help="the level's own defaults, such as considered=4")
    args = parser.parse_args(arguments)
    from audamir_training import exporting

    play = parse_agent(f"zero:{args.play}")[1] if args.play is not None else None
    for path in exporting.export(args.run, args.target, last=args.last, play=play, force=args.force, tell=_warn):
        print(path)
    return 0


def settings_of(args: argparse.Namespace, purpose: str = "train") -> tuple[Any, RunSettings]:
    """The settings that the words of a command mean, and those of the run in the folder, if one is there.

    Args: args: with ``env, preset, algorithm, learner, out`` and the flags; purpose: the command, ``exploit`` or
    ``train``, whose runs alone go on. Raises: ValueError; CheckpointError: a state that is damaged.
    """
    from audamir_training import storage
    from audamir_training.runs import STATE

    flags = {name: value for name, value in vars(args).items() if value is not None}
    if args.learner and not args.learner.is_file():
        raise ValueError(f"--learner {args.learner} is no file: name a learner.safetensors")
    settings, run_settings = presets.preset(args.env, args.preset or "small", args.algorithm)
    path = args.out / STATE
    if path.is_file():
        facts = storage.read_facts(path)
        if facts.get("env") != args.env:
            raise ValueError(f"{args.out} holds a run of {facts.get('env')}, not of {args.env}: use another --out")
        made_by = "exploit" if "exploit" in facts else "train"
        if made_by != purpose:
            raise ValueError(f"{args.out} holds a run of audamir {made_by}, not of {purpose}: use another --out")
        settings = storage.settings_of(path, facts)
        if args.algorithm and args.algorithm != facts["algorithm"]:
            raise ValueError(
                f"{args.out} holds a run of {facts['algorithm']}, not of {args.algorithm}: use another --out"
            )
    _refuse_foreign(flags, settings, run_settings)
    return presets.changed(settings, flags), presets.changed(run_settings, flags)


def _warn(text: str) -> None:
    print(f"audamir: {text}", file=sys.stderr)


def _function(text: str) -> Any:
    """The function of ``module:function``, found among installed packages or in the working folder.

    Raises: ValueError naming what is missing.
    """
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise ValueError(f"--tracker {text!r} is not valid: use MODULE:FUNCTION")
    folder = os.getcwd()
    sys.path.append(folder)  # behind everything installed, and only for this import
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise ValueError(f"--tracker {text!r}: no module {error.name!r} is installed or in {folder}") from None
    finally:
        sys.path.remove(folder)
    if not callable(found):
        raise ValueError(f"--tracker {text!r}: {module} has no function {name!r}")
    return found


def _refuse_foreign(flags: dict[str, Any], settings: Any, run_settings: RunSettings) -> None:
    """Raises: ValueError for a flag that only the other algorithm has."""
    fields = {field.name for chosen in (settings, run_settings) for field in dataclasses.fields(chosen)}
    known = {field.name for _, kind in _GROUPS for field in dataclasses.fields(kind)}
    for name in flags:
        if name in known - fields:
            title = next(title for title, kind in _GROUPS if isinstance(settings, kind))
            near = difflib.get_close_matches(name, sorted(fields), 1, 0.7)
            instead = f": use --{near[0].replace('_', '-')}" if near else ""
            raise ValueError(f"{title}, which trains {flags['env']}, has no --{name.replace('_', '-')}{instead}")


_TRAIN_DESCRIPTION = """\
Trains a level by self-play, or goes on with the run in DIR.

{learners}. The presets quick, small and full train for 4, 60 and 600 minutes and set some other values too; what
neither they nor a flag set is in brackets, PPO's value second where it differs.

What --layouts may be:
{layouts}"""


def _train_description() -> str:
    by_algorithm = {title: games.learnable(name) for name, title in (("alphazero", "AlphaZero"), ("ppo", "masked PPO"))}
    learners = [f"{title} learns {', '.join(ids)}" for title, ids in by_algorithm.items() if ids]
    layouts = [f"  {env_id}: {games.learning_of(env_id).layouts_help}" for env_id in games.learnable()]
    return _TRAIN_DESCRIPTION.format(learners="; ".join(learners), layouts="\n".join(layouts))


def example_id() -> str:
    """A game for examples."""
    return next(iter(games.learnable("alphazero")), registry.ids()[0])


def make_parser(name: str, description: str, example: str) -> Parser:
    """The parser of a command of ours."""
    return Parser(
        prog=f"audamir {name}",
        description=description,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_flags(parser: Parser, but: Sequence[str] = ()) -> None:
    """A flag for every field of the settings; those that both algorithms have are in a group of their own.

    Args: but: fields that get none.
    """
    known: dict[str, list[tuple[str, dataclasses.Field]]] = {}
    for title, kind in _GROUPS:
        for field in dataclasses.fields(kind):
            if field.name not in (*_NOT_FLAGS, *but):
                known.setdefault(field.name, []).append((title, field))
    titles = ("the run", _BOTH, "AlphaZero", "PPO")
    groups = {title: parser.add_argument_group(title) for title in titles}
    for name, uses in known.items():
        first, field = uses[0]
        texts = list(dict.fromkeys(use.metadata["help"] for _, use in uses))
        defaults = ", ".join(dict.fromkeys(repr(use.default) for _, use in uses))
        text = f"{'; PPO: '.join(texts)} [{defaults}]"
        kind = {"int": int, "float": float, "str": str}[str(field.type)]
        group = groups[first if len(uses) == 1 else _BOTH]
        group.add_argument(
            f"--{name.replace('_', '-')}", type=kind, help=text.replace("%", "%%"), metavar=kind.__name__.upper()
        )
