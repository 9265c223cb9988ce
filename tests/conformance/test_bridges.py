"""Every game through PettingZoo and Gymnasium, by their own checks and by ours."""

import functools

import gymnasium
import numpy as np
import pettingzoo
import pytest
from conformance.cases import BRIDGED

from audamir_envs.bridges.gymnasium import SingleAgentEnv
from audamir_envs.bridges.registration import gymnasium_id, pettingzoo_id
from audamir_envs.bridges.vector import SingleAgentVectorEnv
from audamir_envs.testing.bridges import Gymnasium, PettingZoo
from audamir_envs.testing.cases import LANES


class TestPettingZoo(PettingZoo):
    cases = BRIDGED


class TestGymnasium(Gymnasium):
    cases = BRIDGED


@pytest.mark.parametrize("env_id", [case[0] for case in BRIDGED])
def test_made_by_id(env_id):
    if hasattr(pettingzoo, "make"):
        env = pettingzoo.make("aec", pettingzoo_id(env_id))
        assert env.metadata["name"] == env_id.replace("-", "_")
    with pytest.raises(ValueError, match="nonsense"):
        gymnasium.make(gymnasium_id(env_id), nonsense=1)


def test_gymnasium_makes_them():
    options = {"opponent": "random", "board": "58"}
    single = gymnasium.make(gymnasium_id("colony-v0"), **options)
    observation, _ = single.reset(seed=3)
    assert single.get_wrapper_attr("action_masks")().any()
    assert isinstance(single.unwrapped, SingleAgentEnv)
    make_vec = functools.partial(gymnasium.make_vec, gymnasium_id("colony-v0"), num_envs=LANES, **options)
    lanes = make_vec(vectorization_mode="vector_entry_point", autoreset_mode="SAME_STEP")
    assert isinstance(lanes.unwrapped, SingleAgentVectorEnv)
    assert lanes.metadata["autoreset_mode"].name == "SAME_STEP"
    assert lanes.reset(seed=3)[0].shape == (LANES, *observation.shape)
    alone = make_vec(vectorization_mode="sync")
    stacked, info = alone.reset(seed=3)
    assert np.array_equal(stacked[0], observation)
    assert info["action_mask"].shape == (LANES, single.action_space.n)
