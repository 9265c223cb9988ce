"""A pytree of arrays as one vector of bytes, so that a step of one game costs one argument and one small transfer.

Handing a state of some twenty leaves to a jitted function and fetching a few of them back costs several times what the
step itself does; packed, the whole state is one array, of which the host reads what it needs.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.bridges.steady import steady_jit
from audamir_envs.core import Array

_POLLS = 500  # about 50 microseconds: more than a step takes; then the thread had better sleep
_FEW = 8  # leaves of so many elements go in front, where the host reads all of them as Python numbers at once
_FORMATS = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I"}
_FORMATS |= {"int64": "q", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d"}


@dataclasses.dataclass(frozen=True)
class Slot:
    """Where one leaf lies in the bytes."""

    start: int
    stop: int
    dtype: np.dtype
    shape: tuple[int, ...]
    place: int | None  # of its first element in ``Layout.numbers``, if it is there

    def read(self, data: np.ndarray) -> np.ndarray:
        """A view of the leaf in packed bytes on the host (uint8 [size])."""
        return data[self.start : self.stop].view(self.dtype).reshape(self.shape)


class Layout:
    """The places of the leaves of one kind of tree; ``slots`` is that tree with a ``Slot`` for each leaf."""

    def __init__(self, example: Any) -> None:
        """Args: example: a tree of arrays, or of ``jax.ShapeDtypeStruct``."""
        leaves, self._treedef = jax.tree.flatten(example)
        few = [math.prod(leaf.shape) <= _FEW for leaf in leaves]
        # Small leaves first, and of each kind the widest first, so that every leaf is aligned and can be a view.
        self._order = sorted(range(len(leaves)), key=lambda n: (not few[n], -np.dtype(leaves[n].dtype).itemsize))
        self._slots: list[Any] = [None] * len(leaves)
        self._gap = 0  # bytes between small and other leaves
        formats, start, place = "=", 0, 0
        for number in self._order:
            leaf = leaves[number]
            dtype, count = np.dtype(leaf.dtype), math.prod(leaf.shape)
            if not few[number] and start % dtype.itemsize:
                self._gap = -start % dtype.itemsize
                start += self._gap
            stop = start + count * dtype.itemsize
            slot = Slot(start, stop, dtype, tuple(leaf.shape), place if few[number] else None)
            if few[number]:
                formats += f"{count}{_FORMATS[dtype.name]}" if count else ""
                place += count
            self._slots[number] = slot
            start = stop
        self._few = sum(few)
        self._head = struct.Struct(formats)
        self.slots: Any = self._treedef.unflatten(self._slots)
        self.size = start

    def pack(self, tree: Any) -> Array:
        """uint8 [size]. Pure JAX."""
        leaves = self._treedef.flatten_up_to(tree)
        pieces = [_to_bytes(leaves[number]) for number in self._order]
        if self._gap:
            pieces.insert(self._few, jnp.zeros(self._gap, jnp.uint8))
        return jnp.concatenate(pieces)

    def unpack(self, data: Array) -> Any:
        """The tree again. Pure JAX."""
        return self._treedef.unflatten([_from_bytes(data[slot.start : slot.stop], slot) for slot in self._slots])

    def numbers(self, data: np.ndarray) -> tuple[Any, ...]:
        """The elements of all small leaves of packed bytes on the host, as Python numbers; see ``Slot.place``."""
        buffer: Any = data
        return self._head.unpack_from(buffer)


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


def as_one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """``jax.jit(function)``, on a CPU as a single kernel where the compiler can: for small functions called often.

    A step of one game is some fifty tiny kernels; handing these from thread to thread costs ten times what they do. The
    hint is the one that XLA's CPU compiler gives to small loops of its own. Compilers that do not know it ignore it.
    """
    plain = steady_jit(function)
    if jax.default_backend() != "cpu":
        return plain
    try:
        from jax.experimental.xla_metadata import set_xla_metadata
    except ImportError:  # an older JAX
        return plain

    @steady_jit
    def hinted(*arguments: Any) -> Any:
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):
            return plain(*arguments)

    chosen: list[Callable[..., Any]] = []

    def first_call(*arguments: Any) -> Any:
        try:
            result = hinted(*arguments)
        except jax.errors.JaxRuntimeError:  # something in it cannot be part of such a kernel
            chosen[:] = [plain]
            return plain(*arguments)
        chosen[:] = [hinted]
        return result

    return lambda *arguments: chosen[0](*arguments) if chosen else first_call(*arguments)


def to_host(data: Array) -> np.ndarray:
    """The array on the host, read-only. For results of microseconds: asks for a while before it goes to sleep.

    A thread that sleeps until a result is there comes back tens of microseconds after it, to cold caches. A step of one
    game is over sooner than that.
    """
    for _ in range(_POLLS):
        if data.is_ready():  # type: ignore[attr-defined]
            break
    return np.asarray(data)
