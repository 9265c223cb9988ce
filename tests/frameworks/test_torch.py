"""PyTorch beside ``SelfPlayVectorEnv``: arrays without a copy, actions of any kind, the example's arithmetic."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from audamir_envs.bridges.selfplay import SelfPlayVectorEnv

torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/frameworks.md")

pytestmark = pytest.mark.frameworks

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "selfplay_torch.py"
LANES = 8


@pytest.fixture
def env():
    return SelfPlayVectorEnv("stigmergy-v0", LANES, device_outputs=True, side=3)


def test_arrays_pass_without_a_copy_and_stay(env):
    observation, info = env.reset(seed=0)
    kept = []
    for _ in range(6):
        for array in (observation, info["action_mask"], info["current_player"]):
            tensor = torch.from_dlpack(array)
            assert tensor.data_ptr() == array.unsafe_buffer_pointer()
            kept.append((tensor, tensor.clone()))
        actions = torch.from_dlpack(info["action_mask"]).int().argmax(dim=1)
        observation, rewards, terminated, _, info = env.step(actions)
        assert torch.from_dlpack(rewards).shape == (LANES, 2)
        assert torch.from_dlpack(terminated).dtype == torch.bool
    assert all(torch.equal(tensor, copy) for tensor, copy in kept)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.uint8])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_actions_of_any_integer_type_from_anywhere_in_memory(env, dtype, place):
    env.reset(seed=0)
    cells = torch.arange(LANES + place, dtype=dtype)[place:]
    observation, _, _, _, info = env.step(cells)
    expected = SelfPlayVectorEnv("stigmergy-v0", LANES, side=3)
    expected.reset(seed=0)
    assert np.array_equal(observation, expected.step(np.arange(place, place + LANES))[0])
    assert not info["illegal"].any()
    env.step(torch.arange(2 * LANES, dtype=dtype)[::2] * 0 + 18)  # every second of a larger tensor


def test_targets_of_the_example():
    targets = runpy.run_path(str(EXAMPLE))["targets"]
    nothing = torch.zeros(4, 1)
    movers = torch.tensor([[0], [1], [0], [1]])
    dones = torch.tensor([[False], [False], [True], [False]])
    rewards = torch.zeros(4, 1, 2)
    rewards[2, 0] = torch.tensor([1.0, -1.0])  # the first game ends at the third step; a second one goes on
    last, to_move = torch.tensor([0.5]), torch.tensor([0])
    full = targets(nothing, movers, rewards, dones, last, to_move, discount=1.0)
    assert full.flatten().tolist() == [1.0, -1.0, 1.0, -0.5]
    values = torch.tensor([[0.2], [0.1], [0.4], [0.3]])
    single = targets(values, movers, rewards, dones, last, to_move, discount=0.0)
    assert single.flatten().tolist() == pytest.approx([0.4 - 0.2, -1 - 0.1, 1 - 0.4, -0.5 - 0.3])
