"""An agent of your own, in JAX, in the arena: it plays inside jit, hundreds of games at once, against a level."""

import argparse

import jax
import jax.numpy as jnp

import audamir_envs
from audamir_envs import agents, arena


class Cramping(agents.BatchAgent):
    """Leaves the opponent the fewest legal moves; any of the best at random."""

    name = "cramping"

    def __init__(self, env: audamir_envs.Environment) -> None:
        self.env = env

    def act(self, state: audamir_envs.State, key: jax.Array) -> jax.Array:
        """int32 []: a legal action. Consumes key."""
        every_action = jnp.arange(self.env.num_actions, dtype=jnp.int32)
        after = jax.vmap(lambda action: self.env.step(state, action))(every_action)
        won = after.rewards[:, state.current_player] > 0
        freedom = jnp.where(won, 0, after.legal_action_mask.sum(axis=1, dtype=jnp.int32))
        freedom = jnp.where(state.legal_action_mask, freedom, self.env.num_actions + 1)
        return audamir_envs.sample_legal(key, freedom == freedom.min())


def main() -> None:
    """Plays against a level and prints the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=4, help="of Stigmergy's board")
    parser.add_argument("--opponent", default="weak")
    parser.add_argument("--games", type=int, default=200)
    arguments = parser.parse_args()

    env = audamir_envs.make("stigmergy-v0", side=arguments.side)
    print(arena.evaluate(env, [Cramping(env), arguments.opponent], games=arguments.games, seed=0, opening_plies=2))


if __name__ == "__main__":
    main()
