"""The replay of AlphaZero: a ring of the newest plies of every lane, results carried back to them, samples drawn.

Arrays lie [time, lane], the lanes of a device together. A lane's games follow one another in time, so that a scan
backwards over the newest plies brings each finished game's result to its positions.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.core import Array, Pytree


class Replay(Pytree):
    """All fields but the last two are [length, lanes, ...]; values are "for seat 0" unless marked otherwise."""

    game: Any  # the position before the move
    slot_action: Array  # int16 [length, lanes, slots]: see search.Searched
    slot_weight: Array  # float16 [length, lanes, slots]
    rest: Array  # float16
    full: Array  # bool: searched in full, so its policy is a target
    mover: Array  # int8: 0 or 1
    root: Array  # float32: the root's value
    random: Array  # bool: the move played was not the search's choice
    over: Array  # bool: the move ended the game
    result: Array  # float32: 1, 0, -1 where over
    ownership: Array  # int8 [length, lanes, cells]: at the end of the game; filled in when it is known
    target: Array  # float32: what the value head is to say, for the mover; filled in likewise
    ready: Array  # bool: target and ownership are known
    cursor: Array  # int32 []: where the next plies go
    filled: Array  # int32 []: plies written so far, at most length


def empty(length: int, example: Replay) -> Replay:
    """A replay without plies, of a length in plies; the example's leaves have shapes [lanes, ...]."""
    rows = jax.tree.map(lambda leaf: jnp.zeros((length, *leaf.shape), leaf.dtype), example)
    return rows.replace(cursor=jnp.int32(0), filled=jnp.int32(0))


def append(replay: Replay, plies: Replay) -> Replay:
    """With new plies ([plies, lanes, ...], a divisor of the length) over the oldest ones."""
    length, count = replay.over.shape[0], plies.over.shape[0]

    def write(ring: Array, new: Array) -> Array:
        start = (replay.cursor, *[jnp.int32(0)] * (ring.ndim - 1))
        return jax.lax.dynamic_update_slice(ring, new, start)

    whole = {"cursor": jnp.int32(0), "filled": jnp.int32(0)}
    written = jax.tree.map(write, replay.replace(cursor=None, filled=None), plies.replace(cursor=None, filled=None))
    return written.replace(
        **whole
        | {
            "cursor": (replay.cursor + count) % length,
            "filled": jnp.minimum(replay.filled + count, length),
        }
    )


def settle(replay: Replay, window: int, root_share: float) -> Replay:
    """Carries results back over the newest ``window`` plies, at most the length.

    The target of a position is the game's result, mixed with ``root_share`` of its own root value. A random move says
    nothing of what the positions before it were worth, so there the root's value takes the result's place.
    """
    length, lanes = replay.over.shape
    window = min(window, length)
    age = jnp.arange(window, dtype=jnp.int32)
    place = (replay.cursor - 1 - age) % length
    written = (age < replay.filled)[:, None]

    def back(carry: tuple[Array, Array, Array], ply: tuple[Array, ...]) -> tuple[Any, Any]:
        known, worth, ownership = carry
        over, result, end_ownership, random, root, sign, written = ply
        known = (known | over) & written
        worth = jnp.where(over, result, worth)
        ownership = jnp.where(over[:, None], end_ownership, ownership)
        worth = jnp.where(random, root, worth)
        target = sign * ((1 - root_share) * worth + root_share * root)
        return (known, worth, ownership), (known, target, ownership)

    sign = 1 - 2 * replay.mover[place].astype(jnp.float32)
    start = (
        jnp.zeros(lanes, jnp.bool_),
        jnp.zeros(lanes, jnp.float32),
        jnp.zeros((lanes, replay.ownership.shape[-1]), jnp.int8),
    )
    plies = tuple(leaf[place] for leaf in (replay.over, replay.result, replay.ownership, replay.random, replay.root))
    _, (known, target, ownership) = jax.lax.scan(
        back, start, (*plies, sign, jnp.broadcast_to(written, (window, lanes)))
    )
    return replay.replace(
        ready=replay.ready.at[place].set(known),
        target=replay.target.at[place].set(target),
        ownership=replay.ownership.at[place].set(ownership),
    )


def draw(replay: Replay, keys: Array, count: int, newest: Array) -> tuple[Array, Array, Array]:
    """(time, lane, weight), [groups, count] each: positions drawn uniformly among the usable ones. Consumes keys.

    The lanes are split into as many groups as there are keys, and each group draws from its own: so what is drawn does
    not depend on how the groups are spread over devices. Usable are positions that were searched in full and whose game
    is over, among the ``newest`` (int32 []) plies. The weight is float32 1, or 0 where a group has none.
    """
    length, lanes = replay.over.shape
    groups = keys.shape[0]
    age = (replay.cursor - 1 - jnp.arange(length, dtype=jnp.int32)) % length
    usable = replay.ready & replay.full & (age < jnp.minimum(newest, replay.filled))[:, None]
    usable = usable.reshape(length, groups, lanes // groups).transpose(1, 0, 2).reshape(groups, -1)
    rank = jnp.cumsum(usable, axis=1, dtype=jnp.int32)
    found = rank[:, -1]

    def choose(key: Array, rank: Array) -> Array:
        chosen = jax.random.randint(key, (count,), 0, jnp.maximum(rank[-1], 1), jnp.int32)
        return jnp.searchsorted(rank, chosen, side="right").astype(jnp.int32)

    place = jnp.minimum(jax.vmap(choose)(keys, rank), usable.shape[1] - 1)
    width = lanes // groups
    lane = place % width + width * jnp.arange(groups, dtype=jnp.int32)[:, None]
    weight = jnp.broadcast_to((found > 0).astype(jnp.float32)[:, None], place.shape)
    return place // width, lane, weight
