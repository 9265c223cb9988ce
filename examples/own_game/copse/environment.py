"""Copse: two players plant trees in turn; whoever has more in the end wins.

A tree needs an empty cell with no neighbour of the other's. Who can plant nowhere passes, and nobody else may; when
neither can plant the game is over, a draw if both have as many.
"""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, Environment, Option, Outcome, Pytree, State, whole_number
from audamir_envs.hexboard import hexboard
from audamir_envs.texts import clean, quoted, require_fields

SYMBOLS = ".xo"  # empty, a tree of seat 0, of seat 1


class Position(Pytree):
    """A game in progress."""

    trees: Array  # int8 [cells]: 0 empty, 1 seat 0's, 2 seat 1's
    mover: Array  # int32 []


class Copse(Environment):
    """Actions: a cell, or the number of cells to pass. Observations: see ``observe_game``."""

    id = "copse-v0"
    version = "0"
    OPTIONS: ClassVar = {"side": Option(4, "cells along a side of the board", low=2, high=6)}

    def _setup(self) -> None:
        self.board = hexboard(self.options["side"])
        self.num_players = 2
        self.num_actions = self.board.size + 1
        self.observation_shape = (self.board.width, self.board.width, 5)
        self.observation_dtype = np.bool_
        self.observation_high = 1.0
        self.max_steps = 2 * self.board.size  # no two passes in a row

    @classmethod
    def options_for_shapes(cls, observation_shape, num_actions, num_players):
        """The side is the one option that changes shapes."""
        return {"side": (observation_shape[0] + 1) // 2}

    # The rules: pure functions of a position.

    def init_game(self, key: Array) -> Position:
        """The empty board."""
        return Position(trees=jnp.zeros(self.board.size, jnp.int8), mover=jnp.int32(0))

    def free(self, game: Position, seat: Array) -> Array:
        """bool [cells]: where a seat (int32 []) may plant."""
        theirs = game.trees == (2 - seat).astype(jnp.int8)
        beside = jnp.append(theirs, False)[self.board.neighbours]  # the number -1, off the board, means the last
        return (game.trees == 0) & ~beside.any(axis=1)

    def legal_actions(self, game: Position) -> Array:
        """bool [cells + 1]."""
        free = self.free(game, game.mover)
        return jnp.append(free, ~free.any())

    def step_game(self, game: Position, action: Array, key: Array | None) -> Position:
        """The position after a legal action; there is no chance, so no key."""
        planted = jnp.arange(self.board.size, dtype=jnp.int32) == action
        trees = jnp.where(planted, (game.mover + 1).astype(jnp.int8), game.trees)
        return Position(trees=trees, mover=1 - game.mover)

    def mover(self, game: Position) -> Array:
        """int32 []."""
        return game.mover

    def lead(self, game: Position) -> Array:
        """int32 []: the trees of seat 0 less those of seat 1."""
        return jnp.sum(game.trees == 1, dtype=jnp.int32) - jnp.sum(game.trees == 2, dtype=jnp.int32)

    def outcome(self, game: Position) -> Outcome:
        """Over when neither can plant."""
        can = self.free(game, jnp.int32(0)).any() | self.free(game, jnp.int32(1)).any()
        result = jnp.sign(self.lead(game)).astype(jnp.float32)
        return Outcome(terminated=~can, truncated=jnp.bool_(False), rewards=jnp.stack([result, -result]))

    def observe_game(self, game: Position, player: Array) -> Array:
        """bool [width, width, 5]: on the board, mine, theirs, where I may plant, where they may."""
        planes = [
            jnp.ones(self.board.size, jnp.bool_),
            game.trees == (player + 1).astype(jnp.int8),
            game.trees == (2 - player).astype(jnp.int8),
            self.free(game, player),
            self.free(game, 1 - player),
        ]
        width = self.board.width
        grid = jnp.zeros((width * width, 5), jnp.bool_)
        return grid.at[self.board.grid].set(jnp.stack(planes, axis=1)).reshape(width, width, 5)

    # Texts.

    def action_to_text(self, action: int) -> str:
        """``e5`` or ``pass``."""
        number = whole_number(action)
        if number is None or not 0 <= number < self.num_actions:
            raise ValueError(f"{quoted(action)} is no action: use an integer from 0 to {self.num_actions - 1}")
        return self.board.labels[number] if number < self.board.size else "pass"

    def text_to_action(self, text: str) -> int:
        """The inverse."""
        cleaned = clean(text, "an action")
        return self.board.size if cleaned == "pass" else self.board.cell(cleaned)

    def to_text(self, state: State) -> str:
        """The rows from top to bottom joined by ``/``, then the side to move: ``../.x./.. o``."""
        game: Position = state.game
        rows = self.board.write_rows([SYMBOLS[tree] for tree in np.asarray(game.trees)])
        return f"{rows} {SYMBOLS[1 + int(game.mover)]}"

    def from_text(self, text: str) -> State:
        """The inverse."""
        rows, mover = require_fields(clean(text, "a position"), ("rows", "x or o to move"), text)
        if mover not in ("x", "o"):
            raise ValueError(f"field 2 (to move) is {quoted(mover)}: use x or o")
        trees = jnp.asarray(self.board.read_rows(rows, SYMBOLS), jnp.int8)
        return self._state_read(Position(trees=trees, mover=jnp.int32(mover == "o")))

    # Pictures.

    def scene(self, state: State, last_action: int | None = None, selected: int | None = None):
        """See ``drawing``."""
        from copse import drawing

        return drawing.scene(self, state, last_action)

    def places(self, state: State):
        """See ``drawing``."""
        from copse import drawing

        return drawing.places(self, state)

    def board_text(self, state: State, last_action: int | None = None) -> str:
        """The rows with their letters, then the score."""
        marks = [SYMBOLS[tree] for tree in np.asarray(state.game.trees)]
        return "\n".join([*self.board.draw_rows(marks, last_action), f"x leads by {int(self.lead(state.game))}"])


ENVIRONMENT = Copse
