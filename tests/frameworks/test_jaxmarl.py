"""JaxMARL 0.2: its wrappers on our environments; in an environment of its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("jaxmarl", reason="JaxMARL is not installed: see docs/frameworks.md")

from jaxmarl.environments import spaces
from jaxmarl.environments.multi_agent_env import MultiAgentEnv
from jaxmarl.wrappers.baselines import CTRolloutManager, LogWrapper

from audamir_envs.bridges import jaxmarl as bridge
from audamir_envs.sampling import sample_legal

pytestmark = [pytest.mark.frameworks, pytest.mark.usefixtures("standard_promotion")]

RING = {"neighbours": [[1, 7], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [6, 0]]}
GAMES = {
    "colony-v0": {"max_turns": 20},
    "stigmergy-v0": {"side": 2},
    "principalities-v0": {"players": 3, "map": RING, "max_rounds": 4},
}
LANES, STEPS = 4, 80


@pytest.fixture
def standard_promotion():
    """JaxMARL mixes types of numbers."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def sample(env, state, key):
    masks = env.get_avail_actions(state)
    keys = jax.random.split(key, env.num_agents)
    return {agent: sample_legal(keys[seat], masks[agent]) for seat, agent in enumerate(env.agents)}


def test_the_members_of_its_own_environments():
    env = bridge.make("stigmergy-v0", side=2)
    public = {name for name in vars(MultiAgentEnv) if not name.startswith("_")}
    assert public - {"step_env"} <= set(dir(env))
    assert isinstance(env.action_space("agent_0"), spaces.Discrete)
    assert isinstance(env.observation_space("agent_0"), spaces.Box)


@pytest.mark.parametrize("game", GAMES)
def test_its_log_counts_what_was_played(game):
    inner = bridge.make(game, **GAMES[game])
    env = LogWrapper(inner)

    def step(state, key):
        choose, key = jax.random.split(key)
        actions = jax.vmap(lambda state, key: sample(inner, state, key))(
            state.env_state, jax.random.split(choose, LANES)
        )
        _, state, rewards, dones, infos = jax.vmap(env.step)(jax.random.split(key, LANES), state, actions)
        return state, (jnp.stack([rewards[agent] for agent in env.agents], axis=1), dones["__all__"], infos)

    _, state = jax.vmap(env.reset)(jax.random.split(jax.random.key(1), LANES))
    _, told = jax.jit(lambda state, keys: jax.lax.scan(step, state, keys))(
        state, jax.random.split(jax.random.key(2), STEPS)
    )
    rewards, done, infos = jax.device_get(told)
    assert done.sum() >= LANES
    assert not infos["illegal"].any()
    assert np.abs(rewards.sum(axis=2)).max() < 1e-6
    assert all(leaf.shape == (STEPS, LANES, env.num_agents) for leaf in jax.tree.leaves(infos))
    returns, lengths = np.zeros((LANES, env.num_agents)), np.zeros(LANES)
    for number in range(STEPS):
        returns, lengths = returns + rewards[number], lengths + 1
        for lane in np.flatnonzero(done[number]):
            assert np.allclose(infos["returned_episode_returns"][number, lane], returns[lane])
            assert (infos["returned_episode_lengths"][number, lane] == lengths[lane]).all()
            returns[lane] = lengths[lane] = 0


def test_its_rollout_manager():
    """The wrapper of JaxMARL's Q-learners: flat observations with the agent's number, the state of all."""
    inner = bridge.make("stigmergy-v0", side=2)
    env = CTRolloutManager(inner, batch_size=LANES)
    seen, state = env.batch_reset(jax.random.key(0))
    size = int(np.prod(inner.game.observation_shape))
    assert seen["agent_0"].shape == (LANES, size + 2)
    masks = jax.vmap(inner.get_avail_actions)(state)
    actions = {agent: mask.argmax(axis=1) for agent, mask in masks.items()}
    _, _, rewards, dones, _ = env.batch_step(jax.random.key(1), state, actions)
    assert rewards["__all__"].shape == dones["__all__"].shape == (LANES,)
