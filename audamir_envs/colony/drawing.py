"""Colony drawn: as a scene of shapes, and in plain text for a terminal."""

from __future__ import annotations

import functools

import numpy as np

from audamir_envs.colony import notation
from audamir_envs.colony.cells import BOARD, SIZE, to_bool
from audamir_envs.colony.rules import KINDS, ORIGIN, PASS, lead
from audamir_envs.core import State
from audamir_envs.drawing.places import Move, Place, Places
from audamir_envs.drawing.scene import Circle, Line, Polygon, Scene, Shape, Text, axial_centre, hexagon

_RADIUS = 26.0
_PIECE = 0.62 * _RADIUS
_MARGIN = 16.0
_FOOTER = 34.0
_WIDTH = 9 * _RADIUS * 3**0.5 + 2 * _MARGIN
_HEIGHT = 14 * _RADIUS + 2 * _MARGIN + _FOOTER
_GROUND, _CELL, _BLOCKED, _EDGE, _INK = "#f7f5ef", "#e4ddca", "#6b6558", "#b3a98f", "#3a362d"
_LABEL = "#857b62"
_PIECES = {"x": ("#c8452f", "#7d2415"), "o": ("#2f6fb3", "#173f6b")}
_MARK = "#e0a100"
_TARGET = "#2e8b57"


def _centre(cell: int) -> tuple[float, float]:
    x, y = axial_centre(float(BOARD.q[cell]), float(BOARD.r[cell]), _RADIUS)
    return x + _WIDTH / 2, y + _MARGIN + 7 * _RADIUS


def _symbols(state: State) -> str:
    """The 61 cells as x, o, . and #."""
    return notation.to_text(state.game).split()[0].replace("/", "")


def _status(state: State) -> str:
    """Who stands how, and who moves or won, in one line."""
    symbols = _symbols(state)
    seat_x = int(state.game.first_seat)
    sides = "   ".join(
        f"{symbol} player_{seat}: {symbols.count(symbol)}" for symbol, seat in (("x", seat_x), ("o", 1 - seat_x))
    )
    turn = int(state.game.turn)
    if not bool(state.terminated):
        to_move = "x" if int(state.current_player) == seat_x else "o"
        return f"{sides}   turn {turn + 1} of {int(state.game.max_turns)}: {to_move} to move"
    if bool(state.illegal):
        return f"{sides}   ended by an illegal action of player_{int(state.current_player)}"
    ahead, mover = int(lead(state.game)), int(state.current_player)
    result = "a draw" if ahead == 0 else f"player_{mover if ahead > 0 else 1 - mover} wins"
    return f"{sides}   over after {turn} turns: {result}"


def targets(state: State, selected: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cells that the mover's piece on cell ``selected`` may copy to, and those that it may jump to.

    Raises: ValueError if there is no such cell.
    """
    if not 0 <= selected < SIZE:
        raise ValueError(f"selected={selected} is no cell: cells are numbered 0 to {SIZE - 1}")
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
    shapes: list[Shape] = []
    for cell, symbol in enumerate(_symbols(state)):
        x, y = _centre(cell)
        fill = _BLOCKED if symbol == "#" else _CELL
        shapes.append(Polygon(hexagon(x, y, _RADIUS), fill=fill, stroke=_EDGE, stroke_width=1.0))
        shapes.append(Text(x, y + 0.68 * _RADIUS, BOARD.labels[cell], size=9.0, fill=_LABEL))
    shapes += _last_move(last_action)
    for cell, symbol in enumerate(_symbols(state)):
        if symbol in _PIECES:
            fill, stroke = _PIECES[symbol]
            shapes.append(Circle(*_centre(cell), _PIECE, fill=fill, stroke=stroke, stroke_width=2.0))
    if selected is not None:
        copies, jumps = targets(state, selected)
        shapes.append(Circle(*_centre(selected), _PIECE + 3, stroke=_MARK, stroke_width=3.0))
        shapes += [Circle(*_centre(cell), _PIECE, stroke=_TARGET, stroke_width=3.0) for cell in copies]
        shapes += [Circle(*_centre(cell), _PIECE, stroke=_TARGET, stroke_width=3.0, dash=(6.0, 4.0)) for cell in jumps]
    status = _status(state)
    shapes.append(Text(_WIDTH / 2, _HEIGHT - _MARGIN, status, size=13.0, fill=_INK))
    return Scene(_WIDTH, _HEIGHT, tuple(shapes), background=_GROUND, title=f"Colony. {status}")


def _last_move(action: int | None) -> list[Shape]:
    if action is None or action == PASS:
        return []
    target, kind = divmod(int(action), KINDS)
    shapes: list[Shape] = [Polygon(hexagon(*_centre(target), 0.93 * _RADIUS), stroke=_MARK, stroke_width=3.0)]
    origin = int(ORIGIN[target, kind - 1]) if kind else -1
    if origin >= 0:
        shapes.append(Polygon(hexagon(*_centre(origin), 0.93 * _RADIUS), stroke=_MARK, stroke_width=1.5))
        shapes.append(Line(_centre(origin), _centre(target), stroke=_MARK, stroke_width=2.0))
    return shapes


def board_text(state: State, last_action: int | None = None) -> str:
    """Nine rows with their letters, the landing cell of the last move in brackets, and a line on how things stand."""
    rows = notation.to_text(state.game).split()[0].split("/")
    landing = divmod(last_action, KINDS)[0] if last_action is not None and last_action != PASS else -1
    lines, cell = [], 0
    for row in rows:
        marked = []
        for symbol in row:
            marked.append(f"[{symbol}] " if cell == landing else f" {symbol}  ")
            cell += 1
        letter = BOARD.labels[cell - 1][0]
        lines.append(f"{letter} {' ' * (2 * (9 - len(row)))}{''.join(marked)}".rstrip())
    if last_action is not None:
        lines.append(f"last move: {notation.action_to_text(last_action)}")
    lines.append(_status(state))
    return "\n".join(lines)


def places(state: State) -> Places:
    """Every cell, and the moves as piece and landing cell: a copy once for each piece that can be copied there."""
    cells = _cells()
    if bool(state.terminated):
        return Places(cells)
    own = to_bool(state.game.own)
    moves: list[Move] = []
    for action in np.flatnonzero(np.asarray(state.legal_action_mask)[:PASS]).tolist():
        target, kind = divmod(action, KINDS)
        if kind:
            moves.append(Move(action, (int(ORIGIN[target, kind - 1]), target), dashed=True))
        else:
            near = [int(cell) for cell in BOARD.neighbours[target] if cell >= 0 and own[cell]]
            moves += [Move(action, (cell, target)) for cell in near]
    return Places(cells, tuple(moves))


@functools.cache
def _cells() -> tuple[Place, ...]:
    return tuple(Place(BOARD.labels[cell], _centre(cell), hexagon(*_centre(cell), _RADIUS)) for cell in range(SIZE))
