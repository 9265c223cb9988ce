"""An algorithm whose state is a few numbers, and sittings of it, to test runs alone."""

import dataclasses
import json
import signal

import numpy as np
from audamir_training.display import Display
from audamir_training.runs import Run
from audamir_training.settings import RunSettings
from tiny_run import TINY

from audamir_envs import files


class Match:
    """Games that are always the same."""

    compile_seconds = 0.0
    level = None

    def __init__(self, games: int) -> None:
        self.games = games

    def __call__(self, parameters, key):
        return np.full(self.games, 0.75), np.zeros(self.games, bool), None


class Counting:
    """An algorithm whose state is a few numbers, to test runs alone."""

    name = "alphazero"  # as far as a state tells
    settings = TINY
    newer = ()
    shown = None
    opponents = ()

    def __init__(self, interrupt_at: int = -1, number: int = signal.SIGTERM) -> None:
        self.interrupt_at, self.signal = interrupt_at, number

    def start(self):
        return {"n": np.int32(0), "weights": np.zeros(3, np.float32)}

    def place(self, state):
        return state

    def iterate(self, state):
        number = int(state["n"]) + 1
        if number == self.interrupt_at:
            signal.raise_signal(self.signal)
        rng = np.random.default_rng(number)
        weights = state["weights"] + rng.normal(size=3).astype(np.float32)
        return {"n": np.int32(number), "weights": weights}, {"loss": np.float32(1 / number)}

    def iteration(self, state):
        return int(state["n"])

    def positions(self, state):
        return 10 * int(state["n"])

    def learner(self, state):
        return dict(state)

    def with_learner(self, state, learner):
        return state | learner

    def player(self, state):
        return state["weights"]

    def match(self, opponent, games, told=False):
        return Match(games)

    def compile_seconds(self):
        return 0.0

    def gradient_steps(self, state):
        return int(state["n"])

    def export(self, path, parameters, facts):
        files.write_text(path, json.dumps(facts))

    def summary(self, means):
        return {"loss": f"{means['loss']:.3f}"}


def sitting(folder, algorithm, origin=None, **changes) -> tuple[Run, int]:
    settings = RunSettings(minutes=1.0, log_seconds=0.0, evaluate_minutes=0.0, opponents="random")
    settings = dataclasses.replace(settings, **changes)
    run = Run(algorithm, settings, folder, Display("test", 1.0, quiet=True), {"env": "x"}, origin)
    return run, run.go()
