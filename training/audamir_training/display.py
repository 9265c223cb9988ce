"""What a run shows while it goes on: a live table where there is a terminal, single lines elsewhere."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from audamir_training.evaluation import Score

_LINE_SECONDS = 60.0  # between two lines where there is no terminal


class Display:
    """Shows nothing if ``quiet`` (on the processes of a distributed run that do not write, say)."""

    def __init__(self, title: str, minutes: float, quiet: bool = False) -> None:
        self._console = Console(quiet=quiet)
        self._title, self._total = title, 60 * minutes
        self._scores: dict[str, tuple[Score, float | None]] = {}
        self._summary: dict[str, str] = {}
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[left]}")
        )
        self._task = self._bar.add_task("training", total=self._total, left="")
        self._live: Live | None = None
        self._printed = -_LINE_SECONDS

    def begin(self, iteration: int, seconds: float) -> None:
        """Called once the state is there."""
        if iteration:
            self._console.print(f"resumed at iteration {iteration}, {seconds / 60:.1f} minutes trained")
        self._bar.update(self._task, completed=seconds, left="compiling…")
        if self._console.is_terminal and not self._console.quiet:
            self._live = Live(self._render(), console=self._console, refresh_per_second=2)
            self._live.start()

    def train(self, iteration: int, means: dict[str, Any], summary: dict[str, str], left: float) -> None:
        """Called at every line of metrics. Args: left: seconds."""
        self._summary = {"iteration": f"{iteration:,}", "positions": f"{means['positions']:,.0f}"}
        self._summary |= {"positions/s": f"{means['positions_per_second']:,.0f}"} | summary
        words = f"{max(left, 0) / 60:.1f} min left"
        self._bar.update(self._task, completed=self._total - left, left=words)
        if self._live:
            self._live.update(self._render())
        elif time.monotonic() - self._printed >= _LINE_SECONDS:
            self._printed = time.monotonic()
            line = "  ".join(f"{name} {value}" for name, value in self._summary.items())
            self._console.print(f"{line}  {words}", highlight=False, soft_wrap=True)

    def score(self, score: Score) -> None:
        """Called after each opponent's games."""
        before = self._scores.get(score.opponent)
        self._scores[score.opponent] = (score, before[0].score if before else None)
        if self._live:
            self._live.update(self._render())
        else:
            self._console.print(
                f"against {score.opponent}: {score.score:.3f} ({score.low:.2f} to {score.high:.2f}, "
                f"{score.games} games)",
                highlight=False,
            )

    def say(self, text: str) -> None:
        """A line of its own."""
        self._console.print(text, highlight=False, soft_wrap=True, markup=False)

    def warn(self, text: str) -> None:
        """A line on stderr, shown even if ``quiet``."""
        Console(stderr=True).print(f"audamir: {text}", highlight=False, soft_wrap=True, markup=False)

    def close(self) -> None:
        """Leaves the terminal as it was."""
        if self._live:
            self._live.stop()
            self._live = None

    def _render(self) -> Group:
        figures = Table(title=self._title, show_header=False)
        for name, value in self._summary.items():
            figures.add_row(name, value)
        levels = Table("against", "score", "95 %", "before")
        for score, before in self._scores.values():
            then = "" if before is None else f"{before:.3f}"
            levels.add_row(score.opponent, f"{score.score:.3f}", f"{score.low:.2f} to {score.high:.2f}", then)
        return Group(figures, *([levels] if self._scores else []), self._bar)


def figure(value: float | None, form: str) -> str:
    """A number in a format such as ``.2f``, or a dash where nothing was measured."""
    return "-" if value is None else format(value, form)
