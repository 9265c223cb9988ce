"""Actions and positions as text.

Actions: ``e5`` places or flips there, ``pass``, ``komi=4``, ``black``, ``white``.

Positions: the rows from top to bottom joined by ``/`` (``x`` Black, ``o`` White, ``.`` empty), then the colour to move,
White's komi, the passes in a row and the seat that plays Black, all separated by spaces: ``.x/.o./.. x 0 0 0``. In the
pie ``?`` stands for a komi or a seat that is not chosen yet, and Black moves next.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from audamir_envs import hexboard
from audamir_envs.core import whole_number
from audamir_envs.stigmergy import rules
from audamir_envs.texts import clean, quoted, require_fields, whole

_SYMBOLS = ".xo"


def action_to_text(side: int, komi_choices: int, action: int) -> str:
    """The notation of an action. Raises: ValueError for what is no action's number."""
    board = hexboard.hexboard(side)
    names = ["pass", *(f"komi={2 * k}" for k in range(komi_choices))] + (["black", "white"] if komi_choices else [])
    number = whole_number(action)
    if number is None or not 0 <= number < board.size + len(names):
        raise ValueError(f"{quoted(action)} is no action: use an integer from 0 to {board.size + len(names) - 1}")
    return board.labels[number] if number < board.size else names[number - board.size]


def text_to_action(side: int, komi_choices: int, text: str) -> int:
    """The action of a notation. Raises: ValueError naming what is valid, TypeError for what is no text."""
    cleaned = clean(text, "an action")
    board = hexboard.hexboard(side)
    first_komi = board.size + 1
    if cleaned == "pass":
        return board.size
    if komi_choices and cleaned in ("black", "white"):
        return first_komi + komi_choices + (cleaned == "white")
    if komi_choices and cleaned.startswith("komi="):
        number = whole(cleaned.removeprefix("komi="))
        if number is None or number % 2 or not 0 <= number < 2 * komi_choices:
            last = last_komi(komi_choices)
            raise ValueError(f"{quoted(text)} is no choice of komi: use an even number from komi=0 to komi={last}")
        return first_komi + number // 2
    if cleaned in board.cell_of_label:
        return board.cell_of_label[cleaned]
    others = f", pass, komi=0 to komi={last_komi(komi_choices)}, black, white" if komi_choices else ", pass"
    bottom, top = board.labels[-side], board.labels[side - 1]
    raise ValueError(f"{quoted(text)} is no action: use a cell from {bottom} to {top}{others}")


def last_komi(komi_choices: int) -> int:
    """The largest komi of so many choices 0, 2, ..."""
    return 2 * (komi_choices - 1)


def position_to_text(position: rules.Position) -> str:
    """One line, as above."""
    board = rules.tables_of(position).board
    stones = np.asarray(position.stones)[board.grid]
    rows = board.write_rows([_SYMBOLS[stone] for stone in stones])
    phase = int(position.phase)
    komi = "?" if phase == rules.CHOOSE_KOMI else str(int(position.komi))
    seat = "?" if phase != rules.PLAY else str(int(position.black_seat))
    to_move = "x" if bool(position.black_to_move) else "o"
    return f"{rows} {to_move} {komi} {int(position.passes)} {seat}"


def text_to_position(side: int, pie: bool, text: str) -> rules.Position:
    """The position of a text. Raises: ValueError that says where the text is wrong, TypeError for what is no text.

    Args: pie: whether the environment has the pie's phases, so that ``?`` is possible.
    """
    names = ("rows", "x or o to move", "komi", "passes", "seat of x")
    rows, to_move, komi_text, passes_text, seat_text = require_fields(clean(text, "a position"), names, text)
    t = rules.tables(side)
    stones = np.zeros(t.board.width**2, np.uint8)
    stones[t.board.grid] = t.board.read_rows(rows, _SYMBOLS)
    phase = _read_phase(komi_text, seat_text, pie)
    if phase != rules.PLAY and to_move == "?":
        to_move = "x"
    if to_move not in ("x", "o"):
        raise ValueError(f"field 2 (to move) is {quoted(to_move)}: use x or o")
    komi = 0 if phase == rules.CHOOSE_KOMI else whole(komi_text)
    if komi is None or komi % 2 or abs(komi) > t.max_komi:
        raise ValueError(
            f"field 3 (komi) is {quoted(komi_text)}: use an even integer from {-t.max_komi} to {t.max_komi}"
        )
    if passes_text not in ("0", "1", "2"):
        raise ValueError(f"field 4 (passes in a row) is {quoted(passes_text)}: use 0, 1 or 2")
    if seat_text not in ("0", "1", "?"):
        raise ValueError(f"field 5 (seat of x) is {quoted(seat_text)}: use 0 or 1" + (" or ?" if pie else ""))
    if phase != rules.PLAY and (stones.any() or to_move != "x" or passes_text != "0"):
        raise ValueError("a pie that is not over (? in field 3 or 5) needs an empty board, x to move and 0 passes")
    device_stones = jnp.asarray(stones)
    position = rules.Position(
        stones=device_stones,
        sight=rules.sight_of(device_stones),
        black_to_move=jnp.asarray(to_move == "x", jnp.bool_),
        passes=jnp.asarray(int(passes_text), jnp.uint8),
        komi=jnp.asarray(komi, jnp.int16),
        phase=jnp.asarray(phase, jnp.uint8),
        black_seat=jnp.asarray(0 if phase != rules.PLAY else int(seat_text), jnp.uint8),
    )
    if passes_text != "0" and not rules.moves(position)[2]:
        raise ValueError(f"field 4 (passes in a row) is {passes_text}: use 0, as some empty cell is free to place on")
    return position


def _read_phase(komi: str, seat: str, pie: bool) -> int:
    if "?" not in (komi, seat):
        return rules.PLAY
    if not pie:
        raise ValueError(
            f"field {3 if komi == '?' else 5} is ?, which needs the pie: make the environment with komi='choose'"
        )
    if seat != "?":
        raise ValueError(f"field 5 (seat of x) is {quoted(seat)}: use ?, since colours are chosen after the komi")
    return rules.CHOOSE_KOMI if komi == "?" else rules.CHOOSE_COLOUR
