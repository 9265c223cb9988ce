"""What a seat sees of a position: planes over the axial grid, "mine" and "theirs" from its own point of view.

| plane | uint8 value on every cell (0 off the board) |
|---|---|
| 0 | 1 on the board |
| 1, 2 | 1 where my stones, their stones lie |
| 3, 4 | 1 on cells that I, that they control |
| 5, 6 | how many of my stones, of their stones the cell sees: 0 to 6 |
| 7 | 1 where I may place a stone |
| 8 | 1 where I may flip a stone |
| 9, 10 | half the komi in my favour, in theirs (a negative komi favours Black) |
| 11 | passes in a row: 0 to 2 |
| 12 | 1 in the pie's first phase, the choice of komi |
| 13 | 1 in the pie's second phase, the choice of colours |
| 14 | 1 if it is my turn |
| 15 | how many stones of one colour control the cell: 4, 3, 2 in the interior, on an edge, in a corner |

In the pie nobody has a colour yet: plane 9 is 0, and plane 10 holds half the largest komi that may be chosen, then half
the komi chosen. Placements and flips are those that the rules would allow if it were my turn, none in the pie.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from audamir_envs.core import Array
from audamir_envs.stigmergy import rules

PLANES = 16
HIGH = 198  # of any plane: half the largest komi on side 12


def observe(position: rules.Position, player: Array, max_komi: int) -> Array:
    """uint8 [width, width, 16]: the planes above for one position.

    Args: player: int32 [], the seat that sees. max_komi: what plane 10 shows while komi is chosen.
    """
    t = rules.tables_of(position)
    width = t.board.width
    on_board, needed = jnp.asarray(t.on_board), jnp.asarray(t.needed)
    am_black = position.black_seat.astype(jnp.int32) == player
    black, white = rules.counts(position)
    my_count, their_count = jnp.where(am_black, black, white), jnp.where(am_black, white, black)
    i_control, they_control = my_count >= needed, their_count >= needed
    mine = position.stones == jnp.where(am_black, jnp.uint8(rules.BLACK), jnp.uint8(rules.WHITE))
    theirs = position.stones == jnp.where(am_black, jnp.uint8(rules.WHITE), jnp.uint8(rules.BLACK))
    playing = position.phase == rules.PLAY
    placements = (position.stones == rules.EMPTY) & ~they_control & playing

    gain = jnp.where(am_black, -position.komi, position.komi)
    gain = jnp.where(playing, gain, -position.komi)
    gain = jnp.where(position.phase == rules.CHOOSE_KOMI, jnp.int16(-max_komi), gain) // 2
    my_turn = rules.mover(position) == player

    # Four planes make one 32-bit word: the copy that brings a cell's planes together is the costly part, and so has
    # four times less to move.
    words = jnp.concatenate(
        [
            _pack(on_board, mine, theirs, i_control),
            _pack(they_control, my_count, their_count, placements),
            _pack(theirs & i_control, jnp.maximum(gain, 0), jnp.maximum(-gain, 0), position.passes),
            _pack(position.phase == rules.CHOOSE_KOMI, position.phase == rules.CHOOSE_COLOUR, my_turn, needed),
        ]
    )
    words = jnp.where(jnp.tile(on_board, PLANES // 4), words, jnp.uint32(0))
    # The barrier keeps the compiler from working out each word again for each place that the transposition visits.
    words = jax.lax.optimization_barrier(words).reshape(PLANES // 4, width * width).T
    return jax.lax.bitcast_convert_type(words, jnp.uint8).reshape(width, width, PLANES)


def _pack(*planes: Array) -> Array:
    """uint32 [grid]: four planes ([grid] or [], below 256), the first in the lowest byte."""
    first, second, third, fourth = (plane.astype(jnp.uint32) << (8 * i) for i, plane in enumerate(planes))
    return first | second | third | fourth
