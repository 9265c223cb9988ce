"""The learners that go on from what ships: every one fits the program of its settings."""

from pathlib import Path

import jax
import numpy as np
import pytest
from audamir_training import storage
from audamir_training.alphazero import AlphaZero
from audamir_training.ppo import PPO
from audamir_training.runs import Progress
from audamir_training.settings import PPOSettings
from tiny_run import mesh_of

STATES = sorted((Path(__file__).resolve().parents[2] / "training" / "states").glob("*.safetensors"))


@pytest.mark.parametrize("path", STATES, ids=[path.stem for path in STATES])
def test_a_learner_that_ships_can_go_on(path: Path) -> None:
    facts = storage.read_facts(path)
    assert facts["env"] == path.stem
    settings = storage.settings_of(path, facts)
    assert storage.read_fields(path, Progress, facts["progress"]).seconds > 3600
    algorithm = (PPO if isinstance(settings, PPOSettings) else AlphaZero)(settings, mesh_of(1))
    like = jax.eval_shape(algorithm.start)  # shapes alone: nothing is compiled
    learner, _ = storage.load_state(path, algorithm.learner(like), algorithm.newer)
    assert int(learner["positions"]) > 1_000_000
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(learner))


def test_there_are_learners() -> None:
    assert len(STATES) == 3
