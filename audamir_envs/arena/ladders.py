"""All levels of an environment against each other, rated."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from audamir_envs import registry
from audamir_envs.agents.base import Agent
from audamir_envs.agents.loading import agent_names
from audamir_envs.arena import ratings, seating
from audamir_envs.arena.evaluation import checksums, plain, recorder, resolve, versions
from audamir_envs.arena.openings import Book
from audamir_envs.arena.openings import resolve as resolve_openings
from audamir_envs.arena.playing import Progress, check, play
from audamir_envs.arena.results import Games
from audamir_envs.core import Environment
from audamir_envs.files import write_result
from audamir_envs.intervals import interval


@dataclasses.dataclass(frozen=True)
class Ladder:
    """What ``ladder`` found. Mappings go by the agents' labels, the strongest first.

    ``rating`` is in Elo points with mean 0, ``interval`` its 95 % interval, ``first_move`` what moving first is worth
    (``arena.ratings``). ``score`` is the mean share of the win over ``played`` seats, ``against[a][b]`` that of a
    against b, for two players; ``against_interval`` has its 95 % intervals. ``cycles`` are the threes of agents of
    which each beats the next and the last the first, all three intervals being above one half: no rating tells that.
    """

    env: str
    options: dict[str, Any]
    agents: tuple[str, ...]
    games: int
    rating: dict[str, float]
    interval: dict[str, tuple[float, float]]
    first_move: float
    first_move_interval: tuple[float, float]
    score: dict[str, float]
    played: dict[str, int]
    against: dict[str, dict[str, float]]
    against_interval: dict[str, dict[str, tuple[float, float]]]
    cycles: tuple[tuple[str, str, str], ...]
    openskill: dict[str, tuple[float, float]]
    unfinished: int
    mean_length: float
    seconds: float
    settings: dict[str, Any]
    versions: dict[str, str]
    checkpoints: dict[str, str]  # checksums of the agents that were loaded from a level's file
    records: Games = dataclasses.field(repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Everything but the single games, as JSON knows it."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "records"}
        return fields | {"options": {name: plain(value) for name, value in self.options.items()}}

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Writes a picture of ratings and intervals, its format by the file's ending.

        Raises: ModuleNotFoundError saying what to install; ValueError for an unknown ending; OSError.
        """
        ending = check_plot(path)
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 1.2 + 0.4 * len(self.agents)), layout="constrained")
        axes = figure.add_subplot()
        place = np.arange(len(self.agents))[::-1]
        rating = np.array([self.rating[agent] for agent in self.agents])
        ends = np.array([self.interval[agent] for agent in self.agents])
        axes.errorbar(rating, place, xerr=np.abs(ends.T - rating), fmt="o", capsize=4, color="#1f4e79")
        axes.set_yticks(place, self.agents)
        axes.margins(y=0.2)
        axes.grid(axis="x", color="#dddddd")
        axes.set_axisbelow(True)
        axes.set_xlabel("rating (Elo points, 95 % intervals)")
        axes.set_title("\n".join([f"{self.env}, {self.games} games", _in_words(self.options)]), fontsize=10)
        content = io.BytesIO()
        figure.savefig(content, format=ending, dpi=150)
        write_result(path, content.getvalue())


def _in_words(options: dict[str, Any]) -> str:
    """The options that say something, for a title."""
    told = {name: value for name, value in options.items() if value is not None and value is not False}
    return ", ".join(
        f"{name} of one's own" if isinstance(value, (dict, list)) else f"{name} {value}" for name, value in told.items()
    )


