"""A run's curves as one picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib

from audamir_envs import files
from audamir_training import metrics


def draw(folder: Path, target: Path) -> None:
    """Draws losses, entropy, speed and scores over positions. Raises: ValueError: no lines, or no .png; OSError."""
    if target.suffix.lower() != ".png":
        raise ValueError(f"the picture's name ends in .png, not {target}")
    lines = metrics.read(folder)
    trained = [line for line in lines if line["kind"] == "train"]
    if not trained:
        raise ValueError(f"{folder} has no metrics to draw: is it the folder of a run?")
    from matplotlib.figure import Figure  # not pyplot, which would pick a window system

    with matplotlib.rc_context({"axes.grid": True, "grid.alpha": 0.3}):
        figure = Figure(figsize=(11, 7), layout="constrained")
        axes = figure.subplots(2, 2)
        losses = sorted(name for name in trained[0] if name.endswith("_loss"))
        _curves(axes[0, 0], trained, losses, "loss")
        _curves(axes[0, 1], trained, ["entropy"], "entropy of the policy, nats, summed over an iteration")
        _curves(axes[1, 0], trained, ["positions_per_second"], "positions a second")
        _scores(axes[1, 1], [line for line in lines if line["kind"] == "evaluation"])
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    files.write_bytes(target, picture.getvalue())


def _curves(axes: Any, lines: list[dict[str, Any]], names: list[str], title: str) -> None:
    for name in names:
        axes.plot([line["positions"] for line in lines], [line[name] for line in lines], label=name)
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
