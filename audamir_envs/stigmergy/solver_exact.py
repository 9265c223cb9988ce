"""Values and best actions of single positions, looked up in the tables that ``solver_tables`` computes.

Margins are Black's final score minus White's, komi not counted; Black wins where the margin is above komi.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import math
import os
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from audamir_envs import files
from audamir_envs.core import State, whole_number
from audamir_envs.hexboard import HexBoard, hexboard
from audamir_envs.stigmergy import solver_tables
from audamir_envs.stigmergy.rules import BLACK, WHITE, Position
from audamir_envs.texts import quoted

SIDES = (2, 3)
COLOURS = ("black", "white")
PASS = "pass"

_FORMAT = "audamir-envs exact Stigmergy table"
_VERSION = 1  # of the file; raised when the order of the values changes


@dataclasses.dataclass(frozen=True)
class Stones:
    """A position: cells as bit masks (bit = cell number)."""

    black: int
    white: int
    black_to_move: bool
    passed: bool  # the last action was a pass

    def after(self, action: int, size: int) -> Stones:
        """The position after a legal action, a cell below ``size`` or a pass that does not end the game."""
        bit = 1 << action if action < size else 0
        if self.black_to_move:
            black, white = self.black | bit, self.white & ~bit
        else:
            black, white = self.black & ~bit, self.white | bit
        return Stones(black, white, not self.black_to_move, passed=action == size)


@dataclasses.dataclass(frozen=True, eq=False)
class ExactTable:
    """The values of all positions of one board; made by ``solve`` or ``load``, which reads what ``save`` wrote."""

    side: int
    values: np.ndarray  # int8 [positions]: ordered as in solver_tables
    sets: solver_tables.Sets = dataclasses.field(repr=False)

    @property
    def board(self) -> HexBoard:
        """The board's tables."""
        return hexboard(self.side)

    @property
    def value(self) -> int:
        """Black's margin from the empty board."""
        return self.margin()

    def margin(
        self, black: Iterable[str] = (), white: Iterable[str] = (), to_move: str = "black", passed: bool = False
    ) -> int:
        """Black minus White at the end, komi 0, both playing perfectly.

        Args: black, white: labels of the cells with stones; to_move: "black" or "white"; passed: the last action was a
        pass, so that another ends the game.
        Raises: ValueError: no such cell, a cell twice, or another colour.
        """
        return self.margin_of(self.stones(black, white, to_move, passed))

    def action_margins(
        self, black: Iterable[str] = (), white: Iterable[str] = (), to_move: str = "black", passed: bool = False
    ) -> dict[str, int]:
        """For each legal action (a cell's label, or "pass"), the margin after it; arguments as for ``margin``."""
        found = self.action_margins_of(self.stones(black, white, to_move, passed))
        return {self._action_name(action): margin for action, margin in found.items()}

    def first_moves(self) -> dict[str, int]:
        """The margin after each first move of Black."""
        return self.action_margins()

    def best_komi(self) -> tuple[int | None, int | None]:
        """The largest even komi with which Black wins and the smallest with which White does, None beyond the cells."""
        black, white = self.value - 1, self.value + 1
        return (black if -self.board.size <= black else None), (white if white <= self.board.size else None)

    def best_actions(self, state: State) -> np.ndarray:
        """int32 [n]: the actions that keep the best margin for the seat to move, in ascending order.

        In the pie: the komi choices nearest to the value (whatever is chosen, the other seat takes the winning side,
        but so it wins by least), and the colour that wins.
        Args: state: of ``stigmergy-v0`` with the table's side, not batched.
        Raises: ValueError: another side or game, a batch, or an ended game.
        """
        losses = self.losses(state)
        return np.array(sorted(action for action, loss in losses.items() if loss == 0), np.int32)

    def losses(self, state: State) -> dict[int, int]:
        """How many points each legal action gives away against the best one; arguments and errors as best_actions."""
        stones, komi, phase = self.read(state)
        actions = np.flatnonzero(np.asarray(state.legal_action_mask)).tolist()
        if phase == "komi":
            margins = {action: -abs(self.value - 2 * (action - self.board.size - 1)) for action in actions}
        elif phase == "colour":
            margins = dict(zip(actions, (self.value - komi, komi - self.value), strict=True))
        else:
            sign = 1 if stones.black_to_move else -1
            margins = {action: sign * margin for action, margin in self.action_margins_of(stones).items()}
        best = max(margins.values())
        return {action: best - margin for action, margin in margins.items()}

    # By cell numbers and bit masks.

    def stones(self, black: Iterable[str], white: Iterable[str], to_move: str, passed: bool) -> Stones:
        """The position of labels. Raises: ValueError, as ``margin``."""
        if to_move not in COLOURS:
            raise ValueError(f"to_move={quoted(to_move)} is not valid: use 'black' or 'white'")
        masks = {"black": 0, "white": 0}
        for colour, labels in (("black", black), ("white", white)):
            if isinstance(labels, str):
                raise TypeError(f"{colour} must be a list of labels like ['c3', 'd2'], not the text {quoted(labels)}")
            for label in labels:
                bit = 1 << self.board.cell(label)
                if (masks["black"] | masks["white"]) & bit:
                    raise ValueError(f"there are two stones on {label}")
                masks[colour] |= bit
        return Stones(masks["black"], masks["white"], to_move == "black", bool(passed))

    def margin_of(self, stones: Stones) -> int:
        """As ``margin``."""
        if stones.passed:
            margins = self.action_margins_of(stones).values()
            return max(margins) if stones.black_to_move else min(margins)
        place, swapped = solver_tables.colouring(self.board, self.sets, stones.black, stones.white)
        return int(self.values[place]) if stones.black_to_move else -int(self.values[swapped])

    def action_margins_of(self, stones: Stones) -> dict[int, int]:
        """As ``action_margins``, by action number."""
        legal, margin = rules_of(self.board, stones)
        return {
            action: margin
            if stones.passed and action == self.board.size
            else self.margin_of(stones.after(action, self.board.size))
            for action in legal
        }

    def read(self, state: State) -> tuple[Stones, int, str]:
        """The stones, komi and phase ("komi", "colour" or "play") of a state. Raises: ValueError, as best_actions."""
        if not self._fits(state.game):
            raise ValueError(f"this table answers for single states of stigmergy-v0 with side={self.side}")
        if bool(state.terminated) or bool(state.truncated):
            raise ValueError("the game is over: there is no action to choose")
        return self.stones_of(state.game), int(state.game.komi), ("komi", "colour", "play")[int(state.game.phase)]

    def stones_of(self, position: Position) -> Stones:
        """The stones of a position of ``rules`` with the table's side, not batched."""
        on_cells = np.asarray(position.stones)[self.board.grid]
        black, white = (sum(1 << int(cell) for cell in np.flatnonzero(on_cells == colour)) for colour in (BLACK, WHITE))
        return Stones(black, white, bool(position.black_to_move), passed=int(position.passes) > 0)

    def _fits(self, game: object) -> bool:
        return isinstance(game, Position) and np.shape(game.stones) == (self.board.width**2,)

    def _action_name(self, action: int) -> str:
        return PASS if action == self.board.size else self.board.labels[action]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as npz (30 MB on side 3), whole or not at all. Raises: OSError."""
        files.write_bytes(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """What ``save`` writes."""
        content = io.BytesIO()
        np.savez_compressed(
            content,
            format=np.array(_FORMAT),
            version=np.int64(_VERSION),
            side=np.int64(self.side),
            checksum=np.int64(zlib.crc32(self.values.tobytes())),
            values=self.values,
        )
        return content.getvalue()


def rules_of(board: HexBoard, stones: Stones) -> tuple[list[int], int]:
    """The legal actions (cells in order, then the number of cells for a pass) and Black's score minus White's."""
    of_black, of_white = controlled(board, stones.black, stones.white)
    empty = ((1 << board.size) - 1) & ~(stones.black | stones.white)
    if stones.black_to_move:
        cells = empty & ~of_white | stones.white & of_black
    else:
        cells = empty & ~of_black | stones.black & of_white
    legal = [cell for cell in range(board.size) if cells >> cell & 1]
    if not empty & ~(of_black | of_white):
        legal.append(board.size)
    return legal, (stones.black | empty & of_black).bit_count() - (stones.white | empty & of_white).bit_count()


def controlled(board: HexBoard, black: int, white: int) -> tuple[int, int]:
    """The cells that Black and White control, all as bit masks, occupied ones too."""
    of_black = of_white = 0
    for cell, (rays, need) in enumerate(_sight(board.side)):
        seen_black = seen_white = 0
        for ray in rays:
            for seen in ray:
                if (black | white) >> seen & 1:
                    seen_black += black >> seen & 1
                    seen_white += white >> seen & 1
                    break
        of_black |= (seen_black >= need) << cell
        of_white |= (seen_white >= need) << cell
    return of_black, of_white


@functools.cache
def _sight(side: int) -> list[tuple[list[list[int]], int]]:
    """For each cell its rays, nearest first, and how many stones of one colour seen there give control."""
    board = hexboard(side)
    rays = [[[seen for seen in ray if seen >= 0] for ray in cell] for cell in board.rays.tolist()]
    return list(zip(rays, solver_tables.needed(board).tolist(), strict=True))


def solve(
    side: int, cache: str | os.PathLike[str] | None = None, progress: Callable[[int, int], None] | None = None
) -> ExactTable:
    """The values of all positions of a board: at once on side 2, some 10 seconds and 300 MB on side 3.

    Args: cache: a folder, where the table is looked for first, and put after solving; progress: called now and then
    with (positions solved, positions).
    Raises: ValueError: another side, or a damaged table in the cache; OSError: the cache cannot be used.
    """
    check_side(side)
    if cache is not None:
        path = cache_file(side, cache)
        if path.exists():
            return load(path)
    sets, values = solver_tables.solve_tables(side, progress)
    table = ExactTable(side, values, sets)
    if cache is not None:
        table.save(path)
    return table


def check_side(side: object) -> None:
    """Raises: ValueError: a side that cannot be solved, with the reason."""
    number = whole_number(side)
    if number not in SIDES:
        reason = ""
        if number is not None and number > SIDES[-1]:
            cells = 3 * number * (number - 1) + 1
            digits = math.floor((cells * math.log(3) - math.log(12)) / math.log(10))
            reason = f": {cells} cells have about 10^{digits} positions, far too many to solve"
        raise ValueError(f"side={quoted(side)} cannot be solved{reason}; use 2 or 3")


def cache_file(side: int, cache: str | os.PathLike[str]) -> Path:
    """Where ``solve`` keeps the table of a side in a cache folder."""
    return Path(cache).expanduser() / f"stigmergy-side{side}-exact{_VERSION}.npz"


def load(path: str | os.PathLike[str]) -> ExactTable:
    """A table written by ``save``. Raises: ValueError: damaged, or something else; OSError: not readable."""
    content = Path(path).read_bytes()
    try:
        return _from_npz(content)
    except Exception as error:  # a damaged archive can raise nearly anything in zipfile, zlib and NumPy
        raise ValueError(
            f"{os.fspath(path)} is not a table of the Stigmergy solver, or is damaged: delete it and solve anew"
        ) from error


def _from_npz(content: bytes) -> ExactTable:
    with np.load(io.BytesIO(content), allow_pickle=False) as fields:
        if str(fields["format"]) != _FORMAT or int(fields["version"]) != _VERSION:
            raise ValueError("another format or version")
        side, values, checksum = int(fields["side"]), fields["values"], int(fields["checksum"])
    check_side(side)
    sets = solver_tables.group_sets(hexboard(side))
    if values.dtype != np.int8 or values.shape != (int(sets.starts[-1]),) or zlib.crc32(values.tobytes()) != checksum:
        raise ValueError("not the values of this side")
    return ExactTable(side, values, sets)
