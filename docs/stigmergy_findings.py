"""What a trained level of Stigmergy has found out about the game: measures, and fills in stigmergy-findings.md.

``python docs/stigmergy_findings.py PART [--level PATH]``. The parts that measure: ``regret``, decisions on side 3
against the exact table; ``limit``, what perfect play scores there after two random plies; ``komi``, self-play at komi
values around even; ``first``, first moves by side; ``games``, whole games. Their results go into one JSON file as they
come, under the level's checksum: what it holds already is not measured again, and those of other levels are left alone.
``tables`` prints the results, ``page`` writes them into the page and draws the pictures.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import jax
import stigmergy_findings_measure as measure
import stigmergy_findings_report as report

from audamir_envs import files
from audamir_envs.agents.base import Agent
from audamir_envs.agents.loading import make_agent
from audamir_envs.arena.evaluation import versions
from audamir_envs.cli import message_of
from audamir_envs.learned import shipped
from audamir_envs.learned.checkpoints import load_agent, read_level
from audamir_envs.learned.zero import Zero
from audamir_envs.registry import make
from audamir_envs.stigmergy import rules
from audamir_envs.stigmergy.scripted import FAIR_KOMI
from audamir_envs.stigmergy.solver import check_side, solve

ENV = "stigmergy-v0"
DOCS = pathlib.Path(__file__).resolve().parent
POSITIONS = DOCS.parent / "tests/data/stigmergy_exact_side3.jsonl"
REGRET_SIMULATIONS = (8, 32, 64, 128)
SCRIPTED = ("random", "weak", "normal", "strong")  # judged by the same positions, to compare with
LIMIT_KOMIS = (0, 2, 4)
LIMIT_PAIRS = (("perfect", "strong"), ("perfect", "zero:simulations=64"), ("zero:simulations=64", "strong"))
SIDES = {"regret": (3,), "limit": (3,), "komi": range(2, 9), "first": range(2, 9), "games": (5, 6, 8)}
SIMULATIONS = {"komi": 64, "first": 256, "games": 256}
GAMES = {7: 100, 8: 60}  # for each komi; 200 on smaller sides
MOST_KOMI = 12  # values of komi measured on one side
FORMAT = "audamir-stigmergy-findings-1"


class Store:
    """The results of one level in a JSON file, written whole after each."""

    def __init__(self, path: pathlib.Path, checksum: str) -> None:
        self.path, self.checksum = path, checksum
        self._read()

    def results(self) -> dict[str, dict[str, Any]]:
        """By part, then by settings."""
        return self._read()["levels"].get(self.checksum, {}).get("results", {})

    def has(self, part: str, settings: dict[str, Any]) -> bool:
        """Whether a part has been measured under these settings."""
        return _key(settings) in self.results().get(part, {})

    def add(self, part: str, settings: dict[str, Any], found: dict[str, Any]) -> None:
        """Writes one result. The file is read again first, since another part may run at the same time."""
        content = self._read()
        level = content["levels"].setdefault(self.checksum, {"results": {}})
        level["versions"] = versions(make(ENV))
        level["results"].setdefault(part, {})[_key(settings)] = settings | found
        files.write_text(self.path, json.dumps(content, indent=1, allow_nan=False) + "\n")

    def _read(self) -> dict[str, Any]:
        """Raises: ValueError: something else."""
        if not self.path.exists():
            return {"format": FORMAT, "levels": {}}
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError:
            content = None
        whole = isinstance(content, dict) and isinstance(content.get("levels"), dict)
        if not whole or content.get("format") != FORMAT:
            raise ValueError(f"{self.path} holds no results of this program, or is damaged")
        return content


def _key(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def checksum_of(level: str) -> str:
    """Of a shipped level's name or a file. Raises: ValueError, OSError: no level of Stigmergy."""
    levels = shipped(ENV)
    if level not in levels and not pathlib.Path(level).exists():
        known = ", ".join(levels) or "none"
        raise ValueError(f"there is no file {level!r} and no level of that name comes with {ENV} (there is {known})")
    return read_level(levels.get(level, level), ENV)[2]["checksum"]


