"""How the cost of a step grows with the batch, the board's side and the number of players, as one picture."""

from __future__ import annotations

import io
from typing import Any

from audamir_envs.benchmark import rollouts
from audamir_envs.benchmark.timing import time_in_turns
from audamir_envs.files import write_bytes

_BATCHES = (1, 8, 64, 512, 4096)
_GAMES = 256
_STEPS = 64

_Curves = dict[str, list[tuple[int, float]]]


def measure_growth(repetitions: int) -> dict[str, _Curves]:
    """Microseconds a game and step of sampled play with auto-reset, as curves of (x, microseconds)."""
    by_batch: _Curves = {}
    for name, (env_id, setup) in rollouts.setups().items():
        by_batch[name] = _curve({games: (env_id, dict(setup.options), games) for games in _BATCHES}, repetitions)
    curves = {"games at once": by_batch}
    for env_id, game in rollouts.benchmarks().items():
        for axis, (name, option, values) in game.growth.items():
            points: dict[int, tuple[str, dict[str, Any], int]] = {x: (env_id, {option: x}, _GAMES) for x in values}
            curves.setdefault(axis, {})[name] = _curve(points, repetitions)
    return curves


def _curve(points: dict[int, tuple[str, dict[str, Any], int]], repetitions: int) -> list[tuple[int, float]]:
    programs = {
        str(x): (rollouts.sampled(rollouts.ours(env_id, options), games, _STEPS), games * _STEPS)
        for x, (env_id, options, games) in points.items()
    }
    return [(int(x), 1e6 / timing.rate) for x, timing in time_in_turns(programs, repetitions).items()]


def plot_growth(path: str, repetitions: int) -> dict[str, _Curves]:
    """Measures, writes the picture (PNG) and returns the curves. Raises: ValueError where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError("--plot needs matplotlib: pip install 'audamir-envs[train]'") from error
    curves = measure_growth(repetitions)
    figure = Figure(figsize=(12, 4), layout="constrained")
    for axes, (label, lines) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        for name, points in lines.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=name, clip_on=False)
        axes.set(xlabel=label, ylabel="microseconds a game and step")
        if label == "games at once":
            axes.set(xscale="log", yscale="log")
        else:
            axes.set_ylim(bottom=0)
        axes.legend()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    write_bytes(path, picture.getvalue())
    return curves
