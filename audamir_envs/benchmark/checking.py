"""Whether we have become slower: ratios to peers measured again and compared with figures that were written before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ALLOWED = 0.05

_Key = tuple[str, int, str]  # section, games, name


def read(path: str) -> dict[str, Any]:
    """A report of ``audamir bench --json``. Raises: OSError; ValueError: it is none, or holds no ratio."""
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        found = dict(ratios(report))
        arguments = report["arguments"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no file that audamir bench --json has written ({type(error).__name__})") from None
    if not found:
        raise ValueError(f"{path} holds no ratio to a peer: write it with --against pgx --only given,sampled")
    report["arguments"] = {name: arguments[name] for name in ("against", "only", "games", "steps", "repetitions")}
    return report


def ratios(report: dict[str, Any]) -> Iterator[tuple[_Key, tuple[float, float, float]]]:
    """(ratio, low, high) of every measured pair."""
    for section, rows in report.items():
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and "ratio" in row:
                yield (section, row.get("games", 0), row["name"]), (row["ratio"], row["low"], row["high"])


def compare(console: Console, before: dict[str, Any], now: dict[str, Any]) -> int:
    """Prints what has changed; 1 where a whole interval lies more than 5 % below its ratio before, else 0."""
    measured = dict(ratios(now))
    table = Table(title="ratios to peers, before and now", title_justify="left")
    for column in ("section", "games", "game", "before", "now (95 %)", ""):
        table.add_column(column, justify="right" if column in ("games", "before") else "left")
    worse = missing = 0
    for key, (old, _, _) in ratios(before):
        if key not in measured:
            missing += 1
            table.add_row(key[0], f"{key[1]:,}", key[2], f"{old:.2f}", "", "not measured")
            continue
        ratio, low, high = measured[key]
        slower = high < (1 - ALLOWED) * old
        worse += slower
        verdict = "slower" if slower else "faster" if low > (1 + ALLOWED) * old else ""
        table.add_row(key[0], f"{key[1]:,}", key[2], f"{old:.2f}", f"{ratio:.2f} ({low:.2f} to {high:.2f})", verdict)
    console.print(table)
    console.print(f"before: {_conditions(before)}\nnow: {_conditions(now)}")
    if worse or missing:
        console.print(
            f"{worse} of {len(dict(ratios(before)))} ratios have fallen by more than 5 %, {missing} are missing"
        )
    return 1 if worse or missing else 0


def _conditions(report: dict[str, Any]) -> str:
    machine = report.get("machine", {})
    words = [f"{name} {machine[name]}" for name in ("date", "cpu", "cores", "device", "jax") if name in machine]
    return f"{', '.join(words)}, load {report.get('load_before')} to {report.get('load_after')}"
