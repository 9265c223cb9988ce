"""A run's curves as one picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib

from audamir_envs import files
from audamir_training import metrics


def draw(folder: Path, target: Path, tell: metrics.Tell | None = None) -> None:
    """Draws losses, entropy, speed and scores over positions.

    Args: tell: called with a line for the user where something of the run cannot be read.
    Raises: ValueError: no lines, or no .png; OSError.
    """
    if target.suffix.lower() != ".png":
        raise ValueError(f"the picture's name ends in .png, not {target}")
    lines = metrics.read(folder, tell)
    trained = [line for line in lines if line["kind"] == "train"]
    if not trained:
        raise ValueError(f"{folder} has no metrics to draw: is it the folder of a run?")
    from matplotlib.figure import Figure  # not pyplot, which would pick a window system

    with matplotlib.rc_context({"axes.grid": True, "grid.alpha": 0.3}):
        figure = Figure(figsize=(11, 7), layout="constrained")
        axes = figure.subplots(2, 2)
        losses = sorted({name for line in trained for name in line if name.endswith("_loss")})
        _curves(axes[0, 0], trained, losses, "loss")
        _curves(axes[0, 1], trained, ["policy_entropy"], "entropy of the policy, nats")
        _curves(axes[1, 0], trained, ["positions_per_second"], "positions a second")
        _scores(axes[1, 1], [line for line in lines if line["kind"] == "evaluation"])
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    files.write_bytes(target, picture.getvalue())


def _curves(axes: Any, lines: list[dict[str, Any]], names: list[str], title: str) -> None:
    marker = "." if len(lines) < 20 else ""  # of one point alone a line shows nothing
    for name in names:
        known = [line for line in lines if type(line.get(name)) in (int, float)]
        axes.plot([line["positions"] for line in known], [line[name] for line in known], label=name, marker=marker)
    axes.set(title=title, xlabel="positions")
    if len(names) > 1:
        axes.legend()


def _scores(axes: Any, lines: list[dict[str, Any]]) -> None:
    for opponent in dict.fromkeys(line["opponent"] for line in lines):
        chosen = [line for line in lines if line["opponent"] == opponent]
        at = [line["positions"] for line in chosen]
        axes.plot(at, [line["score"] for line in chosen], marker=".", label=f"against {opponent}")
        axes.fill_between(at, [line["low"] for line in chosen], [line["high"] for line in chosen], alpha=0.15)
    axes.set(title="score, with 95 % intervals", xlabel="positions", ylim=(0, 1))
    if lines:
        axes.legend()
