"""Colony's rules on words of bits: positions, moves, legality and the end of the game.

Actions: ``target * 13 + kind``, kind 0 a copy to the target, 1 to 12 a jump onto it by ``JUMPS[kind - 1]``; 793 passes.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.colony.cells import BOARD, SIZE, Cells, from_bool, of_coordinates, surroundings, words
from audamir_envs.core import Array, Pytree

JUMPS: tuple[tuple[int, int], ...] = tuple(
    sorted(
        ((dq, dr) for dq in range(-2, 3) for dr in range(-2, 3) if max(abs(dq), abs(dr), abs(dq + dr)) == 2),
        key=lambda offset: (offset[1], offset[0]),
    )
)
"""The 12 jumps as (dq, dr), landing minus origin, sorted by (dr, dq)."""

KINDS = 1 + len(JUMPS)
PASS = SIZE * KINDS
NUM_ACTIONS = PASS + 1
MAX_TURNS_LIMIT = 1023
"""The largest ``max_turns``: what is left of it is observed in ten bits."""

ORIGIN: np.ndarray = BOARD.offset_table(tuple((-dq, -dr) for dq, dr in JUMPS))
"""int32 [61, 12]: the cell from which each jump reaches a target, or -1."""

_CORNERS_FIRST = ((4, 0), (0, -4), (-4, 4))
_CORNERS_SECOND = ((-4, 0), (0, 4), (4, -4))
STARTS = {
    "three": (of_coordinates(*_CORNERS_FIRST), of_coordinates(*_CORNERS_SECOND)),
    "one": (of_coordinates(_CORNERS_FIRST[0]), of_coordinates(_CORNERS_SECOND[0])),
}
"""First and second mover's cells, bool [61] each, by the option ``start``."""
HOLES = {
    "first": of_coordinates((1, 0), (0, -1), (-1, 1)),
    "second": of_coordinates((-1, 0), (0, 1), (1, -1)),
}
"""Blocked cells of the 58-cell board, bool [61], by the option ``holes_toward``."""


class Position(Pytree):
    """A position from the mover's side; what the mask, the observation and the end need is kept, not found again."""

    own: Cells  # pieces of the seat to move
    enemy: Cells  # pieces of the other seat
    empty: Cells  # cells that are neither occupied nor blocked
    copies: Cells  # empty cells that touch an own piece: where the mover may copy to
    own_can_move: Array  # bool []
    enemy_can_move: Array  # bool []: whether the other seat could move if it were its turn
    mover: Array  # int32 []: the seat to move
    first_seat: Array  # int32 []: the seat that moved first in the game
    turn: Array  # int32 []: turns played, passes included
    max_turns: Array  # int32 []: the game ends when so many are played
    claim_empty: Array  # bool []: the option
    own_moves: Array  # int32 []: moves that the mover has made, passes not included
    enemy_moves: Array  # int32 []: moves that the other seat has made


def _reach(pieces: Cells, empty: Cells) -> tuple[Cells, Array]:
    """Where pieces may copy to, and whether they can move at all."""
    near, ring = surroundings(pieces)
    copies = near & empty
    return copies, (copies | (ring & empty)).any()


@jax.jit  # compiled by itself where a position is made outside jit, part of the caller inside
def position_of(
    own: Cells,
    enemy: Cells,
    empty: Cells,
    *,
    mover: Array,
    first_seat: Array,
    turn: Array,
    max_turns: Array,
    claim_empty: Array,
    own_moves: Array,
    enemy_moves: Array,
) -> Position:
    """The position with the fields that follow from the others filled in."""
    copies, own_can_move = _reach(own, empty)
    _, enemy_can_move = _reach(enemy, empty)
    return Position(
        own=own,
        enemy=enemy,
        empty=empty,
        copies=copies,
        own_can_move=own_can_move,
        enemy_can_move=enemy_can_move,
        mover=mover,
        first_seat=first_seat,
        turn=turn,
        max_turns=max_turns,
        claim_empty=claim_empty,
        own_moves=own_moves,
        enemy_moves=enemy_moves,
    )


def from_boards(
    own: np.ndarray,
    enemy: np.ndarray,
    blocked: np.ndarray,
    *,
    mover: int | Array = 0,
    first_seat: int | Array = 0,
    turn: int = 0,
    max_turns: int = 400,
    claim_empty: bool = False,
) -> Position:
    """A position from bool [61] boards of the mover's pieces, the other seat's, and blocked cells."""
    boards = [from_bool(board) for board in (own, enemy, ~(own | enemy | blocked))]
    return position_of(
        *[Cells(jnp.asarray(board.lo), jnp.asarray(board.hi)) for board in boards],
        mover=jnp.asarray(mover, jnp.int32),
        first_seat=jnp.asarray(first_seat, jnp.int32),
        turn=jnp.asarray(turn, jnp.int32),
        max_turns=jnp.asarray(max_turns, jnp.int32),
        claim_empty=jnp.asarray(claim_empty, jnp.bool_),
        own_moves=jnp.zeros((), jnp.int32),
        enemy_moves=jnp.zeros((), jnp.int32),
    )


