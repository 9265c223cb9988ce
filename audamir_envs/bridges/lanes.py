"""Work on a few lanes of a batch, so that its cost follows the number of lanes that need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.core import Array


def chosen_lanes(chosen: Array, size: int) -> Array:
    """int32 [size]: the numbers of the first chosen lanes (bool [lanes]), then the number of lanes for "none"."""
    lanes = chosen.shape[0]
    place = jnp.where(chosen, jnp.cumsum(chosen, dtype=jnp.int32) - 1, jnp.int32(size))
    return jnp.full(size, lanes, jnp.int32).at[place].set(jnp.arange(lanes, dtype=jnp.int32), mode="drop")


def take_lanes(tree: Any, lanes: Array) -> Any:
    """The rows of a batched tree by number; for "none" the last row stands in."""
    return jax.tree.map(lambda leaf: leaf.at[lanes].get(mode="clip"), tree)


def put_lanes(tree: Any, lanes: Array, rows: Any) -> Any:
    """The batched tree with rows put back; those for "none" are dropped."""
    return jax.tree.map(lambda leaf, new: leaf.at[lanes].set(new, mode="drop"), tree, rows)


def renew_in_groups(chosen: Array, tree: Any, make: Callable[[Any], Any], group: int) -> Any:
    """The batched tree with each chosen lane replaced by what ``make`` (rows [group] -> rows [group]) makes of it."""
    lanes = chosen.shape[0]
    group = min(group, lanes)
    numbers = chosen_lanes(chosen, lanes + group)
    count = jnp.sum(chosen, dtype=jnp.int32)

    def renew(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        start, tree = carry
        now = jax.lax.dynamic_slice(numbers, (start,), (group,))
        return start + group, put_lanes(tree, now, make(take_lanes(tree, now)))

    return jax.lax.while_loop(lambda carry: carry[0] < count, renew, (jnp.int32(0), tree))[1]
