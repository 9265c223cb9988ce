"""Runs: any algorithm from its start to its last minute, over as many sittings and kills as it takes."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import jax
import numpy as np

from audamir_envs.core import Array
from audamir_envs.intervals import wilson
from audamir_envs.learned.checkpoints import CheckpointError
from audamir_training import devices, storage
from audamir_training.display import Display
from audamir_training.evaluation import Score
from audamir_training.metrics import Metrics
from audamir_training.settings import RunSettings, check_numbers

STATE, BEST, LEARNER = "state.safetensors", "best.safetensors", "learner.safetensors"


class Algorithm(Protocol):
    """What a run asks of an algorithm. A state is a frozen pytree of arrays (no PRNG keys); all randomness follows from
    the settings' seed and the state, so that equal states go on equally."""

    name: str
    settings: Any  # a frozen dataclass of plain values

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

    def learner(self, state: Any) -> Any:
        """The few MB of a state from which a run can go on in another folder: no games, no replay."""
        ...

    def with_learner(self, state: Any, learner: Any) -> Any:
        """A fresh state with what ``learner`` gave (NumPy arrays) in place of its own."""
        ...

    def player(self, state: Any) -> Any:
        """The parameters to evaluate and export."""
        ...

    def match(self, opponent: str, games: int) -> Callable[[Any, Array], tuple[Array, Array]]:
        """``match(parameters, key)``: shares of the win float32 [games], unfinished bool [games]."""
        ...

    def export(self, path: Path, parameters: Any, facts: dict[str, Any]) -> None:
        """Writes a level that ``make_agent`` loads."""
        ...

    def summary(self, metrics: dict[str, float]) -> dict[str, str]:
        """What the display shows of averaged metrics: names and values."""
        ...


