"""The rules of Stigmergy in JAX: positions, moves, control by sight, legality and score, on boards of side 2 to 12.

A position keeps, for every cell, how many stones of each colour it sees. A move changes one stone, so only cells on the
three lines through it can see something new, and in each direction the change is the same for all cells that see the
stone: one more of its colour, one less of what they saw there before (the first stone behind the new one, or the other
colour of a flipped stone). Six rays from the changed cell therefore give the whole update.

Boards are arrays over the places of the axial grid, flattened ([grid] with grid = width * width, width = 2 * side - 1;
see ``hexboard``), because observations have that layout; places off the board are empty and control nothing.
``on_cells`` turns such arrays into the order of cell numbers.
"""

from __future__ import annotations

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np

from audamir_envs import hexboard
from audamir_envs.core import Array, Outcome, Pytree, whole_number
from audamir_envs.texts import quoted

EMPTY, BLACK, WHITE = 0, 1, 2
CHOOSE_KOMI, CHOOSE_COLOUR, PLAY = 0, 1, 2

MIN_SIDE, MAX_SIDE = 2, 12
_COUNT_BITS = 4  # sight holds Black's count in its low four bits and White's in the high four


class Position(Pytree):
    """A game in progress or ended. The side is a matter of shapes; komi and the pie's phase may differ in a batch."""

    stones: Array  # uint8 [grid]: EMPTY, BLACK or WHITE
    sight: Array  # uint8 [grid]: black stones seen + 16 * white stones seen
    black_to_move: Array  # bool []: in the pie true, since Black moves first after it
    passes: Array  # uint8 []: passes in a row, 2 at the end
    komi: Array  # int16 []: added to White's score; 0 until it is chosen
    phase: Array  # uint8 []: CHOOSE_KOMI, CHOOSE_COLOUR or PLAY
    black_seat: Array  # uint8 []: the seat that plays Black; 0 until it is chosen


@dataclasses.dataclass(frozen=True, eq=False)
class Tables:
    """NumPy tables of one side."""

    board: hexboard.HexBoard
    on_board: np.ndarray  # bool [grid]
    needed: np.ndarray  # uint8 [grid]: stones of one colour that a cell must see to be controlled; 255 off the board
    q: np.ndarray  # int8 [grid]
    r: np.ndarray  # int8 [grid]
    rays: np.ndarray  # int32 [size, 6, 2n-2]: grid places in each direction, nearest first, padded by one off the board
    max_plies: int  # no game is longer, the pie's two choices not counted
    max_komi: int  # the largest even number not above the number of cells


