"""Runs: any algorithm from its start to its last minute, over as many sittings and kills as it takes."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import jax
import numpy as np

from audamir_envs import files
from audamir_envs.agents.base import Agent
from audamir_envs.core import Array, Environment
from audamir_envs.intervals import wilson
from audamir_envs.learned.tensors import CheckpointError
from audamir_training import devices, opponents, storage
from audamir_training.display import Display
from audamir_training.evaluation import Match, Score
from audamir_training.metrics import FILE, Metrics
from audamir_training.recording import Recorder
from audamir_training.settings import RunSettings, check_numbers
from audamir_training.trackers import TensorBoard, Tracker
from audamir_training.watching import LastGame, Shown, first_lane

STATE, BEST, LEARNER = "state.safetensors", "best.safetensors", "learner.safetensors"
# The last is sent when a terminal closes; a process that ignores it (nohup) goes on ignoring it.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Algorithm(Protocol):
    """What a run asks of an algorithm. A state is a frozen pytree of arrays (no PRNG keys); all randomness follows from
    the settings' seed and the state, so that equal states go on equally."""

    name: str
    settings: Any  # a frozen dataclass of plain values
    opponents: tuple[Agent, ...]  # that it trains against, beside its own earlier selves
    newer: tuple[str, ...]  # beginnings of the names of leaves that states of older versions lack
    # What one lane of each device played in the last iteration; None where nobody plays himself.
    shown: tuple[Environment, Shown] | None

    def compile_seconds(self) -> float:
        """Spent on compiling so far, matches not counted."""
        ...

    def start(self) -> Any:
        """The state before the first iteration."""
        ...

    def place(self, state: Any) -> Any:
        """A state of NumPy arrays, laid out over the devices."""
        ...

    def iterate(self, state: Any) -> tuple[Any, dict[str, Array]]:
        """The state after one iteration, and float32 [] metrics. The state given may be used up."""
        ...

    def iteration(self, state: Any) -> int:
        """Iterations made."""
        ...

    def positions(self, state: Any) -> int:
        """Positions played, what schedules run on."""
        ...

    def gradient_steps(self, state: Any) -> int:
        """Gradient steps made."""
        ...

    def learner(self, state: Any) -> Any:
        """The few MB of a state from which a run can go on in another folder: no games, no replay."""
        ...

    def with_learner(self, state: Any, learner: Any) -> Any:
        """A fresh state with what ``learner`` gave (NumPy arrays) in place of its own."""
        ...

    def player(self, state: Any) -> Any:
        """The parameters to evaluate and export."""
        ...

    def match(self, opponent: str, games: int, told: bool = False) -> Match:
        """Games against a level. Args: told: the match tells what was played."""
        ...

    def export(self, path: Path, parameters: Any, facts: dict[str, Any]) -> None:
        """Writes a level that ``make_agent`` loads."""
        ...

    def summary(self, metrics: dict[str, Any]) -> dict[str, str]:
        """What the display shows of averaged metrics (None: not measured): names and values."""
        ...


@dataclasses.dataclass
class Progress:
    """What a run knows beside the algorithm's state."""

    seconds: float = 0.0  # of all sittings, compiling not counted
    best_score: float = -1.0  # mean over the opponents
    best_iteration: int = -1
    evaluated_at: float = 0.0  # seconds at the last evaluation
    evaluated_iteration: int = -1  # of the last evaluation
    lines: int = 0  # of metrics when it was saved


