"""Colony in text. Moves: a copy ``e5``, a jump ``c3-e5``, ``pass``. Positions: nine rows from the top, then fields.

A position reads ``rows moving turns seat``: rows of ``x`` (first mover), ``o``, ``.`` and ``#`` (blocked) joined by
``/``, the side to move (``x`` or ``o``), the turns played, and the seat (0 or 1) that plays ``x``.
"""

from __future__ import annotations

import numpy as np

from audamir_envs.colony.cells import BOARD, to_bool
from audamir_envs.colony.rules import JUMPS, KINDS, NUM_ACTIONS, ORIGIN, PASS, Position, from_boards
from audamir_envs.core import whole_number
from audamir_envs.texts import clean, quoted, require_fields, whole

SYMBOLS = "xo.#"
"""First mover, the other, empty, blocked."""


def action_to_text(action: int) -> str:
    """The notation of an action; jumps from outside the board, never legal, read ``off(dq,dr)-e5``.

    Raises: ValueError for what is no action's number.
    """
    number = whole_number(action)
    if number is None or not 0 <= number < NUM_ACTIONS:
        raise ValueError(f"{quoted(action)} is no action: actions are numbered 0 to {NUM_ACTIONS - 1}")
    if number == PASS:
        return "pass"
    target, kind = divmod(number, KINDS)
    if kind == 0:
        return BOARD.labels[target]
    origin = ORIGIN[target, kind - 1]
    start = BOARD.labels[origin] if origin >= 0 else "off({},{})".format(*JUMPS[kind - 1])
    return f"{start}-{BOARD.labels[target]}"


_TEXTS = {action_to_text(action): action for action in range(NUM_ACTIONS)}


def text_to_action(text: str) -> int:
    """The action of a notation. Raises: ValueError that says what is wrong; TypeError if it is no string."""
    cleaned = clean(text, "a move such as 'e5', 'c3-e5' or 'pass'")
    if cleaned in _TEXTS:
        return _TEXTS[cleaned]
    parts = cleaned.split("-")
    if len(parts) > 2:
        raise ValueError(f"move {quoted(text)} has {len(parts)} parts: use 'e5' (copy), 'c3-e5' (jump) or 'pass'")
    try:
        start, end = parts[0], parts[-1]
        for cell in (start, end):
            BOARD.cell(cell)
    except ValueError as error:
        raise ValueError(f"move {quoted(text)}: {error}; use 'e5' (copy), 'c3-e5' (jump) or 'pass'") from None
    raise ValueError(f"move {quoted(text)}: a jump goes exactly two cells far, and {end} is not two from {start}")


def symbols(position: Position) -> list[str]:
    """The symbol of each cell, in the order of cell numbers."""
    own, enemy, empty = (to_bool(cells) for cells in (position.own, position.enemy, position.empty))
    first_moves = int(position.mover) == int(position.first_seat)
    x, o = (own, enemy) if first_moves else (enemy, own)
    return np.select([x, o, empty], list(SYMBOLS[:3]), SYMBOLS[3]).tolist()


def to_text(position: Position) -> str:
    """The position as one line."""
    to_move = "x" if int(position.mover) == int(position.first_seat) else "o"
    rows = BOARD.write_rows(symbols(position))
    return f"{rows} {to_move} {int(position.turn)} {int(position.first_seat)}"


def from_text(text: str, *, claim_empty: bool, max_turns: int) -> Position:
    """The position that a text describes. Raises: ValueError that says where it is wrong; TypeError for no string."""
    names = ("rows", "side to move", "turns played", "seat of x")
    rows, moving, turns, seat = require_fields(clean(text, "a position"), names, text)
    cells = np.array(BOARD.read_rows(rows, SYMBOLS))
    if moving not in ("x", "o"):
        raise ValueError(f"field 2, the side to move, is {quoted(moving)}: use 'x' or 'o'")
    turn = whole(turns)
    if turn is None or not 0 <= turn <= max_turns:
        raise ValueError(f"field 3, the turns played, is {quoted(turns)}: use a number from 0 to {max_turns}")
    if seat not in ("0", "1"):
        raise ValueError(f"field 4, the seat of x, is {quoted(seat)}: use 0 or 1")
    first_seat, mover = int(seat), int(moving == "o")  # of the symbols
    return from_boards(
        cells == mover,
        cells == 1 - mover,
        cells == SYMBOLS.index("#"),
        mover=first_seat ^ mover,
        first_seat=first_seat,
        turn=turn,
        max_turns=max_turns,
        claim_empty=claim_empty,
    )
