"""Agents against each other, seats balanced, with intervals."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from audamir_envs import registry
from audamir_envs.agents.base import Agent
from audamir_envs.agents.loading import load_agent_text
from audamir_envs.arena.openings import Book
from audamir_envs.arena.openings import resolve as resolve_openings
from audamir_envs.arena.playing import Progress, check, play
from audamir_envs.arena.recording import Recorder
from audamir_envs.arena.results import Games
from audamir_envs.arena.seating import rotated
from audamir_envs.arena.sprt import Match, Sprt
from audamir_envs.core import Environment
from audamir_envs.intervals import interval
from audamir_envs.records import header_of

SPRT_PLIES = 2  # random ones at the start of a sequential test for which no openings are named


@dataclasses.dataclass(frozen=True)
class SeatFigures:
    """An agent's results in one seat; an agent that fills several seats counts once for each."""

    games: int
    wins: int
    draws: int
    losses: int
    score: float
    interval: tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What ``evaluate`` found. Mappings go by the agents' labels.

    ``wins`` are sole wins, ``draws`` the games drawn at the top, ``losses`` the games without a share for the agent;
    ``score`` is the mean share of the win a seat, ``interval`` its 95 % interval (see ``audamir_envs.intervals``).
    """

    env: str
    options: dict[str, Any]
    agents: tuple[str, ...]
    games: int
    wins: dict[str, int]
    draws: int
    losses: dict[str, int]
    score: dict[str, float]
    interval: dict[str, tuple[float, float]]
    by_seat: dict[str, tuple[SeatFigures, ...]]
    mean_length: float
    unfinished: int
    repeated: int  # games that are others once more, since agents that draw nothing played from one start
    seconds: float
    compile_seconds: float
    decisions_per_second: float
    settings: dict[str, Any]
    versions: dict[str, str]
    checkpoints: dict[str, str]  # checksums of the agents that were loaded from a level's file
    sprt: dict[str, Any] | None  # the sequential test that ended the match, if one was asked for (``sprt.Match``)
    records: Games = dataclasses.field(repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Everything but the single games, as JSON knows it."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "records"}
        fields["options"] = {name: plain(value) for name, value in self.options.items()}
        fields["by_seat"] = {a: [dataclasses.asdict(seat) for seat in seats] for a, seats in self.by_seat.items()}
        return fields

    def __str__(self) -> str:
        lines = [f"{self.env}: {self.games} games, mean length {self.mean_length:.1f} plies"]
        for agent in self.agents:
            low, high = self.interval[agent]
            seats = " ".join(f"{seat.score:.3f}" for seat in self.by_seat[agent])
            lines.append(
                f"{agent}: {self.wins[agent]} won, {self.losses[agent]} lost, score {self.score[agent]:.3f} "
                f"({low:.3f} to {high:.3f}), by seat {seats}"
            )
        told = f"{self.draws} drawn, {self.unfinished} unfinished, "
        told += f"{self.repeated} the same as others, " if self.repeated else ""
        lines.append(f"{told}{self.decisions_per_second:,.0f} decisions/s")
        return "\n".join(lines)


def evaluate(
    env: Environment | str,
    agents: Sequence[Agent | str],
    games: int = 100,
    *,
    seed: int = 0,
    opening_plies: int = 0,
    max_plies: int | None = None,
    batch: int | None = None,
    mirrored: bool = False,
    openings: str | Book | None = None,
    sprt: Sprt | None = None,
    record: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Plays ``games`` games with rotated seats.

    Args:
        env: an environment, or an id for its default options.
        agents: one for each seat, or two: with more than two players the first then takes one seat and the second fills
            the others. A text stands for an agent as on the command line: ``name:setting=value,...``, the path of a
            checkpoint or ``module:function``.
        opening_plies: random legal actions at the start.
        max_plies: games this long are cut, counted as unfinished and settled on points.
        batch: games at once.
        mirrored: the games of one rotation (two players: a pair) share start, opening and dice.
        openings: ``book`` (the one shipped for these options), the path of a book or a ``Book``: games start from its
            positions, and are mirrored; ``random:N``: the same as ``opening_plies=N``; ``none``.
        sprt: a sequential test between two agents (``arena.Sprt``): ``games`` are then the most that are played, the
            match ends when it is decided or repeats itself, and games are mirrored. Each opening of a book is played
            once; where no openings are named, they are two random plies.
        record: a file to which each game is appended as it ends (docs/records.md). Where it holds games of the same
            arguments already, only the others are played.
        progress: called every few plies.

    The same arguments on the same machine give the same result. Where ``games`` is no multiple of the number of
    players, seats differ by one game.
    Raises: ValueError for agents that do not fit the seats, bad numbers, and an illegal action, naming its
    agent; TypeError: no agent; OSError: a record that cannot be written.
    """
    env = registry.make(env) if isinstance(env, str) else env
    players = env.num_players
    if len(agents) not in (2, players):
        valid = "two agents" if players == 2 else f"two agents, or one for each of the {players} seats"
        raise ValueError(f"{env.id} here needs {valid}, not {len(agents)}")
    check(games=games, seed=seed)
    entrants, labels = resolve(env, agents)
    owner = np.minimum(np.arange(players), len(entrants) - 1)  # the entrant of each place in the circle
    if sprt is not None and openings is None and not opening_plies:
        opening_plies = SPRT_PLIES
    book, opening_plies, opening = resolve_openings(env, openings, opening_plies)
    if sprt is not None and (players != 2 or games % 2):
        raise ValueError(f"a sequential test is for two players and pairs of games, not {players} and {games} games")
    if sprt is not None and book is not None:  # an opening that is played again is no independent observation
        games = min(games, 2 * len(book.openings))
    mirrored = mirrored or book is not None or sprt is not None
    places, starts = rotated(players, games, seed, mirrored)
    distinct, number = _distinct(entrants)
    settings = {
        "seed": seed,
        "openings": opening,
        "opening_plies": opening_plies,
        "max_plies": max_plies,
        "mirrored": mirrored,
    }
    if sprt is not None:
        settings["sprt"] = dataclasses.asdict(sprt)
    match = None if sprt is None else Match(sprt, places.argmin(axis=1))
    with recorder(env, record, entrants, labels, owner[places], settings, batch) as written:
        records = play(
            env,
            distinct,
            number[owner[places]],
            starts,
            seed=seed,
            opening_plies=opening_plies,
            max_plies=max_plies,
            batch=batch,
            book=book,
            recorder=written,
            enough=None if match is None else match.enough,
            progress=progress,
        )
    places = places[: len(records.plies)]
    groups = records.groups(mirrored)
    figures = {label: _figures(owner[places] == i, records, groups) for i, label in enumerate(labels)}
    return Evaluation(
        env=env.id,
        options=dict(env.options),
        agents=labels,
        games=len(places),
        wins={label: f.wins for label, f in figures.items()},
        draws=int((records.shares.max(axis=1) < 1).sum()),
        losses={label: f.losses for label, f in figures.items()},
        score={label: f.score for label, f in figures.items()},
        interval={label: f.interval for label, f in figures.items()},
        by_seat={label: _by_seat(owner[places] == i, records, groups) for i, label in enumerate(labels)},
        mean_length=float(records.plies.mean()),
        unfinished=int(records.unfinished.sum()),
        repeated=records.repeated(),
        seconds=round(records.seconds, 3),
        compile_seconds=round(records.compile_seconds, 3),
        decisions_per_second=round(records.decisions / max(records.seconds, 1e-9), 1),
        settings=settings,
        versions=versions(env),
        checkpoints=checksums(entrants, labels),
        sprt=None if match is None else match.to_json(),
        records=records,
    )


