"""Colony in text. Moves: a copy ``e5``, a jump ``c3-e5``, ``pass``. Positions: nine rows from the top, then fields.

A position reads ``rows moving turns seat``: rows of ``x`` (first mover), ``o``, ``.`` and ``#`` (blocked) joined by
``/``, the side to move (``x`` or ``o``), the turns played, and the seat (0 or 1) that plays ``x``.
"""

from __future__ import annotations

import numpy as np

from audamir_envs.colony.cells import BOARD, SIZE, to_bool
from audamir_envs.colony.rules import JUMPS, KINDS, NUM_ACTIONS, ORIGIN, PASS, Position, from_boards
from audamir_envs.core import whole_number

_ROW_LENGTHS = tuple(int((BOARD.r == r).sum()) for r in range(-4, 5))
_ROW_STARTS = tuple(sum(_ROW_LENGTHS[:row]) for row in range(9))


def action_to_text(action: int) -> str:
    """The notation of an action; jumps from outside the board, never legal, read ``off(dq,dr)-e5``.

    Raises: ValueError for what is no action's number.
    """
    number = whole_number(action)
    if number is None or not 0 <= number < NUM_ACTIONS:
        raise ValueError(f"{action!r} is no action: actions are numbered 0 to {NUM_ACTIONS - 1}")
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
    if not isinstance(text, str):
        raise TypeError(f"a move is a text such as 'e5', 'c3-e5' or 'pass', not {type(text).__name__}")
    clean = text.strip().lower()
    if clean in _TEXTS:
        return _TEXTS[clean]
    parts = clean.split("-")
    if len(parts) > 2:
        raise ValueError(f"move {text!r} has {len(parts)} parts: use 'e5' (copy), 'c3-e5' (jump) or 'pass'")
    try:
        cells = [BOARD.cell(part) for part in parts]
    except ValueError as error:
        raise ValueError(f"move {text!r}: {error}; use 'e5' (copy), 'c3-e5' (jump) or 'pass'") from None
    start, end = (BOARD.labels[cell] for cell in cells)
    raise ValueError(f"move {text!r}: a jump goes exactly two cells far, and {end} is not two from {start}")


def to_text(position: Position) -> str:
    """The position as one line."""
    own, enemy, empty = (to_bool(cells) for cells in (position.own, position.enemy, position.empty))
    first_moves = int(position.mover) == int(position.first_seat)
    x, o = (own, enemy) if first_moves else (enemy, own)
    symbols = np.select([x, o, empty], ["x", "o", "."], "#")
    rows = ["".join(symbols[s : s + n]) for s, n in zip(_ROW_STARTS, _ROW_LENGTHS, strict=True)]
    return f"{'/'.join(rows)} {'x' if first_moves else 'o'} {int(position.turn)} {int(position.first_seat)}"


def from_text(text: str, *, claim_empty: bool, max_turns: int) -> Position:
    """The position that a text describes. Raises: ValueError that says where it is wrong; TypeError for no string."""
    if not isinstance(text, str):
        raise TypeError(f"a position is a text of rows and fields, not {type(text).__name__}")
    fields = text.split()
    if len(fields) != 4:
        raise ValueError(
            f"a position has 4 fields separated by spaces (rows, side to move, turns played, seat of x), "
            f"not {len(fields)}: {text!r}"
        )
    symbols = _symbols(fields[0])
    if fields[1] not in ("x", "o"):
        raise ValueError(f"field 2, the side to move, is {fields[1]!r}: use 'x' or 'o'")
    turns_valid = fields[2].isascii() and fields[2].isdigit() and len(fields[2]) <= 9
    if not turns_valid or int(fields[2]) > max_turns:
        raise ValueError(f"field 3, the turns played, is {fields[2]!r}: use a number from 0 to {max_turns}")
    if fields[3] not in ("0", "1"):
        raise ValueError(f"field 4, the seat of x, is {fields[3]!r}: use 0 or 1")
    first_seat = int(fields[3])
    moving, waiting = ("x", "o") if fields[1] == "x" else ("o", "x")
    return from_boards(
        symbols == moving,
        symbols == waiting,
        symbols == "#",
        mover=first_seat if moving == "x" else 1 - first_seat,
        first_seat=first_seat,
        turn=int(fields[2]),
        max_turns=max_turns,
        claim_empty=claim_empty,
    )


def _symbols(board: str) -> np.ndarray:
    rows = board.split("/")
    if len(rows) != len(_ROW_LENGTHS):
        raise ValueError(f"field 1, the board, has {len(rows)} rows joined by '/': use {len(_ROW_LENGTHS)}")
    for number, (row, length) in enumerate(zip(rows, _ROW_LENGTHS, strict=True), start=1):
        if len(row) != length:
            raise ValueError(f"row {number} of the board, {row!r}, has {len(row)} cells: it needs {length}")
        for place, symbol in enumerate(row, start=1):
            if symbol not in "xo.#":
                raise ValueError(f"row {number} of the board has {symbol!r} at place {place}: use x, o, . or #")
    symbols = np.array(list("".join(rows)))
    assert symbols.shape == (SIZE,)
    return symbols