class Run:
    """One sitting of a run in a folder."""

    def __init__(
        self,
        algorithm: Algorithm,
        settings: RunSettings,
        folder: Path,
        display: Display,
        facts: dict[str, Any],
        origin: Path | None = None,
        trackers: Sequence[Tracker] = (),
        saving: threading.Lock | None = None,
        record: Path | None = None,
    ) -> None:
        """Args: facts: JSON-able, stored with the state beside settings and progress; origin: the ``learner`` file of
        another run to start from, if the folder has no state yet; trackers: are given the metrics too; saving: held
        while a state is written, so that nothing ends the process meanwhile; record: the file for the games of the
        evaluations.
        Raises: ValueError for settings or opponents that are not valid: before any training, not after it; RecordError,
        OSError: a record that cannot be written.
        """
        check_numbers(settings)
        self.algorithm, self.settings, self.folder = algorithm, settings, folder
        self.display, self.facts, self.origin, self.trackers = display, facts, origin, trackers
        self.progress = Progress()
        self.saving = saving or threading.Lock()
        names = opponents.split(settings.opponents) if settings.evaluate_minutes else []
        if record and not names:
            raise ValueError("there are no evaluations to record: evaluate_minutes is 0, or opponents are none")
        told = record is not None
        self._matches = {name: algorithm.match(name, settings.evaluate_games, told) for name in names}
        self._last_game = LastGame(folder, algorithm.name) if devices.is_writer() else None
        self._recorder = Recorder(record, algorithm.name) if record and devices.is_writer() else None
        self._metrics: Metrics | None = None
        self._board: TensorBoard | None = None
        self._signal: int | None = None
        self._begin_clock()

    def go(self) -> int:
        """Trains until the minutes are used up or a signal comes, to any of the run's processes.

        Returns: 0, or 128 plus the signal's number.
        Raises: CheckpointError when the folder's state or the learner is damaged or does not fit; ValueError: another
        process trains there, or a learner that was trained for longer than the minutes; OSError when it cannot save.
        """
        with _noting(self._note):
            try:
                with storage.alone(self.folder) if devices.is_writer() else contextlib.nullcontext():
                    return self._go()
            except OSError as error:
                if error.errno is None:  # no fault of the disk: a file that is not there, say
                    raise
                saved = (self.folder / STATE).is_file()
                what = "the last saved state is whole" if saved else "nothing was saved yet"
                why = error.strerror or str(error)
                raise OSError(error.errno, f"cannot go on in {self.folder}: {why}; {what}") from error
            finally:
                self.display.close()

    def _go(self) -> int:
        algorithm, settings = self.algorithm, self.settings
        state = self._resume()
        begun = iteration = algorithm.iteration(state)
        self._open_metrics(iteration)
        self._begin_clock()
        collected: list[dict[str, Array]] = []
        logged, saved = self._seconds(), time.monotonic()
        positions_then = algorithm.positions(state)
        while True:
            every = devices.gathered((self._seconds(), time.monotonic() - saved, self._signal or 0))
            (seconds, unsaved, _), stop = every[0], int(every[:, 2].max())
            done = seconds >= 60 * settings.minutes or 0 < settings.iterations <= iteration
            due = settings.evaluate_minutes > 0 and iteration != self.progress.evaluated_iteration
            due = due and (done or seconds - self.progress.evaluated_at >= 60 * settings.evaluate_minutes)
            if due and not stop:
                self._evaluate(state, iteration)
            # What was evaluated is saved at once, or a kill would have it evaluated again.
            if done or stop or due or unsaved >= 60 * settings.save_minutes:
                self._save(state)
                saved = time.monotonic()
            if done or stop:
                break
            state, measured = algorithm.iterate(state)
            opponents.raise_faults(algorithm.opponents)
            iteration = algorithm.iteration(state)
            if self._last_game and algorithm.shown and algorithm.shown[0].chance_shape is not None:
                self._last_game.see(algorithm.shown[0], first_lane(algorithm.shown[1]))
            collected.append(measured)
            now = self._seconds()
            if now - logged >= settings.log_seconds:
                means = {name: mean([float(line[name]) for line in collected]) for name in measured}
                positions = algorithm.positions(state)
                means |= {"positions": positions, "seconds": round(now, 1)}
                means["positions_per_second"] = (positions - positions_then) / max(now - logged, 1e-9)
                self._write("train", iteration, means)
                if self._last_game:
                    self._last_game.write(iteration)
                self.display.train(iteration, means, algorithm.summary(means), 60 * settings.minutes - now)
                collected, logged, positions_then = [], now, positions
        if stop and not done:
            self.display.say(f"stopped by {signal.Signals(stop).name}; the same command goes on from here")
            return 128 + stop
        if iteration == begun:
            self.display.say("nothing was left to train: more needs larger minutes or iterations")
        if not algorithm.gradient_steps(state):
            self.display.say("no gradient step was made yet, so nothing was learned: more needs larger minutes")
        return 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._signal == number == signal.SIGINT:
            raise KeyboardInterrupt
        self._signal = number

    def _begin_clock(self) -> None:
        self._clock = time.monotonic()
        self._compiled = self._compile_seconds()

    def _compile_seconds(self) -> float:
        return self.algorithm.compile_seconds() + sum(match.compile_seconds for match in self._matches.values())

    def _seconds(self) -> float:
        """Of all sittings so far; what was compiled does not count, since it teaches nothing."""
        compiling = self._compile_seconds() - self._compiled
        return self.progress.seconds + time.monotonic() - self._clock - compiling

    def _resume(self) -> Any:
        path = self.folder / STATE
        state = self.algorithm.start()
        if path.is_file():
            arrays, facts = self._load(path, state)
            state = self.algorithm.place(arrays)
            self.progress = storage.read_fields(path, Progress, facts.get("progress"))
            if "evaluated_iteration" not in facts["progress"]:  # of an older version, which kept all lines
                self.progress.evaluated_iteration = self.algorithm.iteration(state)
        elif self.origin:
            arrays, facts = self._load(self.origin, self.algorithm.learner(state))
            trained = storage.read_fields(self.origin, Progress, facts.get("progress")).seconds
            if trained >= 60 * self.settings.minutes:
                raise ValueError(
                    f"minutes={self.settings.minutes:g} are over: {self.origin} was trained for {trained / 60:.1f} "
                    "already, which count; use a larger number"
                )
            state = self.algorithm.place(self.algorithm.with_learner(devices.on_host(state), arrays))
            self.progress = Progress(seconds=trained, evaluated_at=trained)
        self.display.begin(self.algorithm.iteration(state), self.progress.seconds)
        return state

    def _open_metrics(self, iteration: int) -> None:
        """On the process that writes: what killed ones left is removed, and lines that will come again."""
        if not devices.is_writer():
            return
        files.sweep(self.folder / STATE)
        for name in (STATE, BEST, LEARNER, FILE):
            for leftover in self.folder.glob(f".{name}.????????"):  # as earlier versions named them
                leftover.unlink(missing_ok=True)
        self._metrics = Metrics(self.folder, iteration, self.progress.evaluated_iteration, self.display.warn)
        if len(self._metrics.lines) < self.progress.lines:
            lost = self.progress.lines - len(self._metrics.lines)
            self.display.warn(f"{self.folder / FILE} has lost {lost} of {self.progress.lines} lines")
        settings = dataclasses.asdict(self.algorithm.settings)
        seconds = self.progress.seconds
        self._board = TensorBoard(self.folder / "tensorboard", settings, self._metrics.lines, seconds)
        for tracker in self.trackers:
            tracker.begin(str(self.folder), settings)

    def _write(self, kind: str, iteration: int, facts: dict[str, Any]) -> None:
        if self._metrics and self._board:
            line = self._metrics.write(kind, iteration, facts)
            self._board.write(line)
            for tracker in self.trackers:
                tracker.write(line)

    def _load(self, path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
        """``storage.load_state`` of this game. Raises: OSError; CheckpointError naming the settings that changed."""
        try:
            arrays, facts = storage.load_state(path, like, self.algorithm.newer)
        except CheckpointError as error:
            facts = storage.read_facts(path)  # what is no state at all is refused here once more
            self._check_game(path, facts)
            here = dataclasses.asdict(self.algorithm.settings)
            there = facts.get("settings", here)
            differ = [name for name in here if there.get(name, here[name]) != here[name]]
            if not differ:
                raise
            made = "; ".join(f"{name} {there.get(name)!r}, not {here[name]!r}" for name in differ)
            raise CheckpointError(f"{error}; it was made with {made}") from None
        self._check_game(path, facts)
        return arrays, facts

    def _check_game(self, path: Path, facts: dict[str, Any]) -> None:
        for name, here in (("env", self.facts["env"]), ("algorithm", self.algorithm.name)):
            if facts.get(name, here) != here:
                raise CheckpointError(f"{path} is of {facts[name]!r:.80}, not of {here!r}".replace("'", ""))

    def _save(self, state: Any) -> None:
        arrays = devices.on_host(state)
        opponents.raise_faults(self.algorithm.opponents)  # before it is saved
        if not devices.is_writer():
            return
        self.progress.lines = len(self._metrics.lines) if self._metrics else 0
        progress = dataclasses.asdict(self.progress) | {"seconds": self._seconds()}
        facts = {
            "algorithm": self.algorithm.name,
            "settings": dataclasses.asdict(self.algorithm.settings),
            "progress": progress,
            "gradient_steps": self.algorithm.gradient_steps(arrays),
        }
        with self.saving:
            storage.save_state(self.folder / STATE, arrays, self.facts | facts)
            storage.save_state(self.folder / LEARNER, self.algorithm.learner(arrays), self.facts | facts)

    def _evaluate(self, state: Any, iteration: int) -> None:
        parameters = self.algorithm.player(state)
        scores = []
        for name, match in self._matches.items():
            # Iterations give the key: a resumed run repeats the games of an uninterrupted one.
            shares, unfinished, taken = devices.on_host(match(parameters, jax.random.key(iteration)))
            opponents.raise_faults([match.level])
            if self._recorder:
                positions = self.algorithm.positions(state)
                self._recorder.write(name, match, iteration, positions, unfinished, taken)
            average = float(np.mean(shares))
            score = Score(name, len(shares), average, *wilson(average, len(shares)), int(np.sum(unfinished)))
            scores.append(score)
            facts = dataclasses.asdict(score) | {"positions": self.algorithm.positions(state)}
            self._write("evaluation", iteration, facts | {"seconds": round(self._seconds(), 1)})
            self.display.score(score)
        average = sum(score.score for score in scores) / max(len(scores), 1)
        if scores and average >= self.progress.best_score:
            self.progress.best_score, self.progress.best_iteration = average, iteration
            parameters = devices.on_host(parameters)
            if devices.is_writer():
                with self.saving:
                    self.algorithm.export(self.folder / BEST, parameters, self.level_facts(state, scores))
        self.progress.evaluated_at, self.progress.evaluated_iteration = self._seconds(), iteration

    def level_facts(self, state: Any, scores: list[Score]) -> dict[str, Any]:
        """What a level exported now says of itself."""
        return {
            "budget": {
                "minutes": round(self._seconds() / 60, 1),
                "positions": self.algorithm.positions(state),
                "iterations": self.algorithm.iteration(state),
                "gradient_steps": self.algorithm.gradient_steps(state),
            },
            "settings": dataclasses.asdict(self.algorithm.settings),
            "results": [dataclasses.asdict(score) for score in scores],
        }


@contextlib.contextmanager
def _noting(note: Any) -> Iterator[None]:
    """While it lasts, signals that ask to stop are noted, not obeyed at once."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    chosen = [number for number in _SIGNALS if before[number] is not signal.SIG_IGN]
    for number in chosen:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number in chosen:
            signal.signal(number, before[number] or signal.SIG_DFL)


def mean(values: list[float]) -> float | None:
    """The mean of the values that are numbers; None where none is: it was not measured."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else None
