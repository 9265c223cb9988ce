"""Stigmergy drawn: as a scene of shapes, and in plain text for a terminal."""

from __future__ import annotations

import math

import numpy as np

from audamir_envs.core import State
from audamir_envs.drawing.places import Move, Place, Places
from audamir_envs.drawing.scene import Circle, Point, Polygon, Scene, Shape, Text, axial_centre, hexagon
from audamir_envs.hexboard import HexBoard
from audamir_envs.stigmergy import rules

_RADIUS = 26.0
_STONE = 0.62 * _RADIUS
_MARGIN = 16.0
_LINE = 22.0  # height of a line of text below the board
_MIN_WIDTH = 380.0  # so that the text fits below the smallest boards
_GROUND, _CELL, _EDGE, _INK, _MARK = "#f7f5ef", "#e4ddca", "#b3a98f", "#3a362d", "#d2691e"
_TINTS = {(True, False): "#8d95a5", (False, True): "#fbfaf5"}  # cells that Black, that White controls
_STONES = {rules.BLACK: ("#23211d", "#000000"), rules.WHITE: ("#ffffff", "#55503f")}


def scene(state: State, last_action: int | None = None) -> Scene:
    """The board: stones, controlled cells tinted, the last move outlined; below it score, komi and turn."""
    game: rules.Position = state.game
    board = rules.tables_of(game).board
    stones, black, white = _on_cells(game)
    width, height = _size(board)

    def centre(cell: int) -> Point:
        return _centre(board, cell)

    shapes: list[Shape] = []
    for cell in range(board.size):
        x, y = centre(cell)
        tint = _TINTS.get((bool(black[cell]), bool(white[cell])), _CELL)
        shapes.append(Polygon(hexagon(x, y, _RADIUS), fill=tint, stroke=_EDGE, stroke_width=1.0))
        shapes.append(Text(x, y + 0.76 * _RADIUS, board.labels[cell], size=8.0, fill=_EDGE))
    if last_action is not None and 0 <= last_action < board.size:
        shapes.append(Polygon(hexagon(*centre(last_action), 0.9 * _RADIUS), stroke=_MARK, stroke_width=3.0))
    for cell in np.flatnonzero(stones).tolist():
        fill, stroke = _STONES[int(stones[cell])]
        shapes.append(Circle(*centre(cell), _STONE, fill=fill, stroke=stroke, stroke_width=2.0))
    score, status = _score_line(game), _status_line(state)
    shapes.append(Text(width / 2, height - _MARGIN - _LINE, score, size=13.0, fill=_INK))
    shapes.append(Text(width / 2, height - _MARGIN, status, size=13.0, fill=_INK))
    return Scene(width, height, tuple(shapes), background=_GROUND, title=f"Stigmergy. {score}. {status}")


def places(state: State) -> Places:
    """Every cell, and the moves to it, placements or flips."""
    board = rules.tables_of(state.game).board
    cells = tuple(
        Place(board.labels[cell], _centre(board, cell), hexagon(*_centre(board, cell), _RADIUS))
        for cell in range(board.size)
    )
    legal = [] if bool(state.terminated) else np.flatnonzero(np.asarray(state.legal_action_mask)[: board.size]).tolist()
    return Places(cells, tuple(Move(cell, (cell,)) for cell in legal))


def _size(board: HexBoard) -> Point:
    """Width and height of the picture."""
    across = board.width * _RADIUS * math.sqrt(3)
    return max(across, _MIN_WIDTH) + 2 * _MARGIN, (1.5 * board.width + 0.5) * _RADIUS + 2 * _MARGIN + 2 * _LINE


def _centre(board: HexBoard, cell: int) -> Point:
    x, y = axial_centre(float(board.q[cell]), float(board.r[cell]), _RADIUS)
    return x + _size(board)[0] / 2, y + _MARGIN + (1.5 * (board.side - 1) + 1) * _RADIUS


def board_text(state: State, last_action: int | None = None) -> str:
    """Rows with their letters, then score, komi and turn.

    ``x`` and ``o`` are stones of Black and White, ``+`` and ``-`` empty cells that Black and White control; brackets
    mark the last placement or flip.
    """
    game: rules.Position = state.game
    board = rules.tables_of(game).board
    stones, black, white = _on_cells(game)
    empty = np.where(black, "+", np.where(white, "-", "."))
    symbols = np.where(stones == rules.BLACK, "x", np.where(stones == rules.WHITE, "o", empty))
    lines = []
    for row in range(1 - board.side, board.side):
        cells = np.flatnonzero(board.r == row).tolist()
        marked = [f"[{symbols[cell]}]" if cell == last_action else f" {symbols[cell]} " for cell in cells]
        lines.append(f"{board.labels[cells[0]][0]} {'  ' * abs(row)}{' '.join(marked)}".rstrip())
    return "\n".join([*lines, _score_line(game), _status_line(state)])


def _on_cells(game: rules.Position) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(stones, Black's control, White's), NumPy [size] each, by cell number."""
    grid = rules.tables_of(game).board.grid
    black, white = rules.control(game)
    return np.asarray(game.stones)[grid], np.asarray(black)[grid], np.asarray(white)[grid]


def _score_line(game: rules.Position) -> str:
    black, white = (int(score) for score in rules.scores(game))
    phase, komi = int(game.phase), int(game.komi)
    if phase == rules.CHOOSE_KOMI:
        return "komi not chosen yet"
    sum_text = f"{white} {'-' if komi < 0 else '+'} komi {abs(komi)} = {white + komi}"
    if phase == rules.CHOOSE_COLOUR:
        return f"Black {black}   White {sum_text}"
    seat = int(game.black_seat)
    return f"Black (player_{seat}) {black}   White (player_{1 - seat}) {sum_text}"


def _status_line(state: State) -> str:
    game: rules.Position = state.game
    mover = int(state.current_player)
    if bool(state.illegal):
        return f"ended by an illegal action of player_{mover}"
    if bool(state.terminated):
        black, white = (int(score) for score in rules.scores(game))
        black_wins = black > white + int(game.komi)
        seat = int(game.black_seat)
        return f"{'Black' if black_wins else 'White'} (player_{seat if black_wins else 1 - seat}) wins"
    phase = int(game.phase)
    if phase == rules.CHOOSE_KOMI:
        return f"player_{mover} chooses the komi"
    if phase == rules.CHOOSE_COLOUR:
        return f"player_{mover} chooses a colour"
    colour = "Black" if bool(game.black_to_move) else "White"
    return f"{colour} (player_{mover}) to move" + (", after a pass" if int(game.passes) else "")
