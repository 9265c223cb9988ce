"""Timing several programs in one run so that their ratios can be trusted on a noisy machine."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping


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
    """Runs every program once to warm up, then all in turns, forwards and backwards, so that drift hits all alike.

    Args: programs: name -> (a function that returns when its work is done, units of work a call).
    """
    for run, _ in programs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    order = list(programs)
    for repetition in range(repetitions):
        for name in order if repetition % 2 == 0 else reversed(order):
            start = time.perf_counter()
            programs[name][0]()
            seconds[name].append(time.perf_counter() - start)
            progress()
    return {name: Timing(tuple(seconds[name]), programs[name][1]) for name in order}


def ratio(first: Timing, second: Timing) -> float:
    """The median over repetitions of how many times faster ``first`` was than ``second`` in the same repetition."""
    each = [(first.units / a) / (second.units / b) for a, b in zip(first.seconds, second.seconds, strict=True)]
    return statistics.median(each)
