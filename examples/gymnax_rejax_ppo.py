"""PPO of rejax, a library of learners for gymnax's environments, against a level: everything inside one jit.

rejax knows no action masks, so the environment puts the mask behind its observation, and the policy below takes it off
again. rejax 0.1 steps environments by gymnax's old interface, for which gymnax has a wrapper.

    python examples/gymnax_rejax_ppo.py --steps 500000
"""

import argparse
import time

import distrax
import flax.linen as nn
import jax
import jax.numpy as jnp
from gymnax.wrappers.compat import LegacyStepAPIWrapper
from rejax import PPO
from rejax.networks import DiscretePolicy

from audamir_envs.bridges import gymnax


class MaskedPolicy(DiscretePolicy):
    """rejax's policy, whose last inputs are the mask."""

    def _action_dist(self, observation):
        logits = self.action_logits(self.features(observation))
        mask = observation[..., -self.action_dim :] > 0
        return distrax.Categorical(logits=jnp.where(mask, logits, -1e9))


class OldInterface(LegacyStepAPIWrapper):
    """gymnax's wrapper, which cannot be copied as rejax copies its settings."""

    def __deepcopy__(self, memo):
        return self


def main() -> None:
    """Trains, and prints the score of each evaluation (128 episodes)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="stigmergy-v0")
    parser.add_argument("--side", type=int, default=3, help="of Stigmergy's board")
    parser.add_argument("--opponent", default="weak")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    options = {"side": arguments.side} if arguments.env == "stigmergy-v0" else {}
    env, params = gymnax.make(arguments.env, arguments.opponent, mask_in_observation=True, **options)
    hidden = (256, 256)
    algorithm = PPO.create(
        env=OldInterface(env),
        env_params=params,
        agent_kwargs={"hidden_layer_sizes": hidden},
        total_timesteps=arguments.steps,
        eval_freq=max(arguments.steps // 4, 1),
        num_envs=arguments.envs,
        num_steps=32,
        num_minibatches=8,
        num_epochs=4,
        learning_rate=1e-3,
        gamma=0.99,
        ent_coef=0.02,
    )
    actor = MaskedPolicy(env.num_actions, hidden_layer_sizes=hidden, activation=nn.swish)
    algorithm = algorithm.replace(actor=actor)
    start = time.perf_counter()
    _, (lengths, returns) = jax.jit(algorithm.train)(jax.random.key(arguments.seed))
    for number, (length, result) in enumerate(zip(lengths.mean(axis=1), returns.mean(axis=1), strict=True)):
        steps = number * arguments.steps // 4
        print(f"{steps:>9} steps: score against {arguments.opponent} {(1 + result) / 2:.3f}, {length:.1f} turns a game")
    print(f"{arguments.steps / (time.perf_counter() - start):.0f} steps a second, compiling and evaluations included")


if __name__ == "__main__":
    main()