@functools.cache
def tables(side: int) -> Tables:
    """The tables of a side. Raises: ValueError for a side that is no integer from 2 to 12."""
    if whole_number(side) is None or not MIN_SIDE <= side <= MAX_SIDE:
        raise ValueError(f"side={quoted(side)} is not valid: use an integer from {MIN_SIDE} to {MAX_SIDE}")
    board = hexboard.hexboard(side)
    places = np.arange(board.width**2)
    adjacent = (board.neighbours >= 0).sum(axis=1)
    needed = np.full(len(places), 255, np.uint8)
    needed[board.grid] = adjacent // 2 + 1
    off_board = int(np.flatnonzero(board.cell_of_grid < 0)[0])
    # A flip strictly lowers the number of opposite-coloured pairs that see each other. A placement raises it by at most
    # half the adjacent cells, since beyond that the opponent would control the cell. So placements and flips together
    # number at most `moves`, and between two of them stands at most one pass.
    interior, edge = int((adjacent == 6).sum()), int((adjacent == 4).sum())
    moves = board.size + 3 * interior + 2 * edge + 6
    return Tables(
        board=board,
        on_board=board.cell_of_grid >= 0,
        needed=needed,
        q=(places % board.width - (side - 1)).astype(np.int8),
        r=(places // board.width - (side - 1)).astype(np.int8),
        rays=np.where(board.rays >= 0, board.grid[board.rays], off_board).astype(np.int32),
        max_plies=2 * moves + 2,
        max_komi=board.size - board.size % 2,
    )


def side_of(position: Position) -> int:
    """The side of the board, which the shape tells."""
    return hexboard.side_of_grid(position.stones.shape[-1])


def tables_of(position: Position) -> Tables:
    """The tables of a position's side."""
    return tables(side_of(position))


def new_position(side: int, komi: int | None) -> Position:
    """The empty board with a komi, or at the start of the pie if komi is None."""
    places = tables(side).board.width ** 2
    return Position(
        stones=jnp.zeros(places, jnp.uint8),
        sight=jnp.zeros(places, jnp.uint8),
        black_to_move=jnp.ones((), jnp.bool_),
        passes=jnp.zeros((), jnp.uint8),
        komi=jnp.asarray(komi or 0, jnp.int16),
        phase=jnp.asarray(CHOOSE_KOMI if komi is None else PLAY, jnp.uint8),
        black_seat=jnp.zeros((), jnp.uint8),
    )


def sight_of(stones: Array) -> Array:
    """uint8 [..., grid]: the sight of every place, worked out anew from all stones (uint8 [..., grid])."""
    t = tables(hexboard.side_of_grid(stones.shape[-1]))
    on_rays = stones[..., jnp.asarray(t.rays)]
    first = jnp.argmax(on_rays > 0, axis=-1, keepdims=True)
    seen = jnp.sum(_in_sight(jnp.take_along_axis(on_rays, first, axis=-1)[..., 0]), axis=-1, dtype=jnp.uint8)
    return jnp.zeros_like(stones).at[..., jnp.asarray(t.board.grid)].set(seen)


def play(position: Position, action: Array) -> Position:
    """The position after a placement or flip (the cell's number) or a pass (any higher number), legal in PLAY.

    Args: action: int32 [].
    """
    t = tables_of(position)
    is_pass = action >= t.board.size
    cell = jnp.where(is_pass, 0, action)
    place = jnp.asarray(t.board.grid)[cell]
    own = jnp.where(position.black_to_move, jnp.uint8(BLACK), jnp.uint8(WHITE))
    before = position.stones[place]

    # One number for each cell of each ray, smaller for nearer stones, its last two bits being the colour.
    reach = t.rays.shape[-1]
    on_rays = position.stones[jnp.asarray(t.rays)[cell]]
    distance = jnp.arange(1, reach + 1, dtype=jnp.uint8) * jnp.uint8(4)
    nearest = jnp.min(jnp.where(on_rays > 0, distance[None] | on_rays, jnp.uint8(reach * 4)), axis=-1)
    far = (nearest >> 2).astype(jnp.int8)  # [6]: how many cells in each direction see the changed one
    behind = jnp.roll(nearest & 3, 3)  # uint8 [6]: what the cells in each direction saw past the empty cell
    change = _in_sight(own) - _in_sight(jnp.where(before > 0, before, behind))
    change = jnp.where(is_pass, jnp.uint8(0), change)

    # The three lines through the cell (r, q or q + r constant) and the coordinate that runs along each.
    dq = jnp.asarray(t.q) - jnp.asarray(t.q)[place]
    dr = jnp.asarray(t.r) - jnp.asarray(t.r)[place]
    update = jnp.zeros_like(position.sight)
    for line, along, ahead, back in ((dr == 0, dq, 0, 3), (dq == 0, dr, 1, 4), (dq + dr == 0, dr, 2, 5)):
        update += jnp.where(line & (along > 0) & (along <= far[ahead]), change[ahead], jnp.uint8(0))
        update += jnp.where(line & (along < 0) & (-along <= far[back]), change[back], jnp.uint8(0))

    here = (dq == 0) & (dr == 0) & ~is_pass
    return position.replace(
        stones=jnp.where(here, own, position.stones),
        sight=position.sight + jnp.where(jnp.asarray(t.on_board), update, jnp.uint8(0)),
        black_to_move=~position.black_to_move,
        passes=jnp.where(is_pass, position.passes + jnp.uint8(1), jnp.uint8(0)),
    )


def step(position: Position, action: Array, komi_choices: int) -> Position:
    """The position after any legal action (int32 []): ``play``, and where there are komi choices, the pie's too.

    Actions beyond the pass are the komi 0, 2, ... (``komi_choices`` of them, 0 without the pie), then black, white.
    """
    played = play(position, action)
    if komi_choices == 0:
        return played
    first = tables_of(position).board.size + 1
    playing = position.phase == PLAY
    return played.replace(
        black_to_move=played.black_to_move | ~playing,
        passes=jnp.where(playing, played.passes, jnp.uint8(0)),
        komi=jnp.where(position.phase == CHOOSE_KOMI, (2 * (action - first)).astype(jnp.int16), position.komi),
        phase=jnp.minimum(position.phase + jnp.uint8(1), jnp.uint8(PLAY)),
        black_seat=jnp.where(
            position.phase == CHOOSE_COLOUR, (action == first + komi_choices).astype(jnp.uint8), position.black_seat
        ),
    )


def _in_sight(colour: Array) -> Array:
    """uint8: what a stone of a colour (uint8, EMPTY for none) adds to the sight of a place that sees it."""
    return (colour & 1) + ((colour >> 1) << _COUNT_BITS)


def counts(position: Position) -> tuple[Array, Array]:
    """(Black's, White's), uint8 [..., grid] each: how many stones of a colour each place sees."""
    return position.sight & jnp.uint8((1 << _COUNT_BITS) - 1), position.sight >> _COUNT_BITS


def control(position: Position) -> tuple[Array, Array]:
    """(Black's, White's), bool [..., grid] each: the cells that a side controls, occupied or not."""
    needed = jnp.asarray(tables_of(position).needed)
    black, white = counts(position)
    return black >= needed, white >= needed


def moves(position: Position) -> tuple[Array, Array, Array]:
    """(placements, flips, pass), bool [..., grid], [..., grid] and [...]: what the colour to move may do in PLAY."""
    black, white = control(position)
    black_to_move = position.black_to_move[..., None]
    mine, theirs = jnp.where(black_to_move, black, white), jnp.where(black_to_move, white, black)
    enemy = position.stones == jnp.where(black_to_move, jnp.uint8(WHITE), jnp.uint8(BLACK))
    empty = (position.stones == EMPTY) & jnp.asarray(tables_of(position).on_board)
    return empty & ~theirs, enemy & mine, ~jnp.any(empty & ~mine & ~theirs, axis=-1)


def legal_actions(position: Position, komi_choices: int) -> Array:
    """bool [..., actions]: cells, pass and, where there are komi choices, those of the pie."""
    placements, flips, may_pass = moves(position)
    cells = on_cells(side_of(position), placements | flips)
    parts = [cells, may_pass[..., None]]
    if komi_choices:
        phase = position.phase[..., None]
        parts = [part & (phase == PLAY) for part in parts]
        parts += [
            jnp.broadcast_to(phase == CHOOSE_KOMI, (*phase.shape[:-1], komi_choices)),
            jnp.broadcast_to(phase == CHOOSE_COLOUR, (*phase.shape[:-1], 2)),
        ]
    return jnp.concatenate(parts, axis=-1)


def scores(position: Position) -> tuple[Array, Array]:
    """(Black's, White's), int32 [...] each: own stones and empty cells under control, without komi."""
    black, white = control(position)
    empty = position.stones == EMPTY
    mine = (position.stones == BLACK) | (empty & black)
    theirs = (position.stones == WHITE) | (empty & white)
    return jnp.sum(mine, axis=-1, dtype=jnp.int32), jnp.sum(theirs, axis=-1, dtype=jnp.int32)


def mover(position: Position) -> Array:
    """int32 [...]: the seat to move."""
    black = position.black_seat.astype(jnp.int32)
    return jnp.where(
        position.phase == CHOOSE_COLOUR, jnp.int32(1), jnp.where(position.black_to_move, black, jnp.int32(1) - black)
    )


def outcome(position: Position) -> Outcome:
    """The end after two passes in a row, and the result as if it were now."""
    black, white = scores(position)
    black_wins = black > white + position.komi.astype(jnp.int32)
    seat = jnp.arange(2, dtype=jnp.uint8)
    won = (seat == position.black_seat[..., None]) == black_wins[..., None]
    return Outcome(
        terminated=position.passes >= 2,
        truncated=jnp.zeros_like(position.black_to_move),
        rewards=jnp.where(won, jnp.float32(1), jnp.float32(-1)),
    )


def on_cells(side: int, values: Array) -> Array:
    """[..., size] of [..., grid]: in the order of cell numbers."""
    n, width = side - 1, 2 * side - 1
    # Rows are cut out one by one, which compiles to copies; a gather would go cell by cell.
    rows = [values[..., i * width + max(0, n - i) : i * width + width - max(0, i - n)] for i in range(width)]
    return jnp.concatenate(rows, axis=-1)
