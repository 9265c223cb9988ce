"""Sets of tiles as bits of W = ceil(T / 32) words of uint32, lowest first, the words in the first axis.

With the words in front, the many operations on a table [W, T] run along the tiles, which compilers turn into vectors.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array

_ONE = np.uint32(1)


def pack(table: Array) -> Array:
    """uint32 [W, ...]: sets given as bool [..., T]."""
    tiles = table.shape[-1]
    words = []
    for first in range(0, tiles, 32):
        part = table[..., first : first + 32]
        place = jnp.arange(part.shape[-1], dtype=jnp.uint32)
        place = place.reshape((1,) * (part.ndim - 1) + place.shape)
        words.append(jnp.sum(part.astype(jnp.uint32) << place, axis=-1, dtype=jnp.uint32))
    return jnp.stack(words)


def unpack(sets: Array, tiles: int) -> Array:
    """bool [..., T]: the inverse of ``pack``."""
    tile = np.arange(tiles).reshape((1,) * (sets.ndim - 1) + (tiles,))
    word = sets[0][..., None]
    for n in range(1, sets.shape[0]):
        word = jnp.where(jnp.asarray(tile // 32 == n), sets[n][..., None], word)
    return ((word >> jnp.asarray(tile % 32, jnp.uint32)) & _ONE).astype(jnp.bool_)


def count_before(chosen: Array) -> Array:
    """int32 [T]: how many tiles before each are chosen (bool [T]); faster than a cumulative sum."""
    before = pack(jnp.asarray(np.tri(chosen.shape[0], k=-1, dtype=bool)))
    found = jax.lax.population_count(pack(chosen)[:, None] & before)
    return jnp.sum(found, axis=0, dtype=jnp.uint32).astype(jnp.int32)


def reachable(links: Array) -> Array:
    """uint32 [W, T]: the tiles to which symmetric links (likewise) lead from each, itself included."""
    words, tiles = links.shape
    reach = links | pack(jnp.eye(tiles, dtype=jnp.bool_))

    # Warshall: whoever reaches tile k reaches what k reaches, for one k after another.
    for word in range(words):

        def through(k: Array, reach: Array, word: int = word) -> Array:
            shift = (k - jnp.int32(32 * word)).astype(jnp.uint32)
            bit = (jax.lax.slice_in_dim(reach, word, word + 1) >> shift) & _ONE
            return reach | ((jnp.uint32(0) - bit) & jax.lax.dynamic_index_in_dim(reach, k, 1, keepdims=True))

        first, last = 32 * word, min(32 * word + 32, tiles)
        reach = jax.lax.fori_loop(jnp.int32(first), jnp.int32(last), through, reach)
    return reach


def flatten(sets: Array) -> Array:
    """bool [T * T]: the same as ``unpack(sets [W, T], T).reshape(-1)``, and several times faster.

    Rows of other than 32 bits are first laid end to end in whole words, for only then is the expansion a plain loop.
    """
    tiles = sets.shape[1]
    flat = sets[0] if tiles == 32 else _joined(sets)
    whole = tiles * tiles // 32
    bits = ((flat[:whole, None] >> jnp.arange(32, dtype=jnp.uint32)[None]) & _ONE).astype(jnp.bool_).reshape(-1)
    rest = tiles * tiles % 32
    if not rest:
        return bits
    last = ((flat[whole] >> jnp.arange(rest, dtype=jnp.uint32)) & _ONE).astype(jnp.bool_)
    return jnp.concatenate([bits, last])


def _joined(sets: Array) -> Array:
    """uint32 [ceil(T * T / 32)]: the T bits of each row end to end."""
    source, left, right, kept = _pieces(sets.shape[1])
    words = sets.reshape(-1)
    joined = jnp.zeros(source.shape[1], jnp.uint32)
    for n in range(source.shape[0]):
        shifted = (words[source[n]] << jnp.asarray(left[n])) >> jnp.asarray(right[n])
        joined = joined | (shifted & jnp.asarray(kept[n]))
    return joined


@functools.cache
def _pieces(tiles: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Which words, shifted by how much left or right, make up each joined word: [pieces, joined words] each.

    The last array keeps all bits, or none where a joined word has fewer pieces than the others.
    """
    pieces: list[list[tuple[int, int]]] = [[] for _ in range(-(-tiles * tiles // 32))]
    for row in range(tiles):
        for word, first in enumerate(range(0, tiles, 32)):
            start = row * tiles + first
            end = start + min(32, tiles - first)
            for joined in range(start // 32, (end - 1) // 32 + 1):
                pieces[joined].append((word * tiles + row, start - 32 * joined))
    most = max(map(len, pieces))
    source = np.zeros((most, len(pieces)), np.int32)
    left, right, kept = (np.zeros(source.shape, np.uint32) for _ in range(3))
    for joined, made_of in enumerate(pieces):
        for n, (index, shift) in enumerate(made_of):
            source[n, joined], left[n, joined], right[n, joined] = index, max(shift, 0), max(-shift, 0)
            kept[n, joined] = 0xFFFFFFFF
    return source, left, right, kept
