"""The search with cuts finds the best moves of the plain one, whatever the batch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from effort import FULL

import audamir_envs
from audamir_envs.stigmergy import alphabeta, lookahead, worth

NOISE = 4


def positions(side, count, plies, seed):
    """Positions after up to so many random plies, ended games among them."""
    env = audamir_envs.make("stigmergy-v0", side=side, komi=0)

    def one(key, length):
        def ply(state, each):
            number, key = each
            after = env.step(state, audamir_envs.sample_legal(key, state))
            keep = (number >= length) | after.terminated
            return jax.tree.map(lambda old, new: jnp.where(keep, old, new), state, after), None

        numbers = jnp.arange(plies, dtype=jnp.int32)
        return jax.lax.scan(ply, env.init(key), (numbers, jax.random.split(key, plies)))[0].game

    keys = jax.random.split(jax.random.key(seed), count)
    return lookahead.batch_last(jax.jit(jax.vmap(one))(keys, jnp.arange(count, dtype=jnp.int32) * plies // count))


def check(side, count, plies, widths, options=None):
    games = positions(side, count, plies, seed=side)

    def both(games):
        static = lookahead.static_values(games, worth.EXPECTED)
        return (
            lookahead.search(games, static, worth.EXPECTED, widths),
            alphabeta.search(games, static, worth.EXPECTED, widths, NOISE),
        )

    plain, cut = map(np.asarray, jax.jit(both, compiler_options=options)(games))
    best = plain.max(axis=0)
    matters = plain > best - NOISE
    assert np.array_equal(plain[matters], cut[matters])
    assert (cut <= best - NOISE)[~matters].all()
    assert ((plain != cut) & ~matters).any()  # something was cut
    assert (np.abs(best) >= lookahead.WIN // 2).any()  # and some games were decided


def test_the_best_moves_are_the_same():
    check(side=3, count=200, plies=26, widths=(4, 3, 2))


@pytest.mark.slow
@pytest.mark.parametrize(("side", "plies"), [(3, 24), (4, 40), (5, 75)])
def test_the_best_moves_of_strong_are_the_same(side, plies):
    check(side, 200, plies, (10, 8, 6, 4), FULL)