def measure_regret(chosen: argparse.Namespace, store: Store) -> Iterator[str]:
    """Agents on the stored positions that are won for the mover."""
    wanted: list[tuple[str, dict[str, Any] | None]] = [("zero-policy", {"policy": True})]
    wanted += [(f"zero:simulations={n}", {"simulations": n}) for n in chosen.simulations or REGRET_SIMULATIONS]
    wanted += [(name, None) for name in SCRIPTED]
    for side in chosen.sides or SIDES["regret"]:
        check_side(side)
        komi = FAIR_KOMI[side] if chosen.komi is None else chosen.komi
        settings = {name: {"agent": name, "side": side, "komi": komi} for name, _ in wanted}
        todo = [each for each in wanted if not store.has("regret", settings[each[0]])]
        if not todo:
            continue
        table = solve(side, chosen.cache)
        won = measure.won_positions(measure.read_positions(chosen.positions, table), table, komi)
        for name, options in todo:
            agent: Agent | str = name if options is None else load_agent(ENV, chosen.level, **options)
            found = measure.regret_entry(agent, won, table, komi)
            store.add("regret", settings[name], found)
            share = report.percent(found["kept"] / found["positions"], found["interval"])
            yield f"{name}: win kept in {share} % of {found['positions']}, {found['dropped']} points dropped"


def measure_limit(chosen: argparse.Namespace, store: Store) -> Iterator[str]:
    """A perfect player and the level in games that two random plies may have decided already."""
    games = 400 if chosen.games is None else chosen.games
    for side in chosen.sides or SIDES["limit"]:
        check_side(side)
        for komi in LIMIT_KOMIS if chosen.komi is None else (chosen.komi,):
            for names in LIMIT_PAIRS:
                settings = {"agent": names[0], "opponent": names[1], "side": side, "komi": komi, "games": games}
                if store.has("limit", settings):
                    continue
                agents = [_limit_agent(name, side, chosen) for name in names]
                found = measure.limit_entry(agents[0], agents[1], side, komi, games)
                store.add("limit", settings, found)
                share = report.percent(found["score"], found["interval"])
                yield f"side {side}, komi {komi}: {names[0]} {share} % against {names[1]}"


def _limit_agent(name: str, side: int, chosen: argparse.Namespace) -> Agent:
    if name == "perfect":
        return measure.perfect_player(solve(side, chosen.cache))
    if name == "strong":
        return make_agent(ENV, name)
    return load_agent(ENV, chosen.level, simulations=64)


def measure_komi(chosen: argparse.Namespace, store: Store) -> Iterator[str]:
    """Self-play from the guess outward on each side."""
    for simulations in _simulations("komi", chosen):
        agent = load_agent(ENV, chosen.level, simulations=simulations, noise=chosen.noise)
        for side in chosen.sides or SIDES["komi"]:
            games = GAMES.get(side, 200) if chosen.games is None else chosen.games
            guess = FAIR_KOMI[side] if chosen.guess is None else chosen.guess
            limit = rules.tables(side).max_komi
            while True:
                group = report.komi_groups(store.results()).get((side, simulations, chosen.noise), {})
                values = report.shares({k: e for k, e in group.items() if e["games"] >= games})
                komi = measure.next_komi(values, guess, limit, MOST_KOMI)
                if komi is None:
                    break
                found = measure.komi_entry(agent, side, komi, games)
                settings = {"side": side, "komi": komi, "simulations": simulations, "noise": chosen.noise}
                store.add("komi", settings | {"games": games}, found)
                jax.clear_caches()
                share = report.percent(found["black"], found["interval"])
                yield f"side {side}, komi {komi}: Black {share} % of {games}, {found['seconds']} s"
            yield f"side {side}: {report.between(measure.crossing(values))}"


def measure_first(chosen: argparse.Namespace, store: Store) -> Iterator[str]:
    """First moves at komi 0 and the even one."""
    for simulations in _simulations("first", chosen):
        searcher = _searcher(chosen, simulations)
        for side in chosen.sides or SIDES["first"]:
            for komi in sorted({0, _komi(chosen, store, side)}):
                settings = {"side": side, "komi": komi, "simulations": simulations}
                if store.has("first", settings):
                    continue
                exact = solve(side, chosen.cache).first_moves() if side in report.EXACT else None
                found = measure.first_entry(searcher, side, komi, exact)
                store.add("first", settings, found)
                best = max(found["moves"], key=lambda move: move["chance"])
                yield f"side {side}, komi {komi}: {best['cells'][0]}, Black {report.percent(best['chance'])} %"


