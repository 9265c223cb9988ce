"""``audamir bench``: sections of measurements, printed as tables and written as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from audamir_envs import streams
from audamir_envs.benchmark import checking
from audamir_envs.benchmark.timing import Timing, ratio, ratio_interval, time_in_turns
from audamir_envs.files import check_writable, write_result

SECTIONS = {
    "sampled": "random legal play by one jitted scan, auto-reset, hash sampler (steps/s)",
    "given": "recorded legal actions replayed, mask and observation included (steps/s)",
    "init": "new games (games/s)",
    "writing": "mask and observation filled and nothing else, the bound of the memory (steps/s)",
    "pettingzoo": "the AEC loop in Python (steps/s)",
    "vector": "Gymnasium VectorEnv against a level (learner's steps/s)",
    "levels": "decisions of the scripted levels, batched (decisions/s)",
    "search": "self-play search beside its network evaluations alone",
    "reference": "random plies by plain C++ on one core, compiled on the spot (plies/s)",
    "startup": "import and first jitted step (seconds)",
    "memory": "state of one game (bytes)",
}
PEERS = ("pgx", "pettingzoo")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of ``audamir bench``."""
    parser.add_argument("--against", default="", help="peers to measure beside ours, of: pgx,pettingzoo")
    usual = ",".join(section for section in SECTIONS if section not in ("writing", "reference"))
    parser.add_argument("--only", default=usual, help=f"sections, of: {','.join(SECTIONS)} (default: {usual})")
    parser.add_argument("--games", default="1,64,1024,16384", help="batch sizes of sampled and given play")
    parser.add_argument("--steps", type=int, default=64, help="steps of a timed run (500 and more: steady state)")
    parser.add_argument("--repetitions", type=int, default=5, help="timed runs of each program")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    parser.add_argument(
        "--check",
        metavar="FILE",
        help="measure again what this file of --json holds, and exit with 1 where a ratio to a peer has fallen by more "
        "than 5 %%",
    )
    parser.add_argument("--plot", metavar="FILE.png", help="plot how cost grows with batch, board side and players")


def run(arguments: argparse.Namespace) -> int:
    """Measures and prints. Raises: ValueError for a bad flag, naming what is valid; OSError."""
    check_writable(arguments.json)
    check_writable(arguments.plot)
    before = checking.read(arguments.check) if arguments.check else None
    if before is not None:  # the same programs, or the ratios could not be compared
        vars(arguments).update(before["arguments"], json=arguments.json, plot=arguments.plot, check=arguments.check)
    against = _names(arguments.against, PEERS, "--against")
    sections = _names(arguments.only, tuple(SECTIONS), "--only")
    batches = [_positive(text, "--games") for text in arguments.games.split(",")]
    for flag in ("steps", "repetitions"):
        _positive(str(getattr(arguments, flag)), f"--{flag}")
    console = Console()
    report: dict[str, Any] = {
        "machine": machine(),
        "load_before": load(),
        "arguments": {k: v for k, v in vars(arguments).items() if _plain(v)},
    }
    console.print(" · ".join(f"{name} {value}" for name, value in report["machine"].items()))
    measure = _Measure(console, against, batches, arguments.steps, arguments.repetitions)
    for section in sections:
        report[section] = getattr(measure, section)()
    if arguments.plot:
        from audamir_envs.benchmark.growth import plot_growth

        report["growth"] = plot_growth(arguments.plot, arguments.repetitions)
        console.print(f"plotted to {arguments.plot}")
    report["load_after"] = load()
    if arguments.json:
        write_result(arguments.json, json.dumps(report, indent=1) + "\n")
    return 0 if before is None else checking.compare(console, before, report)


def machine() -> dict[str, str]:
    """Where and with what the figures were measured."""
    import flax
    import gymnasium
    import jax
    import numpy
    import pettingzoo

    device = jax.devices()[0]
    versions = {module.__name__: module.__version__ for module in (jax, flax, numpy, gymnasium, pettingzoo)}
    cores = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    return {
        "date": time.strftime("%Y-%m-%d"),
        "device": f"{device.platform} ({device.device_kind})",
        "cpu": _cpu_name(),
        "cores": cores,
        "python": platform.python_version(),
        **versions,
    }


def load() -> list[float] | None:
    """How many processes wanted to run in the last 1, 5 and 15 minutes on average; None where nobody counts."""
    try:
        return [round(value, 2) for value in os.getloadavg()]
    except (AttributeError, OSError):
        return None


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float, bool, type(None)))


