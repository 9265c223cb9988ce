"""Functions whose batch is worked out together, in a way of its own, instead of by what vmap makes of one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def with_batch_rule(one: Callable[..., Any], many: Callable[..., Any]) -> Callable[..., Any]:
    """``one(*arguments)``, which under vmap is ``many`` of all lanes' arguments, each with a leading axis [lanes].

    Nested vmaps are one batch of all their lanes together. Both functions must depend on nothing but their arguments
    and what is known outside any transformation (tables in NumPy, numbers): what else they need is an argument.
    """

    # Tables are constants of the inner jit's program. As constants of the custom_vmap itself they would be among its
    # operands, and a vmapped cond or switch batches all operands, for which custom_vmap has no rule.
    @jax.custom_batching.custom_vmap
    def call(*arguments: Any) -> Any:
        return jax.jit(one)(*arguments)

    @jax.custom_batching.custom_vmap
    def batch(*arguments: Any) -> Any:
        return jax.jit(many)(*arguments)

    @call.def_vmap
    def _(axis_size: int, in_batched: list[Any], *arguments: Any) -> Any:
        return _all_batched(batch(*spread(axis_size, in_batched, arguments)))

    @batch.def_vmap
    def _(axis_size: int, in_batched: list[Any], *arguments: Any) -> Any:
        arguments = spread(axis_size, in_batched, arguments)
        lanes = jax.tree.leaves(arguments)[0].shape[1]
        merged = jax.tree.map(lambda leaf: leaf.reshape(axis_size * lanes, *leaf.shape[2:]), arguments)
        results = batch(*merged)
        return _all_batched(jax.tree.map(lambda leaf: leaf.reshape(axis_size, lanes, *leaf.shape[1:]), results))

    return call


def spread(axis_size: int, in_batched: Any, arguments: Any) -> Any:
    """The arguments of a batching rule, each with the leading axis [axis_size] that only some have."""

    def one(batched: bool, leaf: Any) -> Any:
        return leaf if batched else jnp.broadcast_to(leaf, (axis_size, *jnp.shape(leaf)))

    return jax.tree.map(one, tuple(in_batched), tuple(arguments))


def _all_batched(results: Any) -> tuple[Any, Any]:
    return results, jax.tree.map(lambda _: True, results)


def varying_like(tree: Any, data: Any) -> Any:
    """The same tree, which ``shard_map`` takes to differ between devices wherever the data (a tree) does.

    Loops and branches must give what they were given in this respect too, and constants differ nowhere.
    """
    axes = frozenset().union(*map(_varying_axes, jax.tree.leaves(data)))

    def cast(leaf: Any) -> Any:
        missing = tuple(axes - _varying_axes(leaf))
        if not missing:
            return leaf
        if hasattr(jax.lax, "pcast"):
            return jax.lax.pcast(leaf, missing, to="varying")
        return jax.lax.pvary(leaf, missing)  # type: ignore[attr-defined] - of jax before pcast

    return jax.tree.map(cast, tree) if axes else tree


def _varying_axes(leaf: Any) -> frozenset[str]:
    kind = jax.typeof(leaf) if hasattr(jax, "typeof") else None
    named = getattr(kind, "manual_axis_type", None)  # of newer versions of JAX; vma of older ones
    return getattr(kind, "vma", frozenset()) if named is None else named.varying
