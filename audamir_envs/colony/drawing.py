"""Colony drawn: as a scene of shapes, and in plain text for a terminal."""

from __future__ import annotations

import numpy as np

from audamir_envs.colony import notation
from audamir_envs.colony.cells import BOARD, SIZE, to_bool
from audamir_envs.colony.rules import KINDS, ORIGIN, PASS, lead
from audamir_envs.core import State
from audamir_envs.drawing.hexagons import CELL, BoardPicture
from audamir_envs.drawing.places import Move, Places
from audamir_envs.drawing.scene import Line, Scene
from audamir_envs.texts import quoted

_BLOCKED = "#6b6558"
_PIECES = {"x": ("#b83d28", "#7d2415"), "o": ("#2f6fb3", "#173f6b")}
_MARK = "#e0a100"
_TARGET = "#2e8b57"


def _counts(state: State) -> list[tuple[str, str]]:
    """(symbol, how its side stands) for both sides, the first mover's first."""
    symbols, seat = notation.symbols(state.game), int(state.game.first_seat)
    return [(symbol, f"player_{who}: {symbols.count(symbol)}") for symbol, who in (("x", seat), ("o", 1 - seat))]


def _status(state: State) -> str:
    """Who moves or won, in one line."""
    turn, mover = int(state.game.turn), int(state.current_player)
    if not bool(state.terminated):
        to_move = "x" if mover == int(state.game.first_seat) else "o"
        return f"turn {turn + 1} of {int(state.game.max_turns)}: {to_move} to move"
    if bool(state.illegal):
        return f"ended by an illegal action of player_{mover}"
    ahead = int(lead(state.game))
    result = "a draw" if ahead == 0 else f"player_{mover if ahead > 0 else 1 - mover} wins"
    return f"over after {turn} turns: {result}"


def _whole_status(state: State) -> str:
    return "   ".join([*(f"{symbol} {count}" for symbol, count in _counts(state)), _status(state)])


def targets(state: State, selected: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cells that the mover's piece on cell ``selected`` may copy to, and those that it may jump to.

    Raises: ValueError if there is no such cell.
    """
    if not 0 <= selected < SIZE:
        raise ValueError(f"selected={quoted(selected)} is no cell: cells are numbered 0 to {SIZE - 1}")
    if bool(state.terminated) or not to_bool(state.game.own)[selected]:
        return (), ()
    mask = np.asarray(state.legal_action_mask)[:PASS].reshape(SIZE, KINDS)
    near = [int(cell) for cell in BOARD.neighbours[selected] if cell >= 0]
    copies = tuple(sorted(cell for cell in near if mask[cell, 0]))
    jumps = tuple(int(cell) for cell in np.flatnonzero(((selected == ORIGIN) & mask[:, 1:]).any(1)))
    return copies, jumps


def scene(state: State, last_action: int | None = None, selected: int | None = None) -> Scene:
    """The board with its labels; the last move outlined, and the selected piece's targets ringed.

    Args: last_action: the action that led here; selected: a cell whose piece's targets are shown, a solid ring for a
    copy and a dashed one for a jump.
    """
    symbols = notation.symbols(state.game)
    picture = BoardPicture(BOARD, lines=1)
    picture.cells([_BLOCKED if symbol == "#" else CELL for symbol in symbols])
    _last_move(picture, last_action)
    for cell, symbol in enumerate(symbols):
        if symbol in _PIECES:
            picture.piece(cell, _PIECES[symbol], symbol)
    if selected is not None:
        copies, jumps = targets(state, selected)
        picture.ring(selected, _MARK, wider=3)
        for cell in copies:
            picture.ring(cell, _TARGET)
        for cell in jumps:
            picture.ring(cell, _TARGET, dash=(6.0, 4.0))
    picture.line(
        0, [*((_PIECES[symbol], symbol, count) for symbol, count in _counts(state)), (None, "", _status(state))]
    )
    return picture.scene(f"Colony. {_whole_status(state)}")


def _last_move(picture: BoardPicture, action: int | None) -> None:
    if action is None or action == PASS:
        return
    target, kind = divmod(int(action), KINDS)
    picture.outline(target, _MARK)
    origin = int(ORIGIN[target, kind - 1]) if kind else -1
    if origin >= 0:
        picture.outline(origin, _MARK, 1.5)
        picture.add(Line(picture.piece_centre(origin), picture.piece_centre(target), stroke=_MARK, stroke_width=2.0))


def board_text(state: State, last_action: int | None = None) -> str:
    """Nine rows with their letters, the landing cell of the last move in brackets, and a line on how things stand."""
    landing = last_action // KINDS if last_action is not None and last_action != PASS else None
    lines = BOARD.draw_rows(notation.symbols(state.game), landing)
    if last_action is not None:
        lines.append(f"last move: {notation.action_to_text(last_action)}")
    return "\n".join([*lines, _whole_status(state)])


def places(state: State) -> Places:
    """Every cell, and the moves as piece and landing cell: a copy once for each piece that can be copied there."""
    cells = BoardPicture(BOARD, lines=1).places()
    colours = tuple(_PIECES["x" if seat == int(state.game.first_seat) else "o"][0] for seat in range(2))
    if bool(state.terminated):
        return Places(cells, colours=colours)
    own = to_bool(state.game.own)
    moves: list[Move] = []
    for action in np.flatnonzero(np.asarray(state.legal_action_mask)[:PASS]).tolist():
        target, kind = divmod(action, KINDS)
        if kind:
            moves.append(Move(action, (int(ORIGIN[target, kind - 1]), target), dashed=True))
        else:
            near = [int(cell) for cell in BOARD.neighbours[target] if cell >= 0 and own[cell]]
            moves += [Move(action, (cell, target)) for cell in near]
    return Places(cells, tuple(moves), colours)
