"""Colony as an environment: two players copy and jump over a hexagonal board, turning the pieces they land beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.colony import notation, observation, rules
from audamir_envs.core import Array, Environment, Option, Outcome, State

XP_FACTORS = {"weak": 0.5, "normal": 1.0, "strong": 2.0}
"""What a win is worth against each scripted level, times half a point a move."""


class Colony(Environment):
    """See docs/colony.md for rules, options, observation planes and actions."""

    id = "colony-v0"
    version = "0"
    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "board": Option("58", "58 has three blocked cells, 61 none", ("58", "61")),
        "start": Option("three", "pieces that each side starts with", ("three", "one")),
        "claim_empty": Option(
            False, "a player who alone can move gets the empty cells and the game ends", (False, True)
        ),
        "holes_toward": Option(
            "first", "whose corners the blocked cells of 58 lie towards; no effect on 61", ("first", "second")
        ),
        "starter": Option(0, "the seat that moves first", (0, 1, "random")),
        "max_turns": Option(
            400, "turns, passes included, after which the game ends", low=1, high=rules.MAX_TURNS_LIMIT
        ),
    }

    def _setup(self) -> None:
        self.num_players = 2
        self.num_actions = rules.NUM_ACTIONS
        self.observation_shape = observation.SHAPE
        self.observation_dtype = np.bool_
        self.observation_high = 1.0
        self.max_steps = self.options["max_turns"]
        self._first, self._second = rules.STARTS[self.options["start"]]
        holes = rules.HOLES[self.options["holes_toward"]]
        self._blocked = holes if self.options["board"] == "58" else np.zeros_like(holes)

    def init_game(self, key: Array) -> rules.Position:
        """The start position. Consumes key, for a random starter."""
        starter = self.options["starter"]
        seat = jax.random.bits(key, (), jnp.uint32) & jnp.uint32(1) if starter == "random" else jnp.int32(starter)
        return rules.from_boards(
            self._first,
            self._second,
            self._blocked,
            mover=seat.astype(jnp.int32),
            first_seat=seat.astype(jnp.int32),
            max_turns=self.options["max_turns"],
            claim_empty=self.options["claim_empty"],
        )

    def step_game(self, game: rules.Position, action: Array, key: Array | None) -> rules.Position:
        """The position after a legal action."""
        del key
        return rules.play(game, action)

    def legal_actions(self, game: rules.Position) -> Array:
        """bool [794]."""
        return rules.legal_actions(game)

    def mover(self, game: rules.Position) -> Array:
        """int32 []: the seat to move."""
        return game.mover

    def outcome(self, game: rules.Position) -> Outcome:
        """Ended by the rules, the cap on turns being one of them; +1, -1 or 0 by the number of cells."""
        result = jnp.sign(rules.lead(game)).astype(jnp.float32)
        seats = jnp.arange(2, dtype=jnp.int32)
        return Outcome(
            terminated=rules.ended(game),
            truncated=jnp.zeros((), jnp.bool_),
            rewards=jnp.where(seats == game.mover, result, -result),
        )

    def observe_game(self, game: rules.Position, player: Array) -> Array:
        """bool (9, 9, 14)."""
        return observation.observe(game, player)

    def info(self, state: State, opponents: tuple[str, ...] = ()) -> dict[str, Array]:
        """``xp`` float32 [2]: what each seat earned if its opponent was the level named first; ``pieces`` int32 [2].

        Experience is paid at the end, for a win half a point for each of the player's own moves times 0.5, 1 or 2
        against weak, normal or strong, half of that for a draw. Passes, and moves before a position that was set up
        from text, are not counted; a game ended by an illegal action pays nothing.
        """
        game = state.game
        factor = XP_FACTORS.get(opponents[0], 0.0) if opponents else 0.0
        outcome = self.outcome(game)
        seats = jnp.arange(2, dtype=jnp.int32)
        moving = seats == game.mover
        moves = jnp.where(moving, game.own_moves, game.enemy_moves).astype(jnp.float32)
        share = (outcome.rewards + jnp.float32(1)) / jnp.float32(2)
        paid = outcome.terminated & ~state.illegal
        return {
            "xp": jnp.where(paid, moves * share * jnp.float32(0.5 * factor), jnp.float32(0)),
            "pieces": jnp.where(moving, game.own.count(), game.enemy.count()),
        }

    def action_to_text(self, action: int) -> str:
        """``e5``, ``c3-e5`` or ``pass``."""
        return notation.action_to_text(action)

    def text_to_action(self, text: str) -> int:
        """The inverse."""
        return notation.text_to_action(text)

    def to_text(self, state: State) -> str:
        """Rows, side to move, turns played, seat of x."""
        return notation.to_text(state.game)

    def from_text(self, text: str) -> State:
        """The inverse; blocked cells, turns and starter are the text's, the other options this environment's."""
        options = self.options
        game = notation.from_text(text, claim_empty=options["claim_empty"], max_turns=options["max_turns"])
        return self._state_read(game, game.turn)

    def scene(self, state: State, last_action: int | None = None, selected: int | None = None):
        """A ``drawing.Scene``; see ``colony.drawing``."""
        from audamir_envs.colony import drawing

        return drawing.scene(state, last_action, selected)

    def places(self, state: State):
        """See ``drawing``."""
        from audamir_envs.colony import drawing

        return drawing.places(state)

    def board_text(self, state: State, last_action: int | None = None) -> str:
        """Several lines; see ``colony.drawing``."""
        from audamir_envs.colony import drawing

        return drawing.board_text(state, last_action)


ENVIRONMENT = Colony
