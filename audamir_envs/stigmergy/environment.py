"""Stigmergy as an environment: its options, and the functions of its rules that ``core.Environment`` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp

from audamir_envs.core import Array, Environment, Option, Outcome, State
from audamir_envs.drawing.scene import Scene
from audamir_envs.stigmergy import drawing, notation, observation, rules

_LARGEST_KOMI = rules.tables(rules.MAX_SIDE).max_komi


class Stigmergy(Environment):
    """Control by sight on a hexagonal board. Actions: cells, pass; with the pie then komi 0, 2, ..., black, white."""

    id = "stigmergy-v0"
    version = "0"
    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "side": Option(5, "cells along a side of the board", low=rules.MIN_SIDE, high=rules.MAX_SIDE),
        "komi": Option(
            0,
            "White's bonus, within ± the number of cells; 'choose' is the pie",
            ("choose",),
            low=-_LARGEST_KOMI,
            high=_LARGEST_KOMI,
            step=2,
        ),
        "max_komi": Option(
            None,
            "the largest komi of the pie; None for the largest not above the number of cells",
            (None,),
            low=0,
            high=_LARGEST_KOMI,
            step=2,
        ),
    }

    def _setup(self) -> None:
        self.side: int = self.options["side"]
        t = rules.tables(self.side)
        self.pie = self.options["komi"] == "choose"
        self.komi: int | None = None if self.pie else self.options["komi"]
        largest: int | None = self.options["max_komi"]
        for name, komi, least in (("komi", self.komi, -t.max_komi), ("max_komi", largest, 0)):
            if komi is not None and not least <= komi <= t.max_komi:
                raise ValueError(
                    f"option {name}={komi} is not valid on side {self.side}: use an even integer from {least} to "
                    f"{t.max_komi}"
                )
        self.max_komi: int = t.max_komi if largest is None else largest
        self.komi_choices = self.max_komi // 2 + 1 if self.pie else 0
        self.num_players = 2
        self.num_actions = t.board.size + 1 + (self.komi_choices + 2 if self.pie else 0)
        self.observation_shape = (t.board.width, t.board.width, observation.PLANES)
        self.observation_dtype = jnp.uint8
        self.observation_high = float(observation.HIGH)
        self.max_steps = t.max_plies + (2 if self.pie else 0)

    @classmethod
    def options_for_shapes(
        cls, observation_shape: tuple[int, ...], num_actions: int, num_players: int
    ) -> dict[str, Any]:
        """The side, and with more actions than cells and pass the pie: its komi choices 0, 2, ... and two colours."""
        del num_players
        side = (observation_shape[0] + 1) // 2
        choices = num_actions - rules.tables(side).board.size - 1
        return {"side": side} | ({"komi": "choose", "max_komi": 2 * (choices - 3)} if choices else {})

    def init_game(self, key: Array) -> rules.Position:
        """The empty board, or the start of the pie. There is no chance: key is not used."""
        del key
        return rules.new_position(self.side, self.komi)

    def step_game(self, game: rules.Position, action: Array, key: Array | None) -> rules.Position:
        """The position after a legal action; key is not used."""
        del key
        return rules.step(game, action, self.komi_choices)

    def legal_actions(self, game: rules.Position) -> Array:
        """bool [actions]."""
        return rules.legal_actions(game, self.komi_choices)

    def mover(self, game: rules.Position) -> Array:
        """int32 []."""
        return rules.mover(game)

    def outcome(self, game: rules.Position) -> Outcome:
        """The end after two passes in a row; +1 and -1."""
        return rules.outcome(game)

    def observe_game(self, game: rules.Position, player: Array) -> Array:
        """uint8 [width, width, 16], see ``observation``."""
        return observation.observe(game, player, self.max_komi)

    def info(self, state: State, opponents: tuple[str, ...] = ()) -> dict[str, Array]:
        """``points``, int32 [2]: what each seat has now, White's komi included; all 0 before colours are chosen."""
        del opponents
        game: rules.Position = state.game
        black, white = rules.scores(game)
        white = white + game.komi.astype(jnp.int32)
        points = jnp.where(jnp.arange(2, dtype=jnp.uint8) == game.black_seat, black, white)
        return {"points": jnp.where(game.phase == rules.PLAY, points, jnp.int32(0))}

    def action_to_text(self, action: int) -> str:
        """``e5``, ``pass``, ``komi=4``, ``black``, ``white``."""
        return notation.action_to_text(self.side, self.komi_choices, action)

    def text_to_action(self, text: str) -> int:
        """The inverse."""
        return notation.text_to_action(self.side, self.komi_choices, text)

    def to_text(self, state: State) -> str:
        """Rows, colour to move, komi, passes in a row, seat of Black; see ``notation``."""
        return notation.position_to_text(state.game)

    def from_text(self, text: str) -> State:
        """The inverse. The text's komi overrides the option; its board must be of the environment's side."""
        return self._state_read(notation.text_to_position(self.side, self.pie, text))

    def scene(self, state: State, last_action: int | None = None, selected: int | None = None) -> Scene:
        """Stones, controlled cells tinted, score and komi."""
        del selected  # an action is one cell: there are no targets to mark
        return drawing.scene(state, last_action)

    def places(self, state: State) -> Any:
        """See ``drawing``."""
        return drawing.places(state)

    def board_text(self, state: State, last_action: int | None = None) -> str:
        """The same for a terminal."""
        return drawing.board_text(state, last_action)


ENVIRONMENT = Stigmergy