def measure_games(chosen: argparse.Namespace, store: Store) -> Iterator[str]:
    """A game on each side at the even komi."""
    for simulations in _simulations("games", chosen):
        searcher = _searcher(chosen, simulations)
        for side in chosen.sides or SIDES["games"]:
            settings = {"side": side, "komi": _komi(chosen, store, side), "simulations": simulations}
            if not store.has("games", settings):
                found = measure.game_entry(searcher, side, settings["komi"])
                store.add("games", settings, found)
                yield f"side {side}, komi {settings['komi']}: {' '.join(p['move'] for p in found['plies'])}"


MEASURES = {
    "regret": measure_regret,
    "limit": measure_limit,
    "komi": measure_komi,
    "first": measure_first,
    "games": measure_games,
}


def _simulations(part: str, chosen: argparse.Namespace) -> list[int]:
    return chosen.simulations or [SIMULATIONS[part]]


def _searcher(chosen: argparse.Namespace, simulations: int) -> measure.Searcher:
    agent = load_agent(ENV, chosen.level, simulations=simulations)
    if not isinstance(agent, Zero):
        raise ValueError(f"{chosen.level} has no search over a hexagonal network")
    return measure.Searcher(agent)


def _komi(chosen: argparse.Namespace, store: Store, side: int) -> int:
    return report.even_komi(store.results(), side) if chosen.komi is None else chosen.komi


def write_page(page: pathlib.Path, results: report.Results) -> None:
    """Fills the page and draws its pictures; those of results that are gone are removed."""
    text = report.fill(page.read_text(encoding="utf-8"), results)
    folder = page.parent / report.PICTURES
    pictures = report.pictures(results)
    for name, svg in pictures.items():
        files.write_text(folder / name, svg)
    for old in [*folder.glob("first-move-side*.svg"), *folder.glob("game-side*.svg")]:
        if old.name not in pictures:
            old.unlink()
    files.write_text(page, text)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("part", choices=(*MEASURES, "tables", "page"))
    found.add_argument("--level", default="zero", help="a .safetensors file, or a level that comes with the package")
    found.add_argument("--json", type=pathlib.Path, default=DOCS / "ladder/stigmergy-findings.json", help="the results")
    found.add_argument(
        "--page", type=pathlib.Path, default=DOCS / "stigmergy-findings.md", help="page: what to fill in"
    )
    found.add_argument("--sides", type=int, nargs="+", choices=range(2, 13), metavar="SIDE", help="2 to 12")
    found.add_argument("--simulations", type=int, nargs="+", help=f"of the search; default {SIMULATIONS}")
    found.add_argument(
        "--games", type=int, help=f"komi: for each value, default 200, on larger sides {GAMES}; limit: 400"
    )
    found.add_argument("--noise", type=float, default=1.0, help="komi: 1 draws moves from the improved policy")
    found.add_argument("--guess", type=int, help="komi: where to begin; default: the even komi of Strong's games")
    found.add_argument("--komi", type=int, help="regret, limit, first, games: instead of the even one")
    found.add_argument("--positions", type=pathlib.Path, default=POSITIONS, help="regret: with exact margins")
    found.add_argument("--cache", help="a folder for the solved board of side 3")
    return found


def run(arguments: list[str] | None = None) -> None:
    """Reads the command line and does the part; a bad argument ends the program with one line."""
    command = parser()
    chosen = command.parse_args(arguments)
    try:
        store = Store(chosen.json, checksum_of(chosen.level))
        if chosen.part == "tables":
            for name, block in report.BLOCKS.items():
                print(f"## {name}\n\n{block(store.results())}\n")
            print(f"## games\n\n{report.games_blocks(store.results(), {})}")
        elif chosen.part == "page":
            write_page(chosen.page, store.results())
        else:
            began = time.perf_counter()
            for line in MEASURES[chosen.part](chosen, store):
                print(f"[{time.perf_counter() - began:6.0f} s] {line}", flush=True)
    except (ValueError, OSError) as error:
        command.error(message_of(error))
    except KeyboardInterrupt:  # what was measured is stored
        raise SystemExit(130) from None


if __name__ == "__main__":
    run()
