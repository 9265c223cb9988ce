"""gymnax 1.0: its wrappers and a library of learners (rejax) on our environments; in an environment of its own."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

gymnax = pytest.importorskip("gymnax", reason="gymnax is not installed: see docs/frameworks.md")

from gymnax.environments import spaces  # noqa: E402
from gymnax.wrappers import purerl  # noqa: E402
from gymnax.wrappers.gym import GymnaxToGymWrapper  # noqa: E402

from audamir_envs.bridges import gymnax as bridge  # noqa: E402
from audamir_envs.sampling import sample_legal  # noqa: E402

pytestmark = [pytest.mark.frameworks, pytest.mark.usefixtures("standard_promotion")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "gymnax_rejax_ppo.py"
RING = {"neighbours": [[1, 7], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [6, 0]]}
GAMES = {
    "colony-v0": ("weak", {"max_turns": 20}),
    "stigmergy-v0": ("weak", {"side": 2}),
    "principalities-v0": ("weak", {"players": 3, "map": RING, "max_rounds": 4}),
}
LANES, STEPS = 4, 60


@pytest.fixture
def standard_promotion():
    """gymnax and rejax mix types of numbers."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def test_built_in_environments_have_the_same_members():
    ours, _ = bridge.make("stigmergy-v0", "weak", side=2)
    theirs, _ = gymnax.make("CartPole-v1")
    for name in (
        "reset",
        "step",
        "default_params",
        "action_space",
        "observation_space",
        "num_actions",
        "name",
        "get_obs",
    ):
        assert hasattr(ours, name)
        assert hasattr(theirs, name)
    assert isinstance(ours.action_space(), spaces.Discrete)
    assert isinstance(ours.observation_space(), spaces.Box)
    key = jax.random.key(0)
    mine, theirs = (env.step(key, env.reset(key)[1], 0) for env in (ours, theirs))
    assert len(mine) == len(theirs)
    for one, other in zip(mine[2:5], theirs[2:5], strict=True):
        assert jnp.shape(one) == jnp.shape(other)
        assert jnp.asarray(one).dtype == jnp.asarray(other).dtype
    assert set(theirs[5]) - {"discount"} <= set(mine[5])


@pytest.mark.parametrize("game", GAMES)
def test_wrappers_count_what_was_played(game):
    """Returns and lengths of ``LogWrapper`` over ``FlattenObservationWrapper``, in a vmapped and scanned rollout."""
    opponent, options = GAMES[game]
    inner, params = bridge.make(game, opponent, **options)
    env = purerl.LogWrapper(purerl.FlattenObservationWrapper(inner))

    def step(carry, key):
        state, _ = carry
        choose, key = jax.random.split(key)
        actions = sample_legal(choose, state.env_state.action_mask)
        keys = jax.random.split(key, LANES)
        seen, state, reward, terminated, truncated, info = jax.vmap(env.step, in_axes=(0, 0, 0, None))(
            keys, state, actions, params
        )
        return (state, seen), (reward, terminated | truncated, info)

    seen, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(jax.random.key(1), LANES), params)
    assert seen.shape == (LANES, *env.observation_space(params).shape)
    _, told = jax.jit(lambda carry, keys: jax.lax.scan(step, carry, keys))(
        (state, seen), jax.random.split(jax.random.key(2), STEPS)
    )
    reward, done, info = jax.device_get(told)
    assert done.sum() >= LANES
    assert not info["illegal"].any()
    lengths, returns = np.zeros(LANES, int), np.zeros(LANES)
    for number in range(STEPS):
        lengths, returns = lengths + 1, returns + reward[number]
        for lane in np.flatnonzero(done[number]):
            assert info["returned_episode_returns"][number, lane] == returns[lane]
            assert info["returned_episode_lengths"][number, lane] == lengths[lane]
            assert info["final_observation"][number, lane].any()
            lengths[lane] = returns[lane] = 0


def test_as_a_gymnasium_environment():
    inner, params = bridge.make("stigmergy-v0", "weak", side=2)
    env = GymnaxToGymWrapper(inner, params, seed=1)
    seen, _ = env.reset(seed=3)
    for _ in range(20):
        assert np.asarray(seen) in env.observation_space
        seen, _, terminated, _, info = env.step(int(np.argmax(env.env_state.action_mask)))
        if terminated:
            assert not info["illegal"]
            seen, _ = env.reset()


def test_a_learner_of_others_learns():
    """rejax's PPO against ``weak``, masked, within one jit."""
    pytest.importorskip("rejax", reason="rejax is not installed: see docs/frameworks.md")
    from rejax import PPO

    spec = importlib.util.spec_from_file_location("gymnax_rejax_ppo", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    env, params = bridge.make("stigmergy-v0", "weak", side=2, komi=2, mask_in_observation=True)
    algorithm = PPO.create(
        env=example.OldInterface(env), env_params=params, total_timesteps=30_000, eval_freq=30_000, num_envs=32,
        num_steps=32, num_minibatches=4, num_epochs=4, learning_rate=1e-3,
    )  # fmt: skip
    policy = example.MaskedPolicy(env.num_actions, hidden_layer_sizes=(64, 64), activation=jax.nn.swish)
    _, (_, returns) = jax.jit(algorithm.replace(actor=policy).train)(jax.random.key(0))
    before, after = returns.mean(axis=1)
    assert after > before + 0.3
