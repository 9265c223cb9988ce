"""Whole games as arrays, shared by the tests of this folder."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import audamir_envs
from audamir_envs.stigmergy import rules

BATCH = 16
LONGEST = {2: 20, 3: 45, 4: 75, 5: 110, 6: 150, 7: 200, 8: 260}  # no random game was seen as long


@functools.cache
def environment(side, **options):
    return audamir_envs.make("stigmergy-v0", side=side, **options)


def record(state):
    """What the tests look at in a state."""
    return {
        "mask": state.legal_action_mask,
        "terminated": state.terminated,
        "rewards": state.rewards,
        "mover": state.current_player,
        "stones": state.game.stones,
        "sight": state.game.sight,
        "score": jnp.stack(rules.scores(state.game)),
        "observation": state.observation,
    }


@functools.cache
def _replayer(env):
    def step(states, action):
        states = jax.vmap(env.step)(states, action)
        return states, jax.vmap(record)(states)

    def run(komi, actions):
        states = fresh(env, komi)
        _, rest = jax.lax.scan(step, states, actions)
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), jax.vmap(record)(states), rest)

    return jax.jit(run)


def fresh(env, komi):
    """New games, one for each komi (int array [B])."""
    game = env.init_game(jax.random.key(0))
    return jax.vmap(lambda komi: env.state_of(game.replace(komi=komi)))(jnp.asarray(komi, jnp.int16))


def replay(env, games, komi):
    """Records of the states before and after each action, NumPy [LONGEST + 1, games, ...] each.

    Args: games: lists of actions; komi: one integer for each game. Jitted once an env: batch and length are fixed.
    """
    assert len(games) <= BATCH
    plies = LONGEST[env.side]
    padded = [line + [0] * (plies - len(line)) for line in games]
    padded += [padded[0]] * (BATCH - len(games))
    komi = [*komi, *[0] * (BATCH - len(games))]
    seen = _replayer(env)(np.array(komi, np.int16), np.array(padded, np.int32).T)
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:, : len(games)], seen)
