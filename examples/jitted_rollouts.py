"""Thousands of games at once: random legal play inside one jitted scan, new games starting where old ones end."""

import argparse

import jax
import jax.numpy as jnp

import audamir_envs


def main() -> None:
    """Plays and prints how many games ended and who won them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="colony-v0", help=f"one of {', '.join(audamir_envs.ids())}")
    parser.add_argument("--games", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=256)
    arguments = parser.parse_args()

    env = audamir_envs.make(arguments.env)
    auto = audamir_envs.auto_reset(env)

    def one_step(state, key):
        choose, move = jax.random.split(key)
        actions = audamir_envs.sample_legal(choose, state)
        state = jax.vmap(auto.step)(state, actions, jax.random.split(move, arguments.games))
        return state, (state.just_reset, jnp.where(state.just_reset[:, None], state.final_rewards, 0.0))

    @jax.jit
    def play(key):
        start, steps = jax.random.split(key)
        state = jax.vmap(auto.init)(jax.random.split(start, arguments.games))
        _, (ended, rewards) = jax.lax.scan(one_step, state, jax.random.split(steps, arguments.steps))
        return ended.sum(), (rewards > 0).sum(axis=(0, 1))

    ended, wins = play(jax.random.key(0))
    print(f"{arguments.games * arguments.steps:,} steps, {int(ended):,} games ended, wins by seat: {wins.tolist()}")


if __name__ == "__main__":
    main()
