"""Stable-Baselines3's lanes: ours in one jitted call, and its own in processes that never import this package."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/frameworks.md")
pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed: see docs/frameworks.md")

from sb3_contrib import MaskablePPO  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported  # noqa: E402
from stable_baselines3.common.vec_env import VecEnv, VecNormalize  # noqa: E402

from audamir_envs.bridges.stable_baselines3 import LevelVecEnv, make_vec_env  # noqa: E402
from audamir_envs.bridges.vector import SingleAgentVectorEnv  # noqa: E402

pytestmark = pytest.mark.frameworks

LANES = 6
GAME = {"game": "stigmergy-v0", "opponent": "weak", "side": 2}


def test_lanes_are_those_of_the_vector_environment():
    """Observations, rewards, ends, masks, last observations; and the monitor's statistics are what was played."""
    lanes = make_vec_env(GAME["game"], LANES, seed=3, opponent="weak", side=2, facts=("seat",))
    plain = SingleAgentVectorEnv(num_envs=LANES, autoreset_mode="SAME_STEP", **GAME)
    assert isinstance(lanes, VecEnv)
    assert is_masking_supported(lanes)
    seen, (expected, info) = lanes.reset(), plain.reset(seed=list(range(3, 3 + LANES)))
    returns, lengths, ended = np.zeros(LANES), np.zeros(LANES, int), 0
    for _ in range(40):
        masks = get_action_masks(lanes)
        assert masks.dtype == np.bool_
        assert np.array_equal(masks, info["action_mask"])
        assert np.array_equal(seen, expected)
        seen, rewards, dones, infos = lanes.step(masks.argmax(axis=1))
        expected, wanted, terminated, truncated, info = plain.step(masks.argmax(axis=1))
        assert np.array_equal(rewards, wanted)
        assert np.array_equal(dones, terminated | truncated)
        returns, lengths = returns + rewards, lengths + 1
        for lane in range(LANES):
            assert ("terminal_observation" in infos[lane]) == dones[lane]
            if not dones[lane]:
                assert infos[lane] == {"seat": info["seat"][lane]}
                continue
            assert np.array_equal(infos[lane]["terminal_observation"], info["final_obs"][lane])
            assert infos[lane]["TimeLimit.truncated"] is False
            assert not infos[lane]["illegal"]
            assert infos[lane]["episode"]["r"] == returns[lane]
            assert infos[lane]["episode"]["l"] == lengths[lane]
            returns[lane] = lengths[lane] = 0
            ended += 1
    assert ended > LANES


def test_seeds_positions_and_what_is_refused():
    lanes = LevelVecEnv(num_envs=LANES, seat=0, **GAME)
    lanes.seed(5)
    first = lanes.reset()
    lanes.seed(5)
    assert np.array_equal(first, lanes.reset())
    lanes.set_options({"position": "x./.../.. o 0 0 0"})
    assert (lanes.reset() != first).any()
    lanes.set_options([{"position": str(lane)} for lane in range(LANES)])
    with pytest.raises(ValueError, match="all lanes start from one position"):
        lanes.reset()
    assert lanes.env_is_wrapped(object) == [False] * LANES
    assert lanes.get_attr("render_mode", [0, 1]) == [None, None]
    assert len(lanes.env_method("action_masks", indices=[1])) == 1
    with pytest.raises(AttributeError, match="make other lanes"):
        lanes.set_attr("opponent", "strong")
    with pytest.raises(AttributeError, match="have action_masks"):
        lanes.env_method("render")
    with pytest.raises(ValueError, match="tells no 'wealth'"):
        LevelVecEnv(num_envs=2, facts=["wealth"], **GAME).reset()


def test_a_masked_learner_learns():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    lanes = VecNormalize(make_vec_env(GAME["game"], 16, seed=0, opponent="weak", side=2, komi=2), norm_obs=False)
    model = MaskablePPO("MlpPolicy", lanes, n_steps=64, batch_size=256, n_epochs=4, learning_rate=1e-3, seed=0)
    means = []
    for _ in range(6):
        model.learn(2_048, reset_num_timesteps=False)
        means.append(np.mean([episode["r"] for episode in model.ep_info_buffer]))
    torch.set_num_threads(threads)
    assert means[-1] > means[0] + 0.2
    assert model.predict(lanes.reset(), action_masks=get_action_masks(lanes))[0].shape == (16,)


SCRIPT = """
import gymnasium
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

if __name__ == "__main__":
    lanes = make_vec_env(
        "audamir_envs:audamir_envs/Stigmergy-v0", n_envs=2, seed=0, vec_env_cls=SubprocVecEnv,
        env_kwargs={"opponent": "random", "side": 2},
    )
    lanes.reset()
    print(lanes.step([0, 0])[0].shape)
    lanes.close()
"""


def test_lanes_in_processes_that_never_import_the_package(tmp_path):
    """What stands before the colon is imported by Gymnasium, which reads no entry points since 1.0."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "(2, 3, 3, 16)"