@dataclasses.dataclass
class Progress:
    """What a run knows beside the algorithm's state."""

    seconds: float = 0.0  # of all sittings
    best_score: float = -1.0  # mean over the opponents
    best_iteration: int = -1
    evaluated_at: float = 0.0  # seconds at the last evaluation


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
    ) -> None:
        """Args: facts: JSON-able, stored with the state beside settings and progress; origin: the ``learner`` file of
        another run to start from, if the folder has no state yet.
        Raises: ValueError for settings or opponents that are not valid: before any training, not after it.
        """
        check_numbers(settings)
        self.algorithm, self.settings, self.folder = algorithm, settings, folder
        self.display, self.facts, self.origin = display, facts, origin
        self.progress = Progress()
        names = [name for name in settings.opponents.split(",") if name] if settings.evaluate_minutes else []
        self._matches = {name: algorithm.match(name, settings.evaluate_games) for name in names}
        self._signal: int | None = None
        self._clock = time.monotonic()

    def go(self) -> int:
        """Trains until the minutes are used up or a signal comes. Returns: 0, or 128 plus the signal's number.

        Raises: CheckpointError when the folder's state or the learner is damaged or does not fit; ValueError: another
        process trains there, or a learner that was trained for longer than the minutes; OSError when it cannot save.
        """
        handlers = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with storage.alone(self.folder) if devices.is_writer() else contextlib.nullcontext():
                return self._go()
        except OSError as error:
            if error.errno is None:  # no fault of the disk: a file that is not there, say
                raise
            why = error.strerror or str(error)
            raise OSError(
                error.errno, f"cannot go on in {self.folder}: {why}; the last saved state is whole"
            ) from error
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self.display.close()

    def _go(self) -> int:
        algorithm = self.algorithm
        state = self._resume()
        begun = iteration = algorithm.iteration(state)
        metrics = Metrics(self.folder, iteration) if devices.is_writer() else None
        collected: list[dict[str, Array]] = []
        logged = saved = time.monotonic()
        positions_then = algorithm.positions(state)
        while True:
            settings = self.settings
            seconds, stop = devices.agreed((self._seconds(), self._signal or 0))
            done = seconds >= 60 * settings.minutes or 0 < settings.iterations <= iteration
            due = settings.evaluate_minutes > 0 and (
                done or seconds - self.progress.evaluated_at >= 60 * settings.evaluate_minutes
            )
            if due and not stop and seconds > self.progress.evaluated_at:
                self._evaluate(state, iteration, metrics)
            if done or stop or devices.agreed(time.monotonic() - saved) >= 60 * settings.save_minutes:
                self._save(state)
                saved = time.monotonic()
            if done or stop:
                if done and iteration == begun:
                    self.display.say("nothing was left to train: more needs larger minutes or iterations")
                break
            state, measured = algorithm.iterate(state)
            iteration = algorithm.iteration(state)
            collected.append(measured)
            now = time.monotonic()
            if now - logged >= settings.log_seconds:
                means = {name: _mean([float(line[name]) for line in collected]) for name in measured}
                positions = algorithm.positions(state)
                means |= {"positions": positions, "seconds": round(self._seconds(), 1)}
                means["positions_per_second"] = (positions - positions_then) / (now - logged)
                if metrics:
                    metrics.write("train", iteration, means)
                self.display.train(iteration, means, algorithm.summary(means), 60 * settings.minutes - self._seconds())
                collected, logged, positions_then = [], now, positions
        if metrics:
            metrics.close()
        if stop and not done:
            self.display.say(f"stopped by {signal.Signals(stop).name}; the same command goes on from here")
            return 128 + stop
        return 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._signal == number == signal.SIGINT:
            raise KeyboardInterrupt
        self._signal = number

    def _seconds(self) -> float:
        return self.progress.seconds + time.monotonic() - self._clock

    def _resume(self) -> Any:
        path = self.folder / STATE
        state = self.algorithm.start()
        if path.is_file():
            arrays, facts = self._load(path, state)
            state = self.algorithm.place(arrays)
            self.progress = Progress(**facts["progress"])
        elif self.origin:
            arrays, facts = self._load(self.origin, self.algorithm.learner(state))
            minutes = facts["progress"]["seconds"] / 60
            if minutes >= self.settings.minutes:
                raise ValueError(
                    f"minutes={self.settings.minutes:g} are over: {self.origin} was trained for {minutes:.1f} already, "
                    "which count; use a larger number"
                )
            state = self.algorithm.place(self.algorithm.with_learner(devices.on_host(state), arrays))
            self.progress = Progress(seconds=facts["progress"]["seconds"])
        self._clock = time.monotonic()
        self.display.begin(self.algorithm.iteration(state), self.progress.seconds)
        return state

    def _load(self, path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
        """``storage.load_state`` of this game. Raises: OSError; CheckpointError naming the settings that changed."""
        try:
            arrays, facts = storage.load_state(path, like)
        except CheckpointError as error:
            facts = storage.read_facts(path)  # what is no state at all is refused here once more
            self._check_game(path, facts)
            here = dataclasses.asdict(self.algorithm.settings)
            there = facts.get("settings", here)
            differ = [name for name in here if there.get(name) != here[name]]
            if not differ:
                raise
            made = "; ".join(f"{name} {there.get(name)!r}, not {here[name]!r}" for name in differ)
            raise CheckpointError(f"{error}; it was made with {made}") from None
        self._check_game(path, facts)
        return arrays, facts

    def _check_game(self, path: Path, facts: dict[str, Any]) -> None:
        if facts.get("env", self.facts["env"]) != self.facts["env"]:
            raise CheckpointError(f"{path} is of {facts['env']}, not of {self.facts['env']}")

    def _save(self, state: Any) -> None:
        arrays = devices.on_host(state)
        if not devices.is_writer():
            return
        progress = dataclasses.asdict(self.progress) | {"seconds": self._seconds()}
        facts = {
            "algorithm": self.algorithm.name,
            "settings": dataclasses.asdict(self.algorithm.settings),
            "progress": progress,
        }
        storage.save_state(self.folder / STATE, arrays, self.facts | facts)
        storage.save_state(self.folder / LEARNER, self.algorithm.learner(arrays), self.facts | facts)

    def _evaluate(self, state: Any, iteration: int, metrics: Metrics | None) -> None:
        parameters = self.algorithm.player(state)
        scores = []
        for name, match in self._matches.items():
            # Iterations give the key: a resumed run repeats the games of an uninterrupted one.
            shares, unfinished = match(parameters, jax.random.key(iteration))
            shares, unfinished = devices.on_host((shares, unfinished))
            mean = float(np.mean(shares))
            score = Score(name, len(shares), mean, *wilson(mean, len(shares)), int(np.sum(unfinished)))
            scores.append(score)
            facts = dataclasses.asdict(score) | {"positions": self.algorithm.positions(state)}
            if metrics:
                metrics.write("evaluation", iteration, facts | {"seconds": round(self._seconds(), 1)})
            self.display.score(score)
        mean = sum(score.score for score in scores) / max(len(scores), 1)
        if scores and mean >= self.progress.best_score:
            self.progress.best_score, self.progress.best_iteration = mean, iteration
            parameters = devices.on_host(parameters)
            if devices.is_writer():
                self.algorithm.export(self.folder / BEST, parameters, self.level_facts(state, scores))
        self.progress.evaluated_at = self._seconds()

    def level_facts(self, state: Any, scores: list[Score]) -> dict[str, Any]:
        """What a level exported now says of itself."""
        return {
            "budget": {
                "minutes": round(self._seconds() / 60, 1),
                "positions": self.algorithm.positions(state),
                "iterations": self.algorithm.iteration(state),
            },
            "settings": dataclasses.asdict(self.algorithm.settings),
            "results": [dataclasses.asdict(score) for score in scores],
        }


def _mean(values: list[float]) -> float:
    """The mean of the values that are numbers; 0 where none is (JSON has no nan)."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else 0.0
