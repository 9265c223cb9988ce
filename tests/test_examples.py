"""What examples/ show runs as it is written, with small budgets."""

import importlib.util
import re
import runpy
import sys
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = {
    "behaviour_cloning.py": ("--games", "4", "--steps", "2", "--eval-games", "2", "--level", "random"),
    "cleanrl_ppo.py": (
        *("--total-timesteps", "64", "--num-envs", "8", "--num-steps", "4", "--num-minibatches", "2"),
        *("--eval-every", "1", "--eval-games", "4", "--channels", "4", "--env", "stigmergy-v0"),
    ),
    "custom_map.py": ("--games", "4", "--svg", "island.svg"),
    "jitted_rollouts.py": ("--games", "8", "--steps", "16"),
    "numpy_policy_in_the_arena.py": ("--games", "2"),
    "own_agent_in_the_arena.py": ("--games", "8", "--side", "3"),
    "pettingzoo_loop.py": (),
    "text_agent.py": ("--games", "2"),
    "plot_ladder.py": ("--games", "4", "--agents", "random", "weak"),
}
"""Programs that need nothing but the package and what trains it, and the arguments that make them short."""
OF_FRAMEWORKS = {
    "agilerl_masked.py": ("agilerl", ("--iterations", "1", "--steps", "8", "--envs", "2")),
    "open_spiel_mcts.py": ("pyspiel", ("--games", "2", "--simulations", "5")),
    "pgx_style_training.py": ("pgx", ("--iterations", "5", "--games", "4", "--steps", "4", "--simulations", "4")),
    "rllib_masked_ppo.py": ("ray", ("--iterations", "1", "--batch", "200")),
    "sb3_maskable_ppo.py": ("sb3_contrib", ("--steps", "64", "--games", "4")),
    "sb3_fast_lanes.py": ("sb3_contrib", ("--lanes", "4", "--measure", "2", "--steps", "128")),
    "gymnax_rejax_ppo.py": ("rejax", ("--steps", "64", "--envs", "4", "--side", "2")),
    "selfplay_torch.py": ("torch", ("--iterations", "1", "--envs", "4", "--steps", "8", "--games", "4")),
    "supersuit_parallel.py": ("supersuit", ("--games", "2", "--steps", "20")),
    "tianshou_collect.py": ("tianshou", ("--rounds", "1", "--games", "2", "--updates", "1")),
    "torchrl_rollout.py": ("torchrl", ("--updates", "1", "--games", "1", "--side", "3")),
}
"""Programs that need a framework: the module without which they are skipped, and the arguments."""
ENGINES = {"ugi_engine.py"}
"""Programs that answer lines; ``tests/agents/test_ugi.py`` plays against them."""
WRITTEN = {"custom_map.py": "island.svg", "plot_ladder.py": "ladder.png"}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs an example in an empty folder and returns what it prints."""

    def run(name, arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        with jax.numpy_dtype_promotion("standard"):  # as everywhere outside these tests
            runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_every_example_has_a_budget():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == {*BUDGETS, *OF_FRAMEWORKS, *ENGINES}


@pytest.mark.parametrize("name", BUDGETS)
def test_example(name, run, tmp_path):
    assert run(name, BUDGETS[name]).strip()
    assert {path.name for path in tmp_path.iterdir()} == ({WRITTEN[name]} if name in WRITTEN else set())


@pytest.mark.frameworks
@pytest.mark.filterwarnings("default")  # those of the frameworks are theirs
@pytest.mark.parametrize("name", OF_FRAMEWORKS)
def test_example_of_a_framework(name, run):
    module, arguments = OF_FRAMEWORKS[name]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    assert run(name, arguments).strip()


@pytest.mark.slow
def test_ppo_beats_weak(run):
    """Long before its ten minutes are over: 80,000 plies take about two on two busy cores."""
    last = run("cleanrl_ppo.py", ("--total-timesteps", "80000", "--eval-every", "100")).strip().splitlines()[-1]
    score, low = re.search(r"score against weak (\S+) \((\S+) to", last).groups()
    assert float(low) > 0.8, last
    assert float(score) > 0.9, last
