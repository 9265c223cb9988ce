"""How well a seat stands: the chance to win that Strong sees in a position whose turn ends now.

The chance is a logistic function of the numbers in ``FEATURES``, all of them shares of the whole map. It was fitted to
the winners of games between Normal players, apart for duels and for more players.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array
from audamir_envs.principalities import dice as dicing
from audamir_envs.principalities import rules
from audamir_envs.principalities.bits import unpack
from audamir_envs.principalities.rules import Position

FEATURES = (
    "one",
    "own part of all dice",  # own dice are counted here and below with the coming reinforcement
    "own dice",
    "own dice, squared",
    "dice of the strongest opponent",
    "own largest group",
    "largest group of any opponent",
    "own tiles",
    "own dice on the border",
    "risk",  # the sum over own tiles of the squared odds that the strongest neighbour takes the tile
    "own reserve",
    "largest reserve of any opponent",
)
_WEIGHTS = np.array(
    [
        # against one opponent
        [-5.72, 14.52, 7.05, 3.0, -8.97, 3.13, -3.87, -3.74, 7.48, -8.29, 0.92, -0.57],
        # against several
        [-1.02, 6.16, 9.43, 1.33, -11.52, 3.63, -3.62, -4.34, 3.87, -5.67, 0.5, -0.5],
    ],
    np.float32,
)
"""From 5,274 duels and 2,067 games of four between Normal players, one turn in about twenty ending early at random;
every end of a turn is a sample, and each game weighs the same. The weights of the reserves against several were then
lowered (from 3.91 and -2.6): they made players hoard dice that no tile could take, and stand still behind them."""


def attack_values(position: Position, attacks: Array) -> tuple[Array, Array]:
    """What the player's chance to win is after each of some attacks, if the turn ended then, and without one.

    Args: attacks: int32 [K], actions; those that are illegal get values without meaning.
    Returns: float32 [K] and float32 [], chances from 0 to 1.
    """
    tiles = position.owner.shape[0]
    tile = jnp.arange(tiles, dtype=jnp.int32)
    neighbours = unpack(position.neighbours, tiles)
    weights = jnp.asarray(_WEIGHTS)[(jnp.sum(rules.alive(position), dtype=jnp.int32) > jnp.int32(2)).astype(jnp.int32)]
    owner, dice, me = position.owner, position.dice, position.player.astype(jnp.int8)
    threats = _threats(neighbours, owner != me, dice)

    def chance(owner: Array, dice: Array, group: Array, threats: Array) -> Array:
        return jax.nn.sigmoid(jnp.sum(weights * features(position, owner, dice, group, threats)))

    def value(action: Array) -> Array:
        source, target = action // jnp.int32(tiles), action % jnp.int32(tiles)
        left = jnp.where(tile == source, jnp.int8(1), dice)
        lost = chance(owner, left, position.group, threats)
        taken = jnp.where(tile == target, me, owner)
        moved = jnp.where(tile == target, dice[source] - jnp.int8(1), left)
        group = rules.group_sizes(position.neighbours, taken, position.reserve.shape[0])
        won = chance(taken, moved, group, _threats(neighbours, taken != me, moved))
        won = jnp.where(jnp.all(taken == me), jnp.float32(1), won)
        odds = _odds()[dice[source].astype(jnp.int32), dice[target].astype(jnp.int32)]
        return odds * won + (jnp.float32(1) - odds) * lost

    return jax.vmap(value)(attacks), chance(owner, dice, position.group, threats)


def features(position: Position, owner: Array, dice: Array, group: Array, threats: Array) -> Array:
    """float32 [len(FEATURES)]: of the player of a position, whose tiles stand otherwise than there.

    Args: owner, dice, group: as in a ``Position``; threats: int8 [T], see ``_threats``.
    """
    tiles, me = owner.shape[0], position.player
    whole = jnp.float32(tiles)
    seats = jnp.arange(position.reserve.shape[0], dtype=jnp.int32)
    owned = owner[None] == seats.astype(jnp.int8)[:, None]
    others = seats != me
    mine = owner == me.astype(jnp.int8)
    largest = jnp.max(jnp.where(owned, group, jnp.int16(0)), axis=1).astype(jnp.float32)
    held = jnp.sum(jnp.where(owned, dice, jnp.int8(0)), axis=1, dtype=jnp.int32).astype(jnp.float32)
    reserve = position.reserve.astype(jnp.float32)

    # The reinforcement, spread evenly over the tiles that have room.
    count = dice.astype(jnp.float32)
    capacity = jnp.where(mine, jnp.float32(rules.MOST) - count, jnp.float32(0))
    coming = largest[me] + reserve[me]
    placed = jnp.minimum(coming, jnp.sum(capacity))
    each = placed / jnp.maximum(jnp.sum(capacity > jnp.float32(0), dtype=jnp.int32), jnp.int32(1)).astype(jnp.float32)
    count = jnp.where(mine, jnp.minimum(count + each, jnp.float32(rules.MOST)), jnp.float32(0))
    risk = jnp.where(mine, _odds_between(threats, count), jnp.float32(0))

    own = jnp.sum(count) / (jnp.float32(rules.MOST) * whole)
    theirs = jnp.where(others, held, jnp.float32(0)) / (jnp.float32(rules.MOST) * whole)
    return jnp.stack(
        [
            jnp.float32(1),
            own / (own + jnp.sum(theirs)),
            own,
            own * own,
            jnp.max(theirs),
            largest[me] / whole,
            jnp.max(jnp.where(others, largest, jnp.float32(0))) / whole,
            jnp.sum(mine, dtype=jnp.int32).astype(jnp.float32) / whole,
            jnp.sum(jnp.where(threats >= jnp.int8(0), count, jnp.float32(0))) / (jnp.float32(rules.MOST) * whole),
            jnp.sum(risk * risk) / whole,
            (coming - placed) / jnp.float32(rules.RESERVE_CAP),
            jnp.max(jnp.where(others, reserve, jnp.float32(0))) / jnp.float32(rules.RESERVE_CAP),
        ]
    )


def _threats(neighbours: Array, foe: Array, dice: Array) -> Array:
    """int8 [T]: the most dice on any foe's tile (bool [T]) next to each tile; -1 if there is none.

    A tile with one die attacks nobody and counts as 0.
    """
    able = jnp.where(dice > jnp.int8(1), dice, jnp.int8(0))
    return jnp.max(jnp.where(neighbours & foe[None], able[None], jnp.int8(-1)), axis=1)


def _odds() -> Array:
    return jnp.asarray(dicing.odds(), jnp.float32)


def _odds_between(attackers: Array, defenders: Array) -> Array:
    """float32 [T]: the odds against a broken number of dice, between those against the whole numbers around it.

    Args: attackers: int8 [T], 0 or less for no attack; defenders: float32 [T], 0 to MOST.
    """
    below = jnp.floor(defenders).astype(jnp.int32)
    part = defenders - below.astype(jnp.float32)
    rows = _odds()[jnp.maximum(attackers, jnp.int8(0)).astype(jnp.int32)]
    column = jnp.arange(rules.MOST + 1, dtype=jnp.int32)
    low = jnp.sum(jnp.where(column[None] == below[:, None], rows, jnp.float32(0)), axis=1)
    high = jnp.sum(jnp.where(column[None] == jnp.minimum(below + 1, rules.MOST)[:, None], rows, jnp.float32(0)), axis=1)
    return low + part * (high - low)
