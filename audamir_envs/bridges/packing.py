"""A pytree of arrays as one vector of bytes, so that a step of one game costs one argument and one small transfer.

Handing a state of some twenty leaves to a jitted function and fetching a few of them back costs several times what the
step itself does; packed, the whole state is one array, of which the host reads what it needs as views.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array


@dataclasses.dataclass(frozen=True)
class Slot:
    """Where one leaf lies in the bytes."""

    start: int
    stop: int
    dtype: np.dtype
    shape: tuple[int, ...]

    def read(self, data: np.ndarray) -> np.ndarray:
        """A view of the leaf in packed bytes on the host (uint8 [size])."""
        return data[self.start : self.stop].view(self.dtype).reshape(self.shape)


class Layout:
    """The places of the leaves of one kind of tree; ``slots`` is that tree with a ``Slot`` for each leaf."""

    def __init__(self, example: Any) -> None:
        """Args: example: a tree of arrays, or of ``jax.ShapeDtypeStruct``."""
        leaves, self._treedef = jax.tree.flatten(example)
        # The widest first, so that every leaf is aligned and can be read as a view.
        self._order = sorted(range(len(leaves)), key=lambda number: -np.dtype(leaves[number].dtype).itemsize)
        slots: list[Any] = [None] * len(leaves)
        start = 0
        for number in self._order:
            leaf = leaves[number]
            dtype = np.dtype(leaf.dtype)
            stop = start + math.prod(leaf.shape) * dtype.itemsize
            slots[number] = Slot(start, stop, dtype, tuple(leaf.shape))
            start = stop
        self._list: list[Slot] = slots
        self.slots: Any = self._treedef.unflatten(slots)
        self.size = start

    def pack(self, tree: Any) -> Array:
        """uint8 [size]. Pure JAX."""
        leaves = self._treedef.flatten_up_to(tree)
        return jnp.concatenate([_to_bytes(leaves[number]) for number in self._order])

    def unpack(self, data: Array) -> Any:
        """The tree again. Pure JAX."""
        return self._treedef.unflatten([_from_bytes(data[slot.start : slot.stop], slot) for slot in self._list])


def _to_bytes(leaf: Array) -> Array:
    if leaf.dtype == jnp.bool_:
        return leaf.astype(jnp.uint8).reshape(-1)
    return jax.lax.bitcast_convert_type(leaf, jnp.uint8).reshape(-1)


def _from_bytes(data: Array, slot: Slot) -> Array:
    if slot.dtype == np.bool_:
        return data.astype(jnp.bool_).reshape(slot.shape)
    width = slot.dtype.itemsize
    pieces = data.reshape(*slot.shape, width) if width > 1 else data.reshape(slot.shape)
    return jax.lax.bitcast_convert_type(pieces, slot.dtype)
