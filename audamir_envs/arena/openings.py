"""Positions to start games from: books of them in files (docs/records.md), and what ``--openings`` means."""

from __future__ import annotations

import dataclasses
import os
from importlib import resources
from typing import Any

import jax
import numpy as np

from audamir_envs.core import Environment, State
from audamir_envs.files import write_bytes
from audamir_envs.records.format import Fields, RecordError, seal, unseal

FORMAT = "audamir-openings-1"


@dataclasses.dataclass(frozen=True)
class Opening:
    """A position, how a strong search values it for seat 0 (-1 to 1), and by how much it says that seat 0 leads."""

    position: str
    value: float
    margin: float | None


@dataclasses.dataclass(frozen=True)
class Book:
    """Openings of one environment. ``states`` are their positions, [openings] in front, as NumPy."""

    env: Environment
    openings: tuple[Opening, ...]
    made: dict[str, Any]  # how: command, agent, bound, seed, versions
    checksum: str = ""  # of the file, as its header's line has it
    path: str = ""

    @property
    def states(self) -> State:
        """The positions. Raises: ValueError naming the one that the environment does not read."""
        states = []
        for number, opening in enumerate(self.openings):
            try:
                state = self.env.from_text(opening.position)
            except (ValueError, TypeError) as error:
                raise RecordError(self.path, number + 2, str(error)) from None
            if bool(state.terminated | state.truncated):
                raise RecordError(self.path, number + 2, f"the game is over in {opening.position}")
            states.append(jax.device_get(state))
        return jax.tree.map(lambda *leaves: np.stack(leaves), *states)

    def places(self, starts: np.ndarray, seed: int) -> np.ndarray:
        """int32 [games]: the opening of each start: all in an order of the seed's, then again in another one."""
        count = len(self.openings)
        rounds, place = np.divmod(np.asarray(starts, np.int64), count)
        orders = {int(n): np.random.default_rng([seed, 3, n]).permutation(count) for n in np.unique(rounds)}
        return np.array([orders[int(n)][p] for n, p in zip(rounds, place, strict=True)], np.int32)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all. Raises: OSError."""
        header = {
            "format": FORMAT,
            "env": self.env.id,
            "env_version": self.env.version,
            "options": self.env.options,
            "openings": len(self.openings),
            "made": self.made,
        }
        head = seal(header)
        run = head[-11:-3].decode()
        write_bytes(path, head + b"".join(seal({"run": run} | vars(opening)) for opening in self.openings))


def read(env: Environment, path: str | os.PathLike[str]) -> Book:
    """The book of a file. Raises: records.RecordError (a ValueError) naming file and line; OSError."""
    name = os.fspath(path)
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    if not lines:
        raise RecordError(name, 1, "the file is empty: a book begins with its header")
    openings: list[Opening] = []
    head: dict[str, Any] = {}
    checksum = ""
    for number, line in enumerate(lines, start=1):
        try:
            fields, sum_ = unseal(line)
            if number == 1:
                head, checksum = _checked_header(env, fields), sum_
            else:
                openings.append(_opening(fields, checksum))
        except (ValueError, TypeError) as error:
            raise RecordError(name, number, str(error)) from None
    if len(openings) != head["openings"]:
        raise RecordError(name, len(lines), f"the file ends after {len(openings)} of {head['openings']} openings")
    return Book(env, tuple(openings), head["made"], checksum, name)


def _checked_header(env: Environment, fields: dict[str, Any]) -> dict[str, Any]:
    take = Fields(fields)
    if fields.get("format") != FORMAT:
        raise ValueError(f"its format is {fields.get('format')!r:.40}, not {FORMAT}")
    take.whole("openings", 1, 10**6)
    take("made", dict)
    if (take("env", str), take("env_version", str)) != (env.id, env.version):
        raise ValueError(f"it is a book of {fields['env']!r:.40}, version {fields['env_version']!r:.40}")
    for option, value in take("options", dict).items():
        if option not in env.options or env.options[option] != value:
            raise ValueError(f"it is a book for {option}={value!r:.40}, not {env.options.get(option)!r:.40}")
    return fields


def _opening(fields: dict[str, Any], run: str) -> Opening:
    take = Fields(fields)
    if fields.get("run") != run:
        raise ValueError("the opening belongs to another header than the one before it")
    value, margin = take("value", float), fields.get("margin")
    if not -1 <= value <= 1:
        raise ValueError(f"value: {value!r:.40} is not from -1 to 1")
    if margin is not None and type(margin) not in (int, float):
        raise ValueError(f"margin: {margin!r:.40} is no number")
    return Opening(take("position", str), value, None if margin is None else float(margin))


def shipped(env: Environment) -> list[str]:
    """The paths of the books that come with the package for this environment's options."""
    found = []
    for folder in _folders(env.id):
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if name.endswith(".openings.jsonl") and _fits(env, path):
                found.append(path)
    return found


def _folders(env_id: str) -> list[str]:
    package = str(resources.files("audamir_envs"))
    return [os.path.join(package, "checkpoints", env_id), os.path.join(package, "..", "checkpoints", env_id)]


def _fits(env: Environment, path: str) -> bool:
    try:
        read(env, path)
    except ValueError:
        return False
    return True


def resolve(env: Environment, openings: str | Book | None, opening_plies: int) -> tuple[Book | None, int, str]:
    """What ``--openings`` means: a book or None, the number of random plies, and a text for reports.

    Args: openings: ``none``, ``random:N``, ``book`` (the one that is shipped), the path of a book, a book, or None:
    ``opening_plies`` random plies.
    Raises: ValueError naming what is valid; OSError.
    """
    if openings is None or (openings == "none" and not opening_plies):
        return None, opening_plies, f"random:{opening_plies}" if opening_plies else "none"
    if opening_plies:
        raise ValueError(f"openings={openings!r} and opening_plies={opening_plies}: use one of them")
    if isinstance(openings, Book):
        return openings, 0, f"book {openings.checksum}"
    kind, colon, number = openings.partition(":")
    if kind == "random" and colon and number.isascii() and number.isdigit() and 0 < len(number) < 7:
        return None, int(number), f"random:{int(number)}"
    if openings == "book":
        paths = shipped(env)
        if not paths:
            options = ", ".join(f"{name}={value!r:.20}" for name, value in env.options.items())
            raise ValueError(f"no book is shipped for {env.id} with {options}: make one by audamir openings {env.id}")
        book = read(env, paths[0])
        return book, 0, f"book {book.checksum}"
    if os.path.isfile(openings):
        book = read(env, openings)
        return book, 0, f"book {book.checksum}"
    raise ValueError(f"openings {openings!r:.80} is not valid: use book, random:N, none, or the path of a book")
