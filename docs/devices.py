"""Measures a device: steps, search and training by batch size. Writes its section of docs/devices.md, and the figures.

    python docs/devices.py                        # on whatever device JAX finds; an hour on a GPU
    python docs/devices.py --games 1024 --minutes 1 --repetitions 3

Batches that do not fit into the device's memory are left out and said so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import audamir_envs
from audamir_envs.benchmark import rollouts, searching
from audamir_envs.benchmark.command import load, machine
from audamir_envs.benchmark.timing import time_in_turns
from audamir_envs.files import check_writable, write_result

PAGE = Path(__file__).with_name("devices.md")
GAMES = tuple(2**power for power in range(10, 18))
STEPS = 64
HEAD = """\
# Devices

Steps, searched positions and training by batch size, each section written by `python docs/devices.py` on its device. A
dash: it did not fit into the device's memory, or was not measured.
"""

Programs = Callable[[int], dict[str, tuple[Callable[[], object], int]]]


def main(words: Sequence[str] | None = None) -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", default=",".join(map(str, GAMES)), help="batch sizes (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=7, help="timed runs of each program (default: %(default)s)")
    parser.add_argument(
        "--minutes", type=float, default=3, help="training of each game; 0: none (default: %(default)s)"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="default: docs/devices.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    arguments = parser.parse_args(words)
    for path in (arguments.page, arguments.json):
        check_writable(path)
    games = [int(text) for text in arguments.games.split(",")]
    report: dict[str, Any] = {"machine": machine(), "load_before": load()}
    report["given actions, steps a second"] = by_batch(_given, games, arguments.repetitions)
    report["sampled with auto-reset, steps a second"] = by_batch(_sampled, games, arguments.repetitions)
    report["search, positions a second"] = by_batch(searching.programs, games, arguments.repetitions)
    if arguments.minutes:
        report["training"] = {env_id: training(env_id, arguments.minutes) for env_id in audamir_envs.ids()}
    report["load_after"] = load()
    if arguments.json:
        write_result(arguments.json, json.dumps(report, indent=1) + "\n")
    old = arguments.page.read_text(encoding="utf-8") if arguments.page.is_file() else HEAD
    write_result(arguments.page, with_section(old, report))
    return 0


def by_batch(programs: Programs, games: Sequence[int], repetitions: int) -> dict[str, dict[str, float | None]]:
    """Units a second of each program for each batch; None where the device's memory was too small."""
    found: dict[str, dict[str, float | None]] = {}
    for batch in games:
        try:
            rates = {name: timing.rate for name, timing in time_in_turns(programs(batch), repetitions).items()}
        except (RuntimeError, MemoryError) as error:  # JAX's own error of memory is a RuntimeError
            if "memory" not in str(error).lower() and "RESOURCE_EXHAUSTED" not in str(error):
                raise
            print(f"{batch:,} at once do not fit into the memory", file=sys.stderr)
            rates = {}
        for name in {*found, *rates}:
            found.setdefault(name, {})[str(batch)] = rates.get(name)
    return found


def training(env_id: str, minutes: float) -> float | None:
    """Positions a second of the preset ``quick`` after its first lines, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", env_id, "--preset", "quick", "--minutes", str(minutes), "--out", folder, "--quiet"]
        subprocess.run([sys.executable, "-m", "audamir_training", *words], check=True)
        lines = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    rates = [line["positions_per_second"] for line in lines if line["kind"] == "train"]
    return statistics.median(rates[len(rates) // 4 :]) if rates else None


def _given(batch: int) -> dict[str, tuple[Callable[[], object], int]]:
    return {name: (rollouts.given(game, batch, STEPS), batch * STEPS) for name, game in rollouts.contenders(()).items()}


def _sampled(batch: int) -> dict[str, tuple[Callable[[], object], int]]:
    return {
        name: (rollouts.sampled(game, batch, STEPS), batch * STEPS) for name, game in rollouts.contenders(()).items()
    }


def with_section(page: str, report: dict[str, Any]) -> str:
    """The page with this device's section new, or in place of its old one."""
    title = f"## {report['machine']['device']}, {report['machine']['cpu']}"
    parts = re.split(r"(?m)^(?=## )", page)
    kept = [part.rstrip() + "\n" for part in parts if part.splitlines()[:1] != [title]]
    return "\n".join([*kept, section(title, report)])


def section(title: str, report: dict[str, Any]) -> str:
    """A device's section as Markdown."""
    versions = ", ".join(f"{name} {report['machine'][name]}" for name in ("python", "jax") if name in report["machine"])
    lines = [title, "", f"{report['machine']['date']}, {report['machine']['cores']} cores, {versions}; load "]
    lines[-1] += f"{report['load_before']} before and {report['load_after']} after."
    for name, rows in report.items():
        if name in ("machine", "load_before", "load_after"):
            continue
        if name == "training":
            lines += [
                "",
                "### training, positions a second (preset `quick`)",
                "",
                "| game | positions/s |",
                "|---|---|",
            ]
            lines += [f"| {game} | {_number(rate)} |" for game, rate in rows.items()]
            continue
        batches = list(next(iter(rows.values()), {}))
        lines += ["", f"### {name}", "", "| | " + " | ".join(f"{int(batch):,}" for batch in batches) + " |"]
        lines.append("|---|" + "---|" * len(batches))
        lines += [
            f"| {row} | " + " | ".join(_number(rates.get(b)) for b in batches) + " |" for row, rates in rows.items()
        ]
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


if __name__ == "__main__":
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # training is another process on the same device
    sys.exit(main())
