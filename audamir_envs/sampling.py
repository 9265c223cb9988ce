"""Uniform choice among legal actions, fast enough that rollouts measure the game and not the sampler."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from audamir_envs.core import Array, State


def sample_legal(key: Array, mask_or_state: Array | State) -> Array:
    """A uniformly random legal action, int32 [...]. Consumes key.

    One random word is drawn for each mask and hashed with every action's number (the finaliser of MurmurHash3 without
    its last shift, which the highest bits do not need); the legal action with the largest hash wins. One word an
    action, as ``jax.random.categorical`` draws, costs far more.

    Args: mask_or_state: bool [..., actions], or a (batched) state, with at least one legal action in each mask; one key
    serves a whole batch, and vmap over keys works too.
    """
    mask = mask_or_state.legal_action_mask if isinstance(mask_or_state, State) else mask_or_state
    actions = mask.shape[-1]
    word = jax.random.bits(key, (*mask.shape[:-1], 1), jnp.uint32)
    number = jnp.arange(1, actions + 1, dtype=jnp.uint32)
    x = word ^ (number * jnp.uint32(0x9E3779B9))
    x = (x ^ (x >> jnp.uint32(16))) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> jnp.uint32(13))) * jnp.uint32(0xC2B2AE35)
    # The action's number replaces the lowest bits of its hash: a plain maximum then finds the winner and its number at
    # once, five times as fast as argmax on a CPU. It also breaks ties, which come once in millions of draws.
    low = jnp.uint32((1 << actions.bit_length()) - 1)
    best = jnp.max(jnp.where(mask, (x & ~low) | number, jnp.uint32(0)), axis=-1)
    return (best & low).astype(jnp.int32) - jnp.int32(1)