def recorder(
    env: Environment,
    path: str | os.PathLike[str] | None,
    agents: Sequence[Agent],
    labels: Sequence[str],
    seats: np.ndarray,
    settings: dict[str, Any],
    batch: int | None,
) -> contextlib.AbstractContextManager[Recorder | None]:
    """What writes a run's games down; of no path, nothing. Raises: as ``records.header_of`` and ``records.Writer``."""
    if path is None:
        return contextlib.nullcontext()
    header = header_of(
        env,
        list(zip(labels, agents, strict=True)),
        seed=settings["seed"],
        protocol={"games": len(seats)} | settings | {"batch": batch},
        versions=versions(env),
    )
    return Recorder(env, path, header, seats, settings["opening_plies"])


def resolve(env: Environment, agents: Sequence[Agent | str]) -> tuple[list[Agent], tuple[str, ...]]:
    """The agents, texts being loaded, and a label for each: as written, equal ones told apart by ``#2``, ``#3``, ...

    Raises: ValueError, as ``load_agent_text``; TypeError: no agent.
    """
    for agent in agents:
        if not isinstance(agent, str) and not (hasattr(agent, "name") and callable(getattr(agent, "act", None))):
            raise TypeError(f"{agent!r} is no agent: use a level, an object with name and act, or from_callable(fn)")
        game = getattr(agent, "env_id", "")
        if game not in ("", env.id):
            raise ValueError(f"agent {agent.name!r} plays {game}, not {env.id}")  # type: ignore[union-attr]
    entrants: list[Agent] = []
    labels: list[str] = []
    written = [agent if isinstance(agent, str) else agent.name for agent in agents]
    for place, (text, agent) in enumerate(zip(written, agents, strict=True)):
        count = written[:place].count(text)
        labels.append(text if count == 0 else f"{text}#{count + 1}")
        entrants.append(load_agent_text(env, agent) if isinstance(agent, str) else agent)
    return entrants, tuple(labels)


