"""Measures the shipped levels, and writes what was found as tables and as cards.

``python docs/levels.py play ENV`` plays the matches of ``levels_plan.py`` one after the other into
``docs/ladder/ENV.json`` and goes on where it was stopped; ``tables ENV`` prints them in Markdown; ``card ENV`` writes
``card.md`` beside the level. Results belong to the level whose checksum they carry: those of others are left alone.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
from collections.abc import Sequence
from typing import Any

import jax
import levels_report as report
import numpy as np
from levels_plan import Match, learned, plan

import audamir_envs
from audamir_envs import arena, files
from audamir_envs.agents.base import Agent, RandomAgent
from audamir_envs.agents.loading import load_agent_text, parse_agent
from audamir_envs.cli import message_of
from audamir_envs.commands.common import check_writable, progress_bar, whole
from audamir_envs.core import Environment
from audamir_envs.learned.checkpoints import read_level

LADDER = pathlib.Path(__file__).resolve().parent / "ladder"
LEVELS = LADDER.parents[1] / "checkpoints"


def find_level(env_id: str, given: pathlib.Path | None) -> tuple[pathlib.Path, str]:
    """The file of the level that is measured, and its checksum.

    Raises: ValueError where none ships with the game, or for a file that is no level of it; FileNotFoundError.
    """
    # That of the checkout: an installed copy of the package may hold another one.
    path = given or LEVELS / env_id / "zero.safetensors"
    if not given and not path.is_file():
        raise ValueError(f"no level ships with {env_id}: name one by --level FILE.safetensors")
    return path, read_level(path, env_id)[2]["checksum"]


def read(path: pathlib.Path, env_id: str) -> dict[str, Any]:
    """What a file of results holds; an empty one where there is none. Raises: ValueError for another kind of file."""
    if not path.exists():
        return {"env": env_id, "machines": {}, "matches": []}
    try:
        found = json.loads(path.read_text())
        for entry in found["matches"]:
            _ = entry["match"]["entrants"], entry["result"]["score"], entry["level"]
        if found["env"] == env_id and isinstance(found["machines"], dict):
            return found
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{path} does not hold results of {env_id}")


def write(path: pathlib.Path, content: dict[str, Any]) -> None:
    """Whole or not at all. Raises: OSError."""
    files.write_text(path, json.dumps(content, indent=1) + "\n")


def waiting(matches: Sequence[Match], content: dict[str, Any], checksum: str | None) -> list[Match]:
    """The matches that the file does not hold yet for the level with this checksum."""
    done = [entry["match"] for entry in report.valid(content, checksum)]
    return [match for match in matches if match.to_json() not in done]


def play_match(env_id: str, match: Match, level: pathlib.Path | None, batch: int | None = None) -> dict[str, Any]:
    """Plays a match; the result as it is stored, but for the level's checksum."""
    env = audamir_envs.make(env_id, **match.options)
    by_text: dict[str, Agent] = {text: _agent(env, text, level) for text in dict.fromkeys(match.entrants)}
    with progress_bar(str(match)) as progress:
        result = arena.evaluate(
            env,
            [by_text[text] for text in match.entrants],
            match.games,
            seed=match.seed,
            opening_plies=match.opening_plies,
            max_plies=match.max_plies,
            mirrored=match.mirrored,
            batch=batch,
            progress=progress,
        )
    records = result.records
    row = np.arange(match.games)
    first = records.seats == 0  # where the first entrant sits
    starts = np.arange(env.num_players) == records.starter[:, None]
    return {
        "match": match.to_json(),
        "result": result.to_json() | {"batch": batch},
        "starter": _share(records.shares[row, records.starter]),
        "starting": _share(records.shares[first & starts]),
        "not_starting": _share(records.shares[first & ~starts]),
        "won": _own_moves(env, match, records) if env_id == "colony-v0" else {},
        "lost_from": _lost_from(env, match, records),
    }


def _agent(env: Environment, text: str, level: pathlib.Path | None) -> Agent:
    if not learned(text):
        return load_agent_text(env, text)
    name, settings = parse_agent(text)
    agent = audamir_envs.make_agent(env, str(level), policy=name == "zero-policy", **settings)
    agent.name = text
    return agent


def _share(shares: np.ndarray) -> dict[str, Any]:
    """Mean of single games' shares with Wilson's interval; nobody twice in one game."""
    if not shares.size:
        return {"games": 0, "score": None, "interval": None}
    return {
        "games": int(shares.size),
        "score": float(shares.mean()),
        "interval": list(arena.wilson(float(shares.mean()), shares.size)),
    }


def _own_moves(env: Environment, match: Match, records: arena.Games) -> dict[str, Any]:
    """Of the games that each entrant won: how many, its own moves, and its XP if the other is a scripted level."""
    from audamir_envs.colony.environment import XP_FACTORS

    final, row = records.final, np.arange(match.games)
    winner = records.shares.argmax(axis=1)
    won = (records.shares.max(axis=1) == 1) & ~records.unfinished
    moves = np.where(winner == final.mover, final.own_moves, final.enemy_moves)
    found = {}
    for number, (entrant, other) in enumerate(
        zip(dict.fromkeys(match.entrants), reversed(match.entrants), strict=False)
    ):
        mine = won & (records.seats[row, winner] == number)
        figures: dict[str, Any] = {"games": int(mine.sum())}
        if mine.any():
            figures["own_moves"] = float(moves[mine].mean())
            if other in XP_FACTORS:
                xp = jax.jit(jax.vmap(lambda game, other=other: env.info(env.state_of(game), (other,))["xp"]))(final)
                figures["xp"] = float(np.asarray(xp)[row, winner][mine].mean())
        found[entrant] = figures
    return found


