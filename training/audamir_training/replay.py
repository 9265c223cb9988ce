"""The replay of AlphaZero: a ring of the newest plies of every lane, results carried back to them, samples drawn.

Arrays lie [time, lane], the lanes of a device together. A lane's games follow one another in time, so that a scan
backwards over the newest plies brings each finished game's result to its positions.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from audamir_envs.core import Array, Pytree


class Plies(Pytree):
    """Plies of games, [time, lanes, ...] each; values are "for seat 0" unless marked otherwise."""

    game: Any  # the position before the move
    slot_action: Array  # int16 [time, lanes, slots]: see search.Searched
    slot_weight: Array  # float16 [time, lanes, slots]
    rest: Array  # float16
    full: Array  # bool: searched in full, so its policy is a target
    mover: Array  # int8: 0 or 1
    root: Array  # float32: the root's value
    random: Array  # bool: the move played was not the search's choice
    over: Array  # bool: the move ended the game
    result: Array  # float32: 1, 0, -1 where over
    ownership: Array  # int8 [time, lanes, cells]: at the end of the game; filled in when it is known
    target: Array  # float32: what the value head is to say, for the mover; filled in likewise
    ready: Array  # bool: target and ownership are known


class Replay(Plies):
    """The newest plies of every lane, [length, lanes, ...] each; the oldest are written over."""

    cursor: Array  # int32 []: where the next plies go
    filled: Array  # int32 []: plies written so far, at most length


def empty(length: int, example: Plies) -> Replay:
    """A replay without plies, of a length in plies; the example's leaves have shapes [lanes, ...]."""
    rows = jax.tree.map(lambda leaf: jnp.zeros((length, *leaf.shape), leaf.dtype), example)
    return Replay(**_fields(rows), cursor=jnp.int32(0), filled=jnp.int32(0))


def append(replay: Replay, plies: Plies) -> Replay:
    """With new plies ([plies, lanes, ...], a divisor of the length) over the oldest ones."""
    length, count = replay.over.shape[0], plies.over.shape[0]

    def write(ring: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice(ring, new, (replay.cursor, *[jnp.int32(0)] * (ring.ndim - 1)))

    rows = {name: jax.tree.map(write, getattr(replay, name), new) for name, new in _fields(plies).items()}
    return replay.replace(
        **rows, cursor=(replay.cursor + count) % length, filled=jnp.minimum(replay.filled + count, length)
    )


def _fields(plies: Plies) -> dict[str, Any]:
    return {field.name: getattr(plies, field.name) for field in dataclasses.fields(Plies)}  # type: ignore[arg-type]


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

    def back(later: _Later, ply: _Ply) -> tuple[_Later, _Later]:
        known = (later.known | ply.over) & ply.written
        value = jnp.where(ply.over, ply.result, later.value)
        ownership = jnp.where(ply.over[:, None], ply.ownership, later.ownership)
        value = jnp.where(ply.random, ply.root, value)
        target = ply.sign * ((1 - root_share) * value + root_share * ply.root)
        return _Later(known, value, ownership), _Later(known, target, ownership)

    nothing = _Later(
        jnp.zeros(lanes, jnp.bool_),
        jnp.zeros(lanes, jnp.float32),
        jnp.zeros((lanes, replay.ownership.shape[-1]), jnp.int8),
    )
    plies = _Ply(
        *(leaf[place] for leaf in (replay.over, replay.result, replay.ownership, replay.random, replay.root)),
        sign=1 - 2 * replay.mover[place].astype(jnp.float32),
        written=jnp.broadcast_to(written, (window, lanes)),
    )
    _, found = jax.lax.scan(back, nothing, plies)
    return replay.replace(
        ready=replay.ready.at[place].set(found.known),
        target=replay.target.at[place].set(found.value),
        ownership=replay.ownership.at[place].set(found.ownership),
    )


class _Later(NamedTuple):
    """What is known of a game from its later plies, [lanes] each."""

    known: Array  # bool: its result
    value: Array  # float32: carried back, for seat 0; or, as the answer for a ply, its target for the mover
    ownership: Array  # int8 [lanes, cells]


class _Ply(NamedTuple):
    """What ``settle`` looks at, by time from the newest on; see ``Plies``."""

    over: Array
    result: Array
    ownership: Array
    random: Array
    root: Array
    sign: Array  # float32: 1 where seat 0 moves, else -1
    written: Array  # bool: not an empty place of the ring


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

    def pick(key: Array, rank: Array) -> Array:
        chosen = jax.random.randint(key, (count,), 0, jnp.maximum(rank[-1], 1), jnp.int32)
        return jnp.searchsorted(rank, chosen, side="right").astype(jnp.int32)

    place = jnp.minimum(jax.vmap(pick)(keys, rank), usable.shape[1] - 1)
    width = lanes // groups
    lane = place % width + width * jnp.arange(groups, dtype=jnp.int32)[:, None]
    weight = jnp.broadcast_to((found > 0).astype(jnp.float32)[:, None], place.shape)
    return place // width, lane, weight


def draw_positions(replay: Replay, keys: Array, newest: Array) -> tuple[Any, Array]:
    """A position of an earlier game for every lane, and whether there is any, bool [lanes]. Consumes keys [groups].

    Each is drawn uniformly among the ``newest`` (int32 []) plies of its own group, finished or not.
    """
    length, lanes = replay.over.shape
    groups = keys.shape[0]
    width = lanes // groups
    recent = jnp.minimum(jnp.minimum(newest, replay.filled), length)
    ages = jax.vmap(lambda key: jax.random.randint(key, (width,), 0, jnp.maximum(recent, 1), jnp.int32))(keys)
    others = jax.vmap(lambda key: jax.random.randint(jax.random.fold_in(key, 1), (width,), 0, width, jnp.int32))(keys)
    time = ((replay.cursor - 1 - ages) % length).reshape(-1)
    lane = (others + width * jnp.arange(groups, dtype=jnp.int32)[:, None]).reshape(-1)
    return jax.tree.map(lambda leaf: leaf[time, lane], replay.game), jnp.broadcast_to(recent > 0, (lanes,))
