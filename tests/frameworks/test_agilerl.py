"""AgileRL: masks from ``info`` (single agent) and from ``infos[agent]`` (all agents); in an environment of its own."""

import gymnasium
import numpy as np
import pytest
from frameworks.games import GAMES, aec
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import BaseParallelWrapper

torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/frameworks.md")
for module in ("agilerl.algorithms", "agilerl.rollouts.on_policy"):
    pytest.importorskip(module, reason="AgileRL, or peft beside it, is not installed: see docs/frameworks.md")

from agilerl.algorithms import DQN, IPPO, PPO  # noqa: E402
from agilerl.rollouts.on_policy import collect_rollouts  # noqa: E402

from audamir_envs.bridges.registration import gymnasium_id  # noqa: E402

# AgileRL and what it imports warn in many ways.
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]

every_game = pytest.mark.parametrize("game", GAMES)
LANES = 4


class Watched(gymnasium.vector.VectorWrapper):
    """Flattens observations, counts episodes, and fails where an action is illegal."""

    def __init__(self, env):
        super().__init__(env)
        self.episodes = 0
        self.single_observation_space = gymnasium.spaces.flatten_space(env.single_observation_space)

    def reset(self, **arguments):
        observation, info = self.env.reset(**arguments)
        self._mask = info["action_mask"]
        return observation.reshape(self.num_envs, -1), info

    def step(self, actions):
        assert self._mask[np.arange(self.num_envs), actions].all()
        observation, reward, terminated, truncated, info = self.env.step(actions)
        self._mask = info["action_mask"]
        self.episodes += int((terminated | truncated).sum())
        assert not info.get("final_info", info)["illegal"].any()
        return observation.reshape(self.num_envs, -1), reward, terminated, truncated, info


def lanes(game):
    return Watched(
        gymnasium.make_vec(
            gymnasium_id(game),
            num_envs=LANES,
            vectorization_mode="vector_entry_point",
            opponent="random",
            autoreset_mode="SAME_STEP",
            **GAMES[game],
        )
    )


def network():
    return {"encoder_config": {"hidden_size": [32]}, "head_config": {"hidden_size": [32]}}


@every_game
def test_ppo_on_our_vector_environment(game):
    env = lanes(game)
    agent = PPO(
        env.single_observation_space,
        env.single_action_space,
        net_config=network(),
        num_envs=LANES,
        learn_step=64 * LANES,
        batch_size=64,
        update_epochs=1,
    )
    before = [parameter.detach().clone() for parameter in agent.actor.parameters()]
    collect_rollouts(agent, env, n_steps=64)
    assert agent.rollout_buffer.buffer["action_masks"].any(-1).all()
    agent.learn()
    assert env.episodes > 0
    assert all(torch.isfinite(parameter).all() for parameter in agent.actor.parameters())
    assert any(not torch.equal(old, new) for old, new in zip(before, agent.actor.parameters(), strict=True))


@every_game
def test_dqn_takes_the_mask(game):
    env = lanes(game)
    agent = DQN(env.single_observation_space, env.single_action_space, net_config=network())
    observation, info = env.reset(seed=0)
    for step in range(60):
        actions = agent.get_action(observation, epsilon=step % 2, action_mask=info["action_mask"])
        observation, *_, info = env.step(actions)
    assert env.episodes > 0


def test_limits():
    """Of AgileRL; when this fails, docs/frameworks.md has something to take back."""
    from agilerl.vector import PzDummyVecEnv

    parallel = turn_based_aec_to_parallel(aec("stigmergy-v0"))
    agents = parallel.possible_agents
    spaces = [gymnasium.spaces.Box(-1, 1, (4,))] * len(agents), [parallel.action_space(one) for one in agents]
    agent = IPPO(*spaces, agent_ids=agents, net_config=network())
    _, infos = parallel.reset(seed=0)
    with pytest.raises(ValueError, match="truth value of an array"):
        agent.get_action({one: np.zeros((1, 4), np.float32) for one in agents}, infos)

    env = PzDummyVecEnv(ForAgileRL(parallel))
    _, infos = env.reset(seed=0)
    ended = False
    while not ended:
        legal = {one: int(np.argmax(infos[one]["action_mask"])) for one in agents}
        _, _, terminated, _, infos = env.step({one: np.array([legal[one]]) for one in agents})
        ended = bool(terminated[agents[0]][0])
    assert not any(any(infos[one]["action_mask"]) for one in agents)  # of the game that ended, although another began


class ForAgileRL(BaseParallelWrapper):
    """AgileRL wants masks in ``infos`` alone, and its IPPO fails on masks that are arrays: lists, and flat boxes."""

    def reset(self, seed=None, options=None):
        observations, infos = self.env.reset(seed, options)
        return self._bare(observations), self._lists(infos)

    def step(self, actions):
        observations, *rest, infos = self.env.step(actions)
        return self._bare(observations), *rest, self._lists(infos)

    def observation_space(self, agent):
        return gymnasium.spaces.flatten_space(self.env.observation_space(agent)["observation"])

    @staticmethod
    def _bare(observations):
        return {agent: seen["observation"].reshape(-1) for agent, seen in observations.items()}

    @staticmethod
    def _lists(infos):
        return {agent: info | {"action_mask": info["action_mask"].tolist()} for agent, info in infos.items()}


@every_game
def test_ippo_with_masks_of_every_agent(game):
    env = ForAgileRL(turn_based_aec_to_parallel(aec(game)))
    agents = env.possible_agents
    agent = IPPO(
        [env.observation_space(one) for one in agents],
        [env.action_space(one) for one in agents],
        agent_ids=agents,
        net_config=network(),
        batch_size=32,
        update_epochs=1,
    )
    names = ("state", "action", "log_prob", "reward", "done", "value")
    kept = {name: {one: [] for one in agents} for name in names}
    done = dict.fromkeys(agents, np.zeros(1))
    observations, infos = env.reset(seed=0)
    ended = 0
    for _ in range(150):
        seen = {one: observation[None] for one, observation in observations.items()}
        actions, log_probs, _, values = agent.get_action(seen, infos)
        (mover,) = (one for one in agents if any(infos[one]["action_mask"]))
        assert infos[mover]["action_mask"][int(actions[mover][0])]
        observations, rewards, terminated, truncated, infos = env.step({one: int(actions[one][0]) for one in agents})
        for one in agents:
            row = (seen[one], actions[one], log_probs[one], np.array([rewards[one]]), done[one], values[one])
            for name, value in zip(names, row, strict=True):
                kept[name][one].append(value)
        done = {one: np.array([float(terminated[one] or truncated[one])]) for one in agents}
        if not env.agents:
            ended += 1
            assert sum(rewards.values()) == pytest.approx(0, abs=1e-6)
            observations, infos = env.reset()
    assert ended > 0
    following = {one: observation[None] for one, observation in observations.items()}
    losses = agent.learn((*kept.values(), following, done))
    assert np.isfinite(list(losses.values())).all()
