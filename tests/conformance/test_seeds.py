"""A seed means the same game in every bridge, whatever JAX's settings are."""

import contextlib

import gymnasium
import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs.bridges.pettingzoo import GameAEC
from audamir_envs.bridges.selfplay import SelfPlayVectorEnv

CASES = {
    "colony-v0": {"starter": "random", "max_turns": 6},
    "stigmergy-v0": {"side": 2, "komi": "choose"},
    "principalities-v0": {"players": 2, "map": [[1, 3], [0, 2], [1, 3], [2, 0]], "max_rounds": 2},
}


@contextlib.contextmanager
def settings(**values):
    with contextlib.ExitStack() as stack:
        for name, value in values.items():
            stack.enter_context(getattr(jax, name)(value))
        yield


SETTINGS = [
    {"default_prng_impl": "rbg"},
    {"default_prng_impl": "unsafe_rbg"},
    {"threefry_partitionable": False},
    {"enable_x64": True},
]


def pettingzoo(env_id):
    env = GameAEC(env_id, **CASES[env_id])
    env.reset(seed=7)
    seen = []
    for _ in range(10):
        observation, reward, ended, cut, _ = env.last()
        seen.append((np.asarray(observation["observation"]).tobytes(), float(reward)))
        env.step(None if ended or cut else int(np.flatnonzero(observation["action_mask"])[-1]))
        if not env.agents:
            break
    return seen


def single(env_id):
    env = gymnasium.make(name(env_id), opponent="random", **CASES[env_id]).unwrapped
    observation, info = env.reset(seed=7)
    seen = [np.asarray(observation).tobytes()]
    for _ in range(3):
        observation, reward, ended, cut, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        seen.append((np.asarray(observation).tobytes(), float(reward)))
        if ended or cut:
            break
    return seen


def vector(env_id):
    env = gymnasium.make_vec(
        name(env_id), num_envs=3, vectorization_mode="vector_entry_point", opponent="random", **CASES[env_id]
    )
    return seen_in(env)


def selfplay(env_id):
    return seen_in(SelfPlayVectorEnv(audamir_envs.make(env_id, **CASES[env_id]), 3))


def seen_in(env):
    observation, info = env.reset(seed=7)
    seen = [np.asarray(observation).tobytes()]
    for _ in range(3):
        mask = np.asarray(info["action_mask"])
        observation, reward, _, _, info = env.step(mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1))
        seen.append((np.asarray(observation).tobytes(), np.asarray(reward).tobytes()))
    return seen


def name(env_id):
    return f"audamir_envs/{env_id.split('-')[0].title()}-v0"


def check(env_id, play, chosen):
    usual = play(env_id)
    for values in chosen:
        jax.clear_caches()
        with settings(**values):
            assert play(env_id) == usual, values


def test_a_seed_means_the_same_game():
    check("principalities-v0", pettingzoo, SETTINGS[2:3])  # that which once changed games; the others are slow


@pytest.mark.slow
@pytest.mark.parametrize("play", [pettingzoo, single, vector, selfplay], ids=lambda play: play.__name__)
@pytest.mark.parametrize("env_id", CASES)
def test_a_seed_means_the_same_game_in_every_bridge(env_id, play):
    check(env_id, play, SETTINGS)
