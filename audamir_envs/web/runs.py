"""A training run as the page shows it: the numbers of its ``metrics.jsonl``, read anew each time."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

# Of what a run writes, the files that are read here.
METRICS, LEVEL, GAME = "metrics.jsonl", "best.safetensors", "last_game.jsonl"
_MOST = 400  # points of a curve that are sent


def read(folder: Path) -> dict[str, Any]:
    """``train``: curves [[iteration, value], ...] by name; ``evaluation``: by opponent [[iteration, score, low, high]].

    Lines that are no JSON objects of a run (one that is being written, say) are left out. Raises: OSError.
    """
    train: dict[str, list[list[float]]] = {}
    evaluation: dict[str, list[list[float]]] = {}
    last: dict[str, Any] = {}
    with (folder / METRICS).open(encoding="utf-8", errors="replace") as file:
        for text in file:
            line = _object(text)
            iteration = _number(line.get("iteration"))
            if iteration is None:
                continue
            if line.get("kind") == "evaluation":
                row = [iteration, *(_number(line.get(name)) for name in ("score", "low", "high"))]
                if None not in row[:2]:
                    evaluation.setdefault(str(line.get("opponent")), []).append(row)  # type: ignore[arg-type]
            elif line.get("kind") == "train":
                last = line
                for name, value in line.items():
                    number = _number(value)
                    if number is not None and name != "iteration":
                        train.setdefault(name, []).append([iteration, number])
    return {
        "name": folder.resolve().name,
        "train": {name: _thinned(rows) for name, rows in train.items()},
        "evaluation": evaluation,
        "last": {name: number for name, value in last.items() if (number := _number(value)) is not None},
    }


def _object(text: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return line if isinstance(line, dict) else {}


def _number(value: Any) -> float | None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


def _thinned(rows: list[list[float]]) -> list[list[float]]:
    """At most ``_MOST`` rows, means of equal parts."""
    if len(rows) <= _MOST:
        return rows
    size = math.ceil(len(rows) / _MOST)
    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
    return [[part[-1][0], sum(value for _, value in part) / len(part)] for part in parts]