def _names(text: str, valid: tuple[str, ...], flag: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in valid:
            raise ValueError(f"{flag} {name!r} is not valid: use some of {','.join(valid)}")
    return names


def _positive(text: str, flag: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise ValueError(f"{flag} {text!r} is not valid: use whole numbers from 1")
    return int(text)


_Program = Callable[[Any, int, int], Callable[[], object]]  # (game, games, steps) -> what is timed


class _Measure:
    """One method a section; each prints its table and returns its figures for the JSON."""

    def __init__(self, console: Console, against: list[str], batches: list[int], steps: int, repetitions: int) -> None:
        self.console = console
        self.against = against
        self.batches = batches
        self.steps = steps
        self.repetitions = repetitions

    def sampled(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import rollouts

        return self._scans("sampled", rollouts.sampled, self.steps)

    def given(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import rollouts

        return self._scans("given", rollouts.given, self.steps)

    def init(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import rollouts

        return self._scans("init", lambda game, games, _: rollouts.initialised(game, games), 1)

    def writing(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import rollouts

        return self._scans("writing", rollouts.writing, self.steps)

    def pettingzoo(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import loops, rollouts
        from audamir_envs.bridges.pettingzoo import entry_points

        environments: dict[str, Any] = {
            name: entry_points(env_id)[0](**setup.options)
            for name, (env_id, setup) in rollouts.setups().items()
            if setup.alone
        }
        if "pettingzoo" in self.against:
            peers = {f"pettingzoo {name}": loops.classic(name) for name in loops.CLASSIC}
            environments |= {name: env for name, env in peers.items() if env is not None}
        programs = {name: (loops.aec_loop(env, 1000), 1000) for name, env in environments.items()}
        rivals = {name: "pettingzoo connect_four_v3" for name in environments if not name.startswith("pettingzoo")}
        return self._table("pettingzoo", programs, rivals)

    def vector(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import loops

        programs = {
            f"{env_id} {level} x{games}": (loops.vector_loop(env_id, level, games, 20), 20 * games)
            for env_id, level in _levels("weak", "normal")
            for games in (64, 1024)
        }
        return self._table("vector", programs)

    def levels(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import loops

        programs = {
            f"{env_id} {level}": (loops.decisions(env_id, level, 128), 128)
            for env_id, level in _levels("random", "weak", "normal", "strong")
        }
        return self._table("levels", programs)

    def search(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import searching

        rows = self._table("search", searching.programs())
        by_name = {row["name"]: row["median"] for row in rows}
        for env_id, (search, network) in searching.pairs().items():
            overhead = by_name[network] / by_name[search] - 1
            rows.append({"name": f"{env_id} overhead of the search", "overhead": overhead})
            self.console.print(f"{env_id}: search takes {overhead:.0%} more time than its network evaluations alone")
        return rows

    def reference(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import rollouts

        rows = []
        for reference in filter(None, (game.reference for game in rollouts.benchmarks().values())):
            rates = [reference.plies_per_second(2_000_000, seed) for seed in range(self.repetitions)]
            rows.append({"name": reference.name, "plies a second": statistics.median(rates)})
        return self._rows("reference", rows, "plies a second", "{:,.0f}")

    def startup(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import rollouts, startup

        rows = [{"name": "import audamir_envs", "seconds": startup.import_seconds()}]
        rows.append({"name": "import jax alone", "seconds": startup.import_seconds("jax")})
        for name, (env_id, setup) in rollouts.setups().items():
            seconds = startup.first_step_seconds(env_id, dict(setup.options))
            rows.append({"name": f"{name}, first jitted step", "seconds": seconds})
        return self._rows("startup", rows, "seconds", "{:.2f}")

    def memory(self) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import rollouts

        games = rollouts.contenders(tuple(self.against)).items()
        return self._rows(
            "memory", [{"name": name, "bytes": rollouts.bytes_a_game(game)} for name, game in games], "bytes", "{:,}"
        )

    def _scans(self, section: str, program: _Program, steps: int) -> list[dict[str, Any]]:
        from audamir_envs.benchmark import rollouts

        rows = []
        for games in self.batches:
            with streams.waiting("compiling"):
                programs = {
                    name: (program(game, games, steps), games * steps)
                    for name, game in rollouts.contenders(tuple(self.against)).items()
                }
            title = f"{games:,} games, {steps} steps" if steps > 1 else f"{games:,} games"
            for row in self._table(section, programs, rollouts.rivals(), title):
                rows.append({"games": games, **row})
        return rows

    def _table(
        self,
        section: str,
        programs: Mapping[str, tuple[Callable[[], object], int]],
        rivals: Mapping[str, str] | None = None,
        title: str = "",
    ) -> list[dict[str, Any]]:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task(f"{section} {title}", total=self.repetitions * len(programs))
            timings = time_in_turns(programs, self.repetitions, lambda: progress.advance(task))
        rows = [_row(name, timing, timings, rivals or {}) for name, timing in timings.items()]
        table = Table(title=f"{SECTIONS[section]}{', ' + title if title else ''}", title_justify="left")
        for column, justify in (
            ("game", "left"),
            ("median", "right"),
            ("slowest to fastest", "right"),
            ("ratio (95 %)", "left"),
        ):
            table.add_column(column, justify=justify)  # type: ignore[arg-type]
        for row in rows:
            compared = (
                f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f}) x {row['against']}"
                if "ratio" in row
                else ""
            )
            table.add_row(
                row["name"], f"{row['median']:,.0f}", f"{row['slowest']:,.0f} to {row['fastest']:,.0f}", compared
            )
        self.console.print(table)
        return rows

    def _rows(self, section: str, rows: Iterable[dict[str, Any]], field: str, form: str) -> list[dict[str, Any]]:
        rows = list(rows)
        table = Table("what", field, title=SECTIONS[section], title_justify="left")
        for row in rows:
            table.add_row(row["name"], form.format(row[field]))
        self.console.print(table)
        return rows


def _levels(*names: str) -> list[tuple[str, str]]:
    """(id, level) of those levels that a game has."""
    from audamir_envs.agents.loading import agent_names
    from audamir_envs.registry import working

    return [(env_id, name) for env_id in working() for name in names if name in agent_names(env_id)]


def _row(name: str, timing: Timing, timings: Mapping[str, Timing], rivals: Mapping[str, str]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "median": timing.rate,
        "slowest": timing.spread[0],
        "fastest": timing.spread[1],
    }
    rival = rivals.get(name)
    if rival is not None and rival in timings:
        low, high = ratio_interval(timing, timings[rival])
        row |= {"ratio": ratio(timing, timings[rival]), "low": low, "high": high, "against": rival}
    return row