def _move_table() -> np.ndarray:
    """uint32 [794, 6]: for each action the words of the landing cell, of the cell left, of the landing's neighbours."""
    one = np.eye(SIZE, dtype=np.bool_)
    touched = np.zeros((SIZE, SIZE), np.bool_)
    for cell, row in enumerate(BOARD.neighbours):
        touched[cell, row[row >= 0]] = True
    landing, left, near = (np.zeros((NUM_ACTIONS, SIZE), np.bool_) for _ in range(3))
    landing[:PASS] = np.repeat(one, KINDS, axis=0)
    near[:PASS] = np.repeat(touched, KINDS, axis=0)
    for target in range(SIZE):
        for jump, origin in enumerate(ORIGIN[target]):
            if origin >= 0:
                left[target * KINDS + 1 + jump, origin] = True
    return np.stack([word for board in (landing, left, near) for word in words(board)], axis=1)


MOVES = _move_table()
"""uint32 [794, 6]: words (lo, hi) of the landing cell, of the cell that a jump leaves, of the landing's neighbours."""


def play(position: Position, action: Array) -> Position:
    """The position after a legal action, int32 []."""
    row = jnp.asarray(MOVES)[action]
    landing, left, near = Cells(row[0], row[1]), Cells(row[2], row[3]), Cells(row[4], row[5])
    turned = position.enemy & near
    moved = (action != PASS).astype(jnp.int32)
    return position_of(
        own=position.enemy - turned,
        enemy=(position.own - left) | landing | turned,
        empty=(position.empty - landing) | left,
        mover=jnp.int32(1) - position.mover,
        first_seat=position.first_seat,
        turn=position.turn + jnp.int32(1),
        max_turns=position.max_turns,
        claim_empty=position.claim_empty,
        own_moves=position.enemy_moves,
        enemy_moves=position.own_moves + moved,
    )


_SPARE = np.uint32(1 << 31)


def _mask_table() -> np.ndarray:
    """uint32 [6, 794]: the bits that must be set for an action, in the words of own, empty, copies (lo, hi each).

    The highest bit of the second word of ``own`` is never set, so it stands for "never legal"; that of ``copies`` is
    borrowed for "may pass".
    """
    table = np.zeros((6, NUM_ACTIONS), np.uint32)
    board = np.zeros((3, NUM_ACTIONS, SIZE), np.bool_)
    for target in range(SIZE):
        board[2, target * KINDS, target] = True
        for jump, origin in enumerate(ORIGIN[target]):
            action = target * KINDS + 1 + jump
            if origin >= 0:
                board[0, action, origin] = board[1, action, target] = True
            else:
                table[1, action] = _SPARE
    for number in range(3):
        lo, hi = words(board[number])
        table[2 * number] |= lo
        table[2 * number + 1] |= hi
    table[5, PASS] = _SPARE
    return table


_NEEDED = _mask_table()


def all_set(needed: np.ndarray, available: tuple[Array, ...]) -> Array:
    """bool [n]: for which of n questions no needed bit is missing.

    One test by words for each answer, without a gather: what turns bit words into masks and observations at the speed
    at which they are written.

    Args: needed: uint32 [words, n]; available: as many words, uint32 [].
    """
    missing = jnp.asarray(needed[0]) & ~available[0]
    for bits, word in zip(needed[1:], available[1:], strict=True):
        missing = missing | (jnp.asarray(bits) & ~word)
    return missing == jnp.uint32(0)


def legal_actions(position: Position) -> Array:
    """bool [794]: for the seat to move; a pass is legal only where no move is."""
    own, empty, copies = position.own, position.empty, position.copies
    may_pass = jnp.where(position.own_can_move, jnp.uint32(0), _SPARE)
    return all_set(_NEEDED, (own.lo, own.hi, empty.lo, empty.hi, copies.lo, copies.hi | may_pass))


def ended(position: Position) -> Array:
    """bool []: neither side can move, a side has no piece, the turns are over, or the empty cells are claimed."""
    own, enemy = position.own_can_move, position.enemy_can_move
    claimed = position.claim_empty & (own != enemy)
    wiped_out = ~position.own.any() | ~position.enemy.any()
    return (~own & ~enemy) | wiped_out | claimed | (position.turn >= position.max_turns)


def lead(position: Position) -> Array:
    """int32 []: the mover's cells minus the other seat's, claimed empty cells included."""
    claim = position.own_can_move.astype(jnp.int32) - position.enemy_can_move.astype(jnp.int32)
    claim = jnp.where(position.claim_empty, claim, jnp.int32(0))
    return position.own.count() - position.enemy.count() + claim * position.empty.count()