def check_plot(path: str | os.PathLike[str]) -> str:
    """The format that a picture's ending means, found before games are played for it.

    Raises: ModuleNotFoundError saying what to install; ValueError naming the valid endings.
    """
    ending = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
    if ending not in ("png", "svg", "pdf"):
        raise ValueError(f"a plot ends in .png, .svg or .pdf, not {os.fspath(path)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ModuleNotFoundError("plots need matplotlib: pip install matplotlib")
    return ending


def ladder(
    env: Environment | str,
    agents: Sequence[Agent | str] | None = None,
    games: int = 100,
    *,
    seed: int = 0,
    opening_plies: int = 0,
    max_plies: int | None = None,
    batch: int | None = None,
    mirrored: bool = False,
    openings: str | Book | None = None,
    record: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Ladder:
    """Rates agents (default: all levels of the environment).

    With two players every pair plays ``games`` games, seats swapped. With more, every agent plays ``games`` or a few
    more, at tables of random others, equally often in every seat. The other arguments are those of ``evaluate``.
    Raises: ValueError for fewer than two agents, bad numbers, and an illegal action, naming its agent.
    """
    env = registry.make(env) if isinstance(env, str) else env
    check(games=games, seed=seed)
    entrants, labels = resolve(env, agent_names(env) if agents is None else agents)
    if len(entrants) < 2:
        raise ValueError(f"a ladder needs at least two agents, not {len(entrants)}")
    book, opening_plies, opening = resolve_openings(env, openings, opening_plies)
    mirrored = mirrored or book is not None
    players, count = env.num_players, len(entrants)
    if players == 2:
        seats, starts = seating.round_robin(count, games, mirrored)
    else:
        seats, starts = seating.tables(count, players, games, seed, mirrored)
    settings = {
        "seed": seed,
        "openings": opening,
        "opening_plies": opening_plies,
        "max_plies": max_plies,
        "mirrored": mirrored,
    }
    with recorder(env, record, entrants, labels, seats, {"each": games} | settings, batch) as written:
        records = play(
            env,
            entrants,
            seats,
            starts,
            seed=seed,
            opening_plies=opening_plies,
            max_plies=max_plies,
            batch=batch,
            book=book,
            recorder=written,
            progress=progress,
        )
    groups = records.groups(mirrored)
    fitted = ratings.fit(records, count, groups=groups)
    order = [int(place) for place in np.argsort(-fitted.rating, kind="stable")]
    ranked = tuple(labels[place] for place in order)
    skill = ratings.openskill_ratings(records, count) if players > 2 else None

    def by_label(values: Sequence[Any]) -> dict[str, Any]:
        return {labels[place]: values[place] for place in order}

    mine = records.seats[None] == np.arange(count)[:, None, None]  # bool [agents, games, players]
    against, intervals = _against(records, mine, labels, order, groups) if players == 2 else ({}, {})
    return Ladder(
        env=env.id,
        options=dict(env.options),
        agents=ranked,
        games=len(seats),
        rating=by_label(_rounded(fitted.rating)),
        interval=by_label(_intervals(fitted.rating, fitted.half_width)),
        first_move=_rounded(np.array([fitted.first_move]))[0],
        first_move_interval=_intervals(np.array([fitted.first_move]), np.array([fitted.first_move_half_width]))[0],
        score=by_label([float(records.shares[m].mean()) for m in mine]),
        played=by_label([int(m.sum()) for m in mine]),
        against=against,
        against_interval=intervals,
        cycles=cycles(intervals),
        openskill=by_label(skill) if skill else {},
        unfinished=int(records.unfinished.sum()),
        mean_length=float(records.plies.mean()),
        seconds=round(records.seconds, 3),
        settings={"games": games} | settings,
        versions=versions(env),
        checkpoints=checksums(entrants, labels),
        records=records,
    )


def cycles(intervals: Mapping[str, Mapping[str, tuple[float, float]]]) -> tuple[tuple[str, str, str], ...]:
    """The threes (a, b, c) where surely a beats b, b beats c and c beats a; each told once, in the mapping's order.

    Args: intervals: of the scores of the first against the second.
    """
    place = {agent: number for number, agent in enumerate(intervals)}
    beats = {a: {b for b, (low, _) in those.items() if low > 0.5} for a, those in intervals.items()}
    return tuple(
        (a, b, c)
        for a in intervals
        for b in sorted(beats[a], key=place.__getitem__)
        for c in sorted(beats[b], key=place.__getitem__)
        if a in beats[c] and place[a] < min(place[b], place[c])
    )


def _against(
    records: Games, mine: np.ndarray, labels: Sequence[str], order: list[int], groups: np.ndarray
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, tuple[float, float]]]]:
    """Scores of every pair and their 95 % intervals. Args: mine: bool [agents, games, 2]; groups: of games."""
    found: dict[str, dict[str, float]] = {labels[a]: {} for a in order}
    intervals: dict[str, dict[str, tuple[float, float]]] = {labels[a]: {} for a in order}
    for a, b in itertools.permutations(order, 2):
        both = mine[a].any(axis=1) & mine[b].any(axis=1)
        shares = records.shares[mine[a] & both[:, None]]
        score = float(shares.mean())
        found[labels[a]][labels[b]] = score
        intervals[labels[a]][labels[b]] = interval(shares, groups[both])
    return found, intervals


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 1) for value in values]


def _intervals(values: np.ndarray, half: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(_rounded(values - half), _rounded(values + half), strict=True))
