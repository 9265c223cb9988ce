"""What a seat sees: uint8 [T, P + 17 + T], one row a tile. Seats count from the observer: 0 is the observer itself,
1 the next in turn order. A number above 255 (groups of a user's very large map) shows as 255.

====================  ======  ==========================================================================================
columns               values  meaning
====================  ======  ==========================================================================================
0 .. P-1              0, 1    the owner, one-hot by relative seat
P                     1..8    dice on the tile
P+1                   1..255  tiles in the tile's connected group of one owner
P+2                   0..64   the owner's reserve
P+3                   1..255  the owner's largest group: the dice that its end of turn brings, beside the reserve
P+4                   0, 1    the owner has accepted to end on points
P+5                   0..7    relative seat of the mover: in a vote, of the voter
P+6                   0..7    relative seat of the player in turn, differing from the mover's in a vote
P+7                   0..7    relative seat that started: the round rises when play reaches or passes it
P+8                   0, 1    a vote on points is on
P+9                   0, 1    a vote on points can still come
P+10                  0..255  turns in a row without an attack, once this turn ends without a further attack
P+11                  1..31   the round, until a win is no longer quick (31: the 31st or later)
P+12 .. P+15          0..255  full rounds left after this one, in up to four parts of 255, filled one after another
P+16                  0, 1    hints are shown, so a win scores less
P+17 .. P+16+T        0, 1    neighbours of the tile
====================  ======  ==========================================================================================

Columns from P+5 to P+16 are the same in every row.
"""

from __future__ import annotations

import jax.numpy as jnp

from audamir_envs.core import Array
from audamir_envs.principalities import bits, rules
from audamir_envs.principalities.rules import Position

GLOBAL = 12  # columns that are the same in every row
MAX_ROUNDS = 4 * 255
"""The largest round limit that the columns can show."""


def features(players: int) -> int:
    """Columns before the adjacency row."""
    return players + 5 + GLOBAL


def shape(players: int, tiles: int) -> tuple[int, int]:
    """(T, P + 17 + T)."""
    return tiles, features(players) + tiles


def observe(position: Position, observer: Array) -> Array:
    """uint8 [T, P + 17 + T]: the position as a seat (int32 []) sees it; see the module's table."""
    tiles, players = position.owner.shape[0], position.reserve.shape[0]
    seats = jnp.arange(players, dtype=jnp.int32)

    def relative(seat: Array) -> Array:
        return (seat - observer) % jnp.int32(players)

    owned = rules.owned(position)  # [P, T]
    accepted = position.votes == jnp.int8(rules.ACCEPTED)
    of_owner = [position.reserve, rules.largest_groups(position), accepted.astype(jnp.int32)]
    own_columns = [_byte(jnp.sum(jnp.where(owned, value[:, None], jnp.int32(0)), axis=0)) for value in of_owner]
    owner = relative(position.owner.astype(jnp.int32))
    one_hot = (owner[:, None] == seats[None]).astype(jnp.uint8)
    by_tile = [position.dice, position.group, *own_columns]

    vote = rules.voting(position)
    quiet = jnp.where(position.attacked, jnp.int32(0), position.quiet_turns + jnp.int32(1))
    left = position.max_rounds - position.round
    common = [
        relative(rules.mover(position)),
        relative(position.player),
        relative(position.start_seat),
        vote,
        position.points_offer & ~position.offered,
        quiet,
        jnp.minimum(position.round, jnp.int32(31)),
        *(left - jnp.int32(255 * part) for part in range(4)),
        position.hints,
    ]
    row = jnp.stack([_byte(value) for value in common])
    return jnp.concatenate(
        [
            one_hot,
            jnp.stack([_byte(column) for column in by_tile], axis=1),
            jnp.broadcast_to(row, (tiles, GLOBAL)),
            bits.unpack(position.neighbours, tiles).astype(jnp.uint8),
        ],
        axis=1,
    )


def _byte(value: Array) -> Array:
    """uint8, saturating."""
    return jnp.clip(value.astype(jnp.int32), 0, 255).astype(jnp.uint8)
