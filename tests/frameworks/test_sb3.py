"""sb3-contrib: MaskablePPO on the Gymnasium environments, whose ``action_masks()`` it finds through wrappers."""

import os

import gymnasium
import numpy as np
import pytest

import audamir_envs
from audamir_envs import agents, arena

torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/frameworks.md")
pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed: see docs/frameworks.md")

from sb3_contrib import MaskablePPO  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402

pytestmark = pytest.mark.frameworks

COLONY = "audamir_envs/Colony-v0"


class Watched(gymnasium.Wrapper):
    """Fails at once where an observation is not finite, a mask empty, or an action illegal."""

    def reset(self, **arguments):
        observation, info = self.env.reset(**arguments)
        return self._checked(observation, info), info

    def step(self, action):
        assert self.get_wrapper_attr("action_masks")()[action]
        observation, reward, terminated, truncated, info = self.env.step(action)
        assert not info["illegal"]
        assert np.isfinite(reward)
        return self._checked(observation, info), reward, terminated, truncated, info

    def _checked(self, observation, info):
        assert observation in self.observation_space
        assert np.isfinite(observation).all()
        mask = self.get_wrapper_attr("action_masks")()
        assert mask.any()
        assert mask.dtype == np.bool_
        assert np.array_equal(mask, info["action_mask"])
        return observation


class Pieces(Watched):
    """Rewards pieces won too: a random player all but never beats a level, so results alone teach too slowly."""

    def reset(self, **arguments):
        observation, info = super().reset(**arguments)
        self._pieces = info["pieces"]
        return observation, info

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        gained, self._pieces = info["pieces"] - self._pieces, info["pieces"]
        return observation, reward + 0.05 * gained, terminated, truncated, info


def model_for(env_id, wrapper=Watched, **settings):
    lanes = make_vec_env(env_id, n_envs=8, seed=0, wrapper_class=wrapper, env_kwargs={"opponent": "weak", **settings})
    return MaskablePPO(
        "MlpPolicy",
        lanes,
        n_steps=128,
        batch_size=256,
        n_epochs=8,
        learning_rate=1e-3,
        gamma=0.9,
        policy_kwargs={"net_arch": [256]},
        seed=0,
    )


def score_against_weak(model, games=200):
    """(score, half the width of its interval) of a model in the arena, seats rotated."""
    policy = agents.from_callable(lambda observation, mask: model.predict(observation, action_masks=mask)[0], "ppo")
    result = arena.evaluate(audamir_envs.make("colony-v0"), [policy, "weak"], games=games, seed=1)
    low, high = result.interval["ppo"]
    return result.score["ppo"], (high - low) / 2


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_learns_on_colony_against_weak():
    model = model_for(COLONY, Pieces)
    before, _ = score_against_weak(model)
    model.learn(20_000)
    after, margin = score_against_weak(model)
    assert after - margin > before + 0.05
    assert all(torch.isfinite(parameter).all() for parameter in model.policy.parameters())


@pytest.mark.parametrize(
    ("env_id", "options"),
    [("audamir_envs/Stigmergy-v0", {"side": 4}), ("audamir_envs/Principalities-v0", {"players": 3, "max_rounds": 10})],
)
def test_plays_and_learns_on_the_other_games(env_id, options):
    model = model_for(env_id, **options)
    model.learn(2_048)
    assert all(torch.isfinite(parameter).all() for parameter in model.policy.parameters())


def test_dict_observations_by_the_multi_input_policy():
    """Users of Dict observations wrap the mask in themselves; the mask is still found below the wrapper."""

    class WithMask(gymnasium.ObservationWrapper):
        def __init__(self, env):
            super().__init__(env)
            mask = gymnasium.spaces.MultiBinary(int(env.action_space.n))
            self.observation_space = gymnasium.spaces.Dict({"observation": env.observation_space, "action_mask": mask})

        def observation(self, observation):
            return {"observation": observation, "action_mask": self.get_wrapper_attr("action_masks")().astype("int8")}

    lanes = make_vec_env(
        "audamir_envs/Stigmergy-v0", n_envs=2, wrapper_class=WithMask, env_kwargs={"opponent": "random", "side": 3}
    )
    model = MaskablePPO("MultiInputPolicy", lanes, n_steps=64, batch_size=64, n_epochs=1, seed=0)
    model.learn(256)


@pytest.mark.slow
def test_soak():
    """300,000 steps (AUDAMIR_SOAK_STEPS) without NaN, illegal action or empty mask: `Watched` and torch look."""
    model = model_for(COLONY)
    model.learn(int(os.environ.get("AUDAMIR_SOAK_STEPS", "300000")))
    assert all(torch.isfinite(parameter).all() for parameter in model.policy.parameters())
    assert all(np.isfinite(episode["r"]) for episode in model.ep_info_buffer)
