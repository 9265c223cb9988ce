"""Batches of games under different options, for the tests of this folder."""

import functools

import jax
import numpy as np

import audamir_envs


@functools.cache
def _state_of():
    return jax.jit(audamir_envs.make("colony-v0").state_of)  # one program for all options: positions carry theirs


@functools.cache
def _new_game(options):
    return _state_of()(audamir_envs.make("colony-v0", **dict(options)).init_game(jax.random.key(0)))


def new_games(options_of_lanes):
    """One batch of new games, a lane for each dict of options."""
    games = [_new_game(tuple(options.items())) for options in options_of_lanes]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *games)