def _lost_from(env: Environment, match: Match, records: arena.Games) -> list[dict[str, Any]]:
    """Of the games in which the learned first entrant got nothing: what stood behind the random opening, its place."""
    lost = np.flatnonzero(np.where(records.seats == 0, records.shares, 0).sum(axis=1) == 0)
    if env.stochastic or not (learned(match.entrants[0]) and match.opening_plies and lost.size):
        return []
    plies = match.opening_plies
    seats = np.zeros_like(records.seats)  # nobody's: the games are cut where the agents would take over
    opened = arena.play(
        env, [RandomAgent()], seats, records.starts, seed=match.seed, opening_plies=plies, max_plies=plies
    )
    states = jax.jit(jax.vmap(env.state_of))(opened.final)
    return [
        {
            "position": env.to_text(jax.tree.map(lambda leaf, game=game: np.asarray(leaf[game]), states)),
            "moved_first": bool(records.seats[game, records.starter[game]] == 0),
        }
        for game in lost
    ]


def play(arguments: argparse.Namespace) -> None:
    """Plays what is waiting. Raises: ValueError, OSError."""
    env_id, path = arguments.env, arguments.json
    try:
        only = re.compile(arguments.only)
    except re.error as error:
        raise ValueError(f"--only {arguments.only!r} is no regular expression: {error}") from None
    matches = [match for match in plan(env_id) if only.search(str(match))]
    if not matches:
        raise ValueError(f"--only {arguments.only!r} fits no match of {env_id}; one is {str(plan(env_id)[0])!r}")
    if arguments.games:
        matches = [match.with_games(arguments.games) for match in matches]
    check_writable(str(path))
    level, checksum = None, None
    if any(learned(entrant) for match in matches for entrant in match.entrants):
        level, checksum = find_level(env_id, arguments.level)
    due = waiting(matches, read(path, env_id), checksum)
    print(f"{len(matches) - len(due)} of {len(matches)} matches are there already", flush=True)
    for number, match in enumerate(due, 1):
        entry = {"level": checksum if report.of_level(match.entrants) else None}
        entry |= play_match(env_id, match, level, arguments.batch)
        content = read(path, env_id)  # anew: another process may have written meanwhile
        content["matches"].append(entry)
        write(path, content)
        figures = report.Figures.of(entry)
        print(f"{number}/{len(due)} {match}: {figures.score_text} of {match.games} games", flush=True)
        jax.clear_caches()  # every match is compiled anew, and what it leaves behind adds up


def tables(arguments: argparse.Namespace) -> None:
    """Prints the page with all tables. Raises: ValueError, OSError."""
    checksum = find_level(arguments.env, arguments.level)[1]
    content = read(arguments.json, arguments.env)
    entries = report.ordered(plan(arguments.env), report.valid(content, checksum))
    title = f"# The levels of {arguments.env.partition('-')[0].capitalize()}, measured"
    how = "what the figures mean and how to measure them again: [README](README.md)."
    written = f"Written by `python docs/levels.py tables {arguments.env}`; {how}"
    lines = [title, "", written, "", *report.tables(arguments.env, entries)]
    missing = waiting(plan(arguments.env), content, checksum)
    if entries and missing:
        lines += report.not_played(arguments.env, missing)
    print("\n".join(lines).rstrip("\n"))


def card(arguments: argparse.Namespace) -> None:
    """Writes the card. Raises: ValueError, OSError."""
    from audamir_training.exporting import describe, read_facts

    level, checksum = find_level(arguments.env, arguments.level)
    content = read(arguments.json, arguments.env)
    if arguments.machine is not None:
        content["machines"][checksum] = arguments.machine
        write(arguments.json, content)
    target = arguments.out or level.parent / "card.md"
    facts = read_facts(level)
    head = describe(level.stem, facts, content["machines"].get(checksum, ""))
    entries = report.ordered(plan(arguments.env), report.valid(content, checksum))
    rated = arguments.json.with_name(f"{arguments.env}-ladder.json")
    rating = json.loads(rated.read_text()) if rated.exists() else None
    existing = target.read_text() if target.exists() else ""
    files.write_text(target, report.card(arguments.env, head, entries, rating, existing))
    print(target)


def main(words: Sequence[str] | None = None) -> None:
    """Reads the command line; bad input ends with exit code 2 and one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="play|tables|card")
    for run in (play, tables, card):
        command = commands.add_parser(run.__name__, help=run.__doc__.split(". ")[0] if run.__doc__ else None)
        command.set_defaults(run=run)
        command.add_argument("env", metavar="ENV", help="environment id, such as colony-v0")
        command.add_argument("--json", type=pathlib.Path, metavar="FILE", help="results (default docs/ladder/ENV.json)")
        command.add_argument("--level", type=pathlib.Path, metavar="FILE", help="a level in place of the shipped zero")
        if run is play:
            command.add_argument("--games", type=whole(1), help="a match (default: as planned, 200 or more)")
            command.add_argument("--only", default="", metavar="REGEX", help="only matches whose line it is found in")
            command.add_argument("--batch", type=whole(1), metavar="N", help="games played at once")
        if run is card:
            command.add_argument("--machine", help="where the level was trained; kept with the results")
            command.add_argument("--out", type=pathlib.Path, metavar="FILE", help="(default card.md beside the level)")
    arguments = parser.parse_args(words)
    try:
        plan(arguments.env)
        arguments.json = arguments.json or LADDER / f"{arguments.env}.json"
        arguments.run(arguments)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        needs = '; pip install ".[train]"' if isinstance(error, ModuleNotFoundError) else ""
        print(f"levels.py: {message_of(error)}{needs}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:  # matches that ended are stored
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
