"""Work on a few lanes of a batch, so that its cost follows the number of lanes that need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.core import Array


def on_some(chosen: Array, tree: Any, work: Callable[[Any, Array], Any], group: int) -> tuple[Any, Array]:
    """Replaces the first ``group`` of the chosen lanes (bool [lanes]) of a batched tree by what work makes of them.

    Args: work: (rows [group], lane numbers int32 [group]) -> rows [group]; where fewer lanes are chosen it gets other
    lanes beside them, whose rows are dropped.
    Returns: the tree, and bool [lanes]: which lanes were replaced.
    """
    lanes = chosen.shape[0]
    rank = jnp.cumsum(chosen, dtype=jnp.int32) - 1
    now = chosen & (rank < group)
    place = jnp.where(now, rank, jnp.int32(group))
    # Beyond the last chosen lane stands a number that no lane has: reading takes another lane, writing is dropped.
    numbers = jnp.full(group, lanes, jnp.int32).at[place].set(jnp.arange(lanes, dtype=jnp.int32), mode="drop")
    source = jnp.minimum(numbers, lanes - 1)
    rows = work(jax.tree.map(lambda leaf: leaf[source], tree), source)
    return jax.tree.map(lambda leaf, new: leaf.at[numbers].set(new, mode="drop"), tree, rows), now


def on_all(chosen: Array, tree: Any, work: Callable[[Any, Array], Any], group: int) -> Any:
    """Replaces all chosen lanes, ``group`` at a time."""
    group = min(group, chosen.shape[0])

    def some(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        left, tree = carry
        tree, now = on_some(left, tree, work, group)
        return left & ~now, tree

    return jax.lax.while_loop(lambda carry: jnp.any(carry[0]), some, (chosen, tree))[1]
