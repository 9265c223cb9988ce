"""RLlib (new API stack): its PettingZoo wrapper and its own masked module; in an environment of its own."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: see docs/frameworks.md")
ray = pytest.importorskip("ray", reason="RLlib is not installed: see docs/frameworks.md")
pytest.importorskip("ray.rllib", reason="RLlib is not installed: see docs/frameworks.md")

# Ray's own code and files warn in many ways.
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rllib_masked_ppo.py"
GAMES = {
    "colony-v0": {"max_turns": 40},
    "stigmergy-v0": {"side": 3, "komi": 4},
    "principalities-v0": {"players": 3, "max_rounds": 6},
}


@pytest.fixture(scope="module")
def example():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield runpy.run_path(str(EXAMPLE))
    ray.shutdown()


@pytest.mark.parametrize("game", GAMES)
def test_two_training_iterations(example, game):
    algorithm = example["config_for"](game, GAMES[game], batch=400).build_algo()
    before = algorithm.get_module("shared").get_state()
    episodes = steps = 0
    for _ in range(2):
        result = algorithm.train()
        sampled = result["env_runners"]
        episodes += sampled["num_episodes"]
        steps += sampled["num_env_steps_sampled"]
        # The returns of all seats together: an illegal action would make them -1, since others then get 0.
        assert sampled["episode_return_mean"] == pytest.approx(0, abs=1e-6)
        assert sampled["episode_return_min"] == pytest.approx(0, abs=1e-6)
        assert sampled["episode_return_max"] == pytest.approx(0, abs=1e-6)
        assert np.isfinite(result["learners"]["shared"]["total_loss"])
    assert episodes > 2
    assert steps >= 800
    after = algorithm.get_module("shared").get_state()
    assert any(not np.array_equal(before[name], after[name]) for name in before)
    algorithm.stop()
