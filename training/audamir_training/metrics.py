"""What a run writes down: one JSON object a line, each with a checksum of its own."""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audamir_envs import files

FILE = "metrics.jsonl"
ASIDE = "metrics.unreadable"
_CHECK = re.compile(rb', "check": "([0-9a-f]{8})"\}')
_NUMBERS = {"train": ("iteration", "positions"), "evaluation": ("iteration", "positions", "score", "low", "high")}

Tell = Callable[[str], None]


class Metrics:
    """Appends to a run's lines. At first those are dropped that a resumed run writes again, and any double ones."""

    def __init__(self, folder: Path, iteration: int, evaluated: int, tell: Tell) -> None:
        """Args: iteration: of the state that the run goes on from; evaluated: the iteration of its last evaluation;
        tell: called with a line for the user where something cannot be read; the bytes are kept in ``ASIDE``.

        Raises: OSError.
        """
        self._path = folder / FILE
        found, unreadable = _read(self._path)
        if unreadable:
            aside = folder / ASIDE
            before = aside.read_bytes() if aside.is_file() else b""
            new = b"".join(line + b"\n" for line in unreadable)
            if not before.endswith(new):  # else a kill came between these two writes
                files.write_bytes(aside, before + new)
            tell(f"{_complaint(self._path, unreadable)}; kept in {aside.name}")
        limits = {"train": iteration, "evaluation": min(iteration, evaluated)}
        kept = [line for line in found if line["iteration"] <= limits[line["kind"]]]
        last = {(line["kind"], line["iteration"], line.get("opponent")): line for line in kept}
        self.lines = list(last.values())
        files.write_bytes(self._path, b"".join(map(_encoded, self.lines)))

    def write(self, kind: str, iteration: int, facts: dict[str, Any]) -> dict[str, Any]:
        """One line: ``train`` (averages since the line before) or ``evaluation`` (one opponent's score); returns it.

        Raises: OSError; then nothing of the line stays.
        """
        facts = {name: None if _no_number(value) else value for name, value in facts.items()}
        line = {"kind": kind, "iteration": iteration, **facts}
        with self._path.open("ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                encoded = _encoded(line)
                if file.write(encoded) != len(encoded):
                    raise OSError(28, "No space left on device", str(self._path))
            except OSError:
                file.truncate(size)
                raise
        self.lines.append(line)
        return line


def read(folder: Path, tell: Tell | None = None) -> list[dict[str, Any]]:
    """A run's lines that can be read; none where there is no file.

    Args: tell: called with one line for the user if there are others.
    """
    lines, unreadable = _read(folder / FILE)
    if unreadable and tell:
        tell(_complaint(folder / FILE, unreadable))
    return lines


def scalars(line: dict[str, Any]) -> dict[str, float]:
    """The numbers of a line by names for other programs: ``train/policy_loss``, ``evaluation/normal_score``."""
    prefix = f"evaluation/{line['opponent']}_" if line["kind"] == "evaluation" else "train/"
    numbers = {name: value for name, value in line.items() if type(value) in (int, float) and name != "iteration"}
    return {prefix + name: value for name, value in numbers.items()}


def _complaint(path: Path, unreadable: list[bytes]) -> str:
    count = len(unreadable)
    return f"{path}: {count} line{'s' if count > 1 else ''} cannot be read"


def _no_number(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _encoded(line: dict[str, Any]) -> bytes:
    text = json.dumps(line, allow_nan=False).encode()[:-1]
    return text + b', "check": "%08x"}\n' % zlib.crc32(text)


def _read(path: Path) -> tuple[list[dict[str, Any]], list[bytes]]:
    """The lines, and those that cannot be read."""
    if not path.is_file():
        return [], []
    raws = [raw for raw in path.read_bytes().split(b"\n") if raw]
    right = [_is_whole(raw) for raw in raws]
    # Runs of older versions have no checksums; then none of their lines has.
    old = not any(right) and not any(_CHECK.search(raw) for raw in raws)
    lines, unreadable = [], []
    for raw, whole in zip(raws, right, strict=True):
        line = _decoded(raw) if whole or old else None
        if line is None:
            unreadable.append(raw)
        else:
            lines.append(line)
    return lines, unreadable


def _is_whole(raw: bytes) -> bool:
    check = _CHECK.fullmatch(raw, max(0, len(raw) - 22))
    return check is not None and int(check[1], 16) == zlib.crc32(raw[: check.start()])


def _decoded(raw: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or line.get("kind") not in _NUMBERS:
        return None
    if any(type(line.get(name)) not in (int, float) for name in _NUMBERS[line["kind"]]):
        return None
    if type(line["iteration"]) is not int or (line["kind"] == "evaluation" and type(line.get("opponent")) is not str):
        return None
    line.pop("check", None)
    return line
