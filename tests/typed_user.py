"""What users write, for pyright alone: nothing runs it. The types of public names must be of use to them."""

import gymnasium
import jax
import numpy as np

import audamir_envs
from audamir_envs import agents, arena, colony_v0
from audamir_envs.bridges import gymnax, jaxmarl
from audamir_envs.bridges.selfplay import SelfPlayVectorEnv

env = audamir_envs.make("colony-v0", board="61")
state: audamir_envs.State = env.init(jax.random.key(0))
state = env.step(state, 3)
state = state.replace(current_player=state.current_player)
seen: jax.Array = env.observe(state, 1)
auto = audamir_envs.auto_reset(env)
after = auto.step(auto.init(jax.random.key(0)), 1, jax.random.key(1))
print(after.final_rewards, after.just_reset, audamir_envs.sample_legal(jax.random.key(0), state))
level = audamir_envs.make_agent("colony-v0", "normal")
action: jax.Array = level.act(state, jax.random.key(0))
reader = agents.from_text(lambda question: question.moves[0])
policy = agents.from_callable(lambda seen, mask: np.argmax(mask, axis=1))
result = arena.evaluate(env, [reader, "weak"], games=2)
print(result.score["weak"], result.interval)
game = colony_v0.env()
game.reset(seed=1)
lanes = SelfPlayVectorEnv("colony-v0", 2)
observation, info = lanes.reset(seed=0)
one, params = gymnax.make("colony-v0", "weak")
both = jaxmarl.make("colony-v0")
gym = gymnasium.make("audamir_envs/Colony-v0", opponent="weak")
