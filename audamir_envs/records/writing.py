"""Writing record files: games are appended whole, and an interrupted run goes on where it stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import os
import stat
from collections.abc import Iterable, Sequence
from typing import Any

from audamir_envs.core import Environment
from audamir_envs.records.format import LONGEST_LINE, Game, Header, RecordError, encode, unseal
from audamir_envs.records.reading import scan

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]


def header_of(
    env: Environment,
    agents: Sequence[tuple[str, Any]],
    *,
    seed: int | None,
    protocol: dict[str, Any],
    versions: dict[str, str],
) -> Header:
    """The header of a run.

    Args: agents: text (or name) and agent, None for somebody who is no program; protocol: how games are made.
    Raises: ValueError: a game that does not say what chance decides; an option that JSON does not know.
    """
    if env.chance_shape is None:
        raise ValueError(f"{env.id} cannot be recorded: it does not say what chance decides (chance_shape is missing)")
    return Header(
        env=env.id,
        env_version=env.version,
        options={name: _json(name, value) for name, value in env.options.items()},
        players=env.num_players,
        agents=tuple(
            {"agent": text, "settings": settings_of(agent), "checksum": getattr(agent, "checksum", None)}
            for text, agent in agents
        ),
        seed=seed,
        protocol=protocol,
        versions=versions,
    )


def settings_of(agent: Any) -> dict[str, Any]:
    """What an agent was made with, as far as it keeps it under its arguments' names and JSON knows it."""
    try:
        names = inspect.signature(type(agent)).parameters
    except (TypeError, ValueError):
        return {}
    found = {name: getattr(agent, name, None) for name in names}
    return {name: value for name, value in found.items() if type(value) in (bool, int, float, str)}


def _json(name: str, value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_json(name, part) for part in value]
    if isinstance(value, dict):
        return {str(key): _json(name, part) for key, part in value.items()}
    raise ValueError(f"option {name} cannot be recorded: JSON has no {type(value).__name__}")


class Writer:
    """Appends a run's games to a file; use it as a context manager.

    A file that is there is continued: where its last section has the same header and lacks games, they are in
    ``before`` and this run adds the others; otherwise, or without ``resume``, a new section begins. Half a line at the
    end, left by a kill, is removed. The file is locked meanwhile.
    Raises: RecordError: a file that is there and is no whole record; BlockingIOError: another process writes it;
    OSError.
    """

    def __init__(self, path: str | os.PathLike[str], header: Header, *, resume: bool = True) -> None:
        self.path = os.fspath(path)
        self.header = header
        self.before: dict[int, Game] = {}
        self._file = _open(self.path)
        try:
            self._continue(resume)
        except BaseException:
            self.close()
            raise

    def add(self, games: Iterable[Game | bytes]) -> None:
        """Appends games (or their encoded lines), each whole or not at all. Raises: OSError naming the file."""
        self._append(b"".join(game if isinstance(game, bytes) else encode(game, self.header) for game in games))

    def close(self) -> None:
        """Ends writing; what was added is on disk."""
        if self._file >= 0:
            with contextlib.suppress(OSError):  # pipes have nothing to synchronise
                os.fsync(self._file)
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _continue(self, resume: bool) -> None:
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            self._append(encode(self.header))
            return
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(f"{self.path} is being written by another process") from None
        size = self._whole_lines()
        if size != os.fstat(self._file).st_size:
            try:
                unseal(_from(self.path, size))
                self._append(b"\n")  # a whole line that lacks its end
                size += 1
            except ValueError:
                os.ftruncate(self._file, size)
        last: Header | None = None
        for item in scan(self.path) if size else ():
            if isinstance(item, RecordError):
                raise item
            if isinstance(item, Header):
                last, self.before = item, {}
            else:
                self.before[item.number] = item
        if last is None or not resume or not same_run(last, self.header):
            self.before = {}
            self._append(encode(self.header))
        else:
            self.header = last

    def _whole_lines(self) -> int:
        """How many bytes of the file are lines with an end."""
        size = os.fstat(self._file).st_size
        with open(self.path, "rb") as file:
            place = size
            while place:
                step = min(place, 2**20)
                file.seek(place - step)
                end = file.read(step).rfind(b"\n")
                if end >= 0:
                    return place - step + end + 1
                place -= step
        if size and not _begins_as_record(self.path):
            raise RecordError(self.path, 1, "the file is no record: name another one")
        return 0

    def _append(self, content: bytes) -> None:
        """Raises: OSError; the file then ends as it did before."""
        size = os.fstat(self._file).st_size
        written = 0
        try:
            while written < len(content):
                written += os.write(self._file, content[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise OSError(error.errno, error.strerror, self.path) from error


def same_run(a: Header, b: Header) -> bool:
    """Whether two headers mean one run, so that games of both may stand together.

    Versions of packages may differ, and how many games were played at once.
    """
    one, other = (
        dataclasses.replace(header, versions={}, protocol=header.protocol | {"batch": None}) for header in (a, b)
    )
    return encode(one) == encode(other)


def _open(path: str) -> int:
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)


def _from(path: str, place: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(place)
        return file.read(LONGEST_LINE)


def _begins_as_record(path: str) -> bool:
    """Whether a file without a line's end may be a header that was cut."""
    start = b'{"format":"audamir-record'
    with open(path, "rb") as file:
        found = file.read(len(start))
    return start.startswith(found)
