"""Timing several programs in one run so that their ratios can be trusted on a noisy machine."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

_RESAMPLES = 2000


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of repeated runs of one program, and how many units of work (steps, say) each run does."""

    seconds: tuple[float, ...]
    units: int

    @property
    def rate(self) -> float:
        """Units a second, by the median run."""
        return self.units / statistics.median(self.seconds)

    @property
    def spread(self) -> tuple[float, float]:
        """Units a second of the slowest and the fastest run."""
        return self.units / max(self.seconds), self.units / min(self.seconds)


def time_in_turns(
    programs: Mapping[str, tuple[Callable[[], object], int]],
    repetitions: int,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Timing]:
    """Runs every program once to warm up, then all in turns, each time in another random order.

    What else the machine does then hits all alike, in whatever rhythm it comes.
    Args: programs: name -> (a function that returns when its work is done, units of work a call).
    """
    for run, _ in programs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    order, lots = list(programs), np.random.default_rng(0)
    for _ in range(repetitions):
        for name in lots.permutation(order).tolist():
            start = time.perf_counter()
            programs[name][0]()
            seconds[name].append(time.perf_counter() - start)
            progress()
    return {name: Timing(tuple(seconds[name]), programs[name][1]) for name in order}


def ratio(first: Timing, second: Timing) -> float:
    """The median over repetitions of how many times faster ``first`` was than ``second`` in the same repetition."""
    return statistics.median(_paired(first, second))


def ratio_interval(first: Timing, second: Timing) -> tuple[float, float]:
    """The 95 % interval of ``ratio``, by resampling repetitions (bootstrap); of few repetitions it is their range."""
    each = np.array(_paired(first, second))
    lots = np.random.default_rng(0).integers(each.size, size=(_RESAMPLES, each.size))
    low, high = np.quantile(np.median(each[lots], axis=1), (0.025, 0.975))
    return float(low), float(high)


def _paired(first: Timing, second: Timing) -> list[float]:
    return [(first.units / a) / (second.units / b) for a, b in zip(first.seconds, second.seconds, strict=True)]
