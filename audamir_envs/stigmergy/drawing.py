"""Stigmergy drawn: as a scene of shapes, and in plain text for a terminal."""

from __future__ import annotations

import numpy as np

from audamir_envs.core import State
from audamir_envs.drawing.hexagons import CELL, BoardPicture
from audamir_envs.drawing.places import Move, Places
from audamir_envs.drawing.scene import Scene
from audamir_envs.stigmergy import rules

_MARK = "#d2691e"
_TINTS = {(True, False): "#9ca5b5", (False, True): "#fdfcf9"}  # cells that Black, that White controls
_STONES = {rules.BLACK: ("#23211d", "#000000"), rules.WHITE: ("#ffffff", "#55503f")}


def scene(state: State, last_action: int | None = None) -> Scene:
    """The board: stones, controlled cells tinted, the last move outlined; below it score, komi and turn."""
    game: rules.Position = state.game
    board = rules.tables_of(game).board
    stones, black, white = _on_cells(game)
    picture = BoardPicture(board, lines=2)
    picture.cells([_TINTS.get((bool(b), bool(w)), CELL) for b, w in zip(black, white, strict=True)])
    if last_action is not None and 0 <= last_action < board.size:
        picture.outline(last_action, _MARK)
    for cell in np.flatnonzero(stones).tolist():
        picture.piece(cell, _STONES[int(stones[cell])])
    score, status = _score_line(game), _status_line(state)
    picture.line(0, [(None, "", score)])
    picture.line(1, [(None, "", status)])
    return picture.scene(f"Stigmergy. {score}. {status}")


def places(state: State) -> Places:
    """Every cell, and the moves to it, placements or flips."""
    board = rules.tables_of(state.game).board
    cells = BoardPicture(board, lines=2).places()
    legal = [] if bool(state.terminated) else np.flatnonzero(np.asarray(state.legal_action_mask)[: board.size]).tolist()
    black = int(state.game.black_seat)
    colours = tuple(_STONES[rules.BLACK if seat == black else rules.WHITE][0] for seat in range(2))
    return Places(cells, tuple(Move(cell, (cell,)) for cell in legal), colours)


def board_text(state: State, last_action: int | None = None) -> str:
    """Rows with their letters, then score, komi and turn.

    ``x`` and ``o`` are stones of Black and White, ``+`` and ``-`` empty cells that Black and White control; brackets
    mark the last placement or flip.
    """
    game: rules.Position = state.game
    stones, black, white = _on_cells(game)
    empty = np.where(black, "+", np.where(white, "-", "."))
    symbols = np.where(stones == rules.BLACK, "x", np.where(stones == rules.WHITE, "o", empty)).tolist()
    lines = rules.tables_of(game).board.draw_rows(symbols, last_action)
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