def checksums(agents: Sequence[Agent], labels: Sequence[str]) -> dict[str, str]:
    """By label which parameters played, of those agents that have any and say so."""
    found = {label: getattr(agent, "checksum", None) for label, agent in zip(labels, agents, strict=True)}
    return {label: checksum for label, checksum in found.items() if checksum is not None}


def versions(env: Environment) -> dict[str, str]:
    """What a result depends on."""
    found = {"python": platform.python_version(), env.id: env.version}
    for package in ("audamir-envs", "jax", "jaxlib", "mctx", "numpy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            from audamir_envs import __version__

            found[package] = __version__ if package == "audamir-envs" else "not installed"
    return found


def plain(value: Any) -> Any:
    """An option as JSON knows it: other things than numbers, texts and lists by their description."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else repr(value)


def _distinct(entrants: list[Agent]) -> tuple[list[Agent], np.ndarray]:
    """The agents without repetitions, and the number of each entrant's agent: an agent is compiled once."""
    distinct: list[Agent] = []
    number = []
    for entrant in entrants:
        place = next((i for i, agent in enumerate(distinct) if agent is entrant), len(distinct))
        if place == len(distinct):
            distinct.append(entrant)
        number.append(place)
    return distinct, np.array(number, np.int32)


def _figures(mine: np.ndarray, records: Games, groups: np.ndarray) -> SeatFigures:
    """Of all games of an entrant.

    Args: mine: bool [games, players], its seats, equally many in every game; groups: as ``Games.groups``.
    """
    seats = int(mine[0].sum())
    shares = np.where(mine, records.shares, 0).sum(axis=1)  # of all its seats together: between 0 and 1
    low, high = interval(shares, groups)
    wins = int((np.where(mine, records.shares, 0).max(axis=1) >= 1).sum())
    losses = int((shares <= 0).sum())
    return SeatFigures(
        games=len(shares),
        wins=wins,
        draws=len(shares) - wins - losses,
        losses=losses,
        score=float(shares.mean()) / seats,
        interval=(low / seats, high / seats),
    )


def _by_seat(mine: np.ndarray, records: Games, groups: np.ndarray) -> tuple[SeatFigures, ...]:
    seats = []
    for seat in range(mine.shape[1]):
        shares = records.shares[mine[:, seat], seat]
        wins, losses = int((shares >= 1).sum()), int((shares <= 0).sum())
        score = float(shares.mean()) if shares.size else 0.0
        ends = interval(shares, groups[mine[:, seat]]) if shares.size else (0.0, 1.0)
        seats.append(SeatFigures(shares.size, wins, shares.size - wins - losses, losses, score, ends))
    return tuple(seats)
