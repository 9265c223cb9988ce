"""Two tiny games on which the frame and the bridges are tested without the rules of the real ones.

Nim: two players, no chance; whoever takes the last stone wins. Duel: three players with lives and dice; a player
without lives is out and skipped, the last one wins, and after ``max_rounds`` turns the game is cut (truncated).
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import BatchAgent
from audamir_envs.core import Array, Environment, Option, Outcome, Pytree, State
from audamir_envs.drawing.scene import Circle, Scene


class NimPosition(Pytree):
    heaps: Array  # int32 [3]
    mover: Array  # int32 []


class Nim(Environment):
    id = "nim-v0"
    version = "0"
    OPTIONS: ClassVar = {
        "size": Option(3, "stones in the largest heap", low=1, high=5),
        "starter": Option(0, "who begins", (0, 1, "random")),
    }

    def _setup(self) -> None:
        self.size: int = self.options["size"]
        self.num_players = 2
        self.num_actions = 3 * self.size
        self.observation_shape = (3, self.size)
        self.observation_dtype = np.bool_
        self.observation_high = 1.0
        self.max_steps = 3 * self.size

    def init_game(self, key: Array) -> NimPosition:
        starter = self.options["starter"]
        mover = jax.random.randint(key, (), 0, 2, jnp.int32) if starter == "random" else jnp.int32(starter)
        return NimPosition(heaps=jnp.maximum(self.size - jnp.arange(3, dtype=jnp.int32), 1), mover=mover)

    def step_game(self, game: NimPosition, action: Array, key: Array | None) -> NimPosition:
        heap, taken = action // self.size, action % self.size + 1
        return NimPosition(heaps=game.heaps.at[heap].add(-taken), mover=1 - game.mover)

    def legal_actions(self, game: NimPosition) -> Array:
        return (game.heaps[:, None] > jnp.arange(self.size, dtype=jnp.int32)).reshape(-1)

    def mover(self, game: NimPosition) -> Array:
        return game.mover

    def outcome(self, game: NimPosition) -> Outcome:
        loses = jnp.arange(2, dtype=jnp.int32) == game.mover
        return Outcome(
            terminated=jnp.sum(game.heaps) == 0,
            truncated=jnp.bool_(False),
            rewards=jnp.where(loses, jnp.float32(-1), jnp.float32(1)),
        )

    def observe_game(self, game: NimPosition, player: Array) -> Array:
        stones = game.heaps[:, None] > jnp.arange(self.size, dtype=jnp.int32)
        return stones & (player == game.mover)  # the one who waits sees nothing, so a wrong seat shows at once

    def info(self, state: State, opponents: tuple[str, ...] = ()) -> dict[str, Array]:
        left = jnp.sum(state.game.heaps)
        return {"left": left, "place": jnp.arange(2, dtype=jnp.int32), "faced": jnp.int32(len(opponents))}

    def action_to_text(self, action: int) -> str:
        if not 0 <= action < self.num_actions:
            raise ValueError(f"{action} is no action")
        return f"{'abc'[action // self.size]}{action % self.size + 1}"

    def text_to_action(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"an action is a string, not {type(text).__name__}")
        if len(text) != 2 or text[0] not in "abc" or text[1] not in "12345"[: self.size]:
            raise ValueError(f"{text!r} is no action: a heap from a to c, then stones from 1 to {self.size}")
        return "abc".index(text[0]) * self.size + int(text[1]) - 1

    def to_text(self, state: State) -> str:
        return " ".join(str(int(n)) for n in [*state.game.heaps, state.game.mover])

    def from_text(self, text: str) -> State:
        if not isinstance(text, str):
            raise TypeError(f"a position is a string, not {type(text).__name__}")
        parts = text.split()
        if len(parts) != 4 or not all(part.isdigit() for part in parts):
            raise ValueError(f"{text!r} is no position: three heaps and the seat to move")
        *heaps, mover = map(int, parts)
        return self.state_of(NimPosition(heaps=jnp.asarray(heaps, jnp.int32), mover=jnp.int32(mover)))

    def scene(self, state: State, last_action: int | None = None, selected: int | None = None) -> Any:
        heaps = np.asarray(state.game.heaps).tolist()
        stones = [Circle(20 + 20 * n, 20 + 20 * row, 8, fill="#446688") for row in range(3) for n in range(heaps[row])]
        return Scene(20.0 * (self.size + 1), 80.0, tuple(stones), title="nim")

    def board_text(self, state: State, last_action: int | None = None) -> str:
        return "\n".join("o" * int(n) or "-" for n in np.asarray(state.game.heaps))


class DuelPosition(Pytree):
    lives: Array  # int32 [3]
    mover: Array  # int32 []
    rounds: Array  # int32 []


class Duel(Environment):
    """Actions: 0 to 2 shoot at that seat (hits on a roll of 4 to 6), 3 waits."""

    id = "duel-v0"
    version = "0"
    OPTIONS: ClassVar = {"max_rounds": Option(40, "turns", low=1, high=100)}
    stochastic = True

    def _setup(self) -> None:
        self.num_players = 3
        self.num_actions = 4
        self.observation_shape = (3, 2)
        self.observation_dtype = np.float32
        self.observation_high = 3.0
        self.max_steps = self.options["max_rounds"]

    def init_game(self, key: Array) -> DuelPosition:
        lives = jax.random.randint(key, (3,), 1, 4, jnp.int32)
        return DuelPosition(lives=lives, mover=jnp.int32(0), rounds=jnp.int32(0))

    def step_game(self, game: DuelPosition, action: Array, key: Array | None) -> DuelPosition:
        assert key is not None
        hit = jax.random.randint(key, (), 1, 7, jnp.int32) >= 4
        lives = game.lives - (jnp.arange(3, dtype=jnp.int32) == action).astype(jnp.int32) * hit.astype(jnp.int32)
        following = (game.mover + 1 + jnp.arange(3, dtype=jnp.int32)) % 3
        mover = following[jnp.argmax(lives[following] > 0)]
        return DuelPosition(lives=lives, mover=mover, rounds=game.rounds + 1)

    def legal_actions(self, game: DuelPosition) -> Array:
        targets = (game.lives > 0) & (jnp.arange(3, dtype=jnp.int32) != game.mover)
        return jnp.append(targets, jnp.bool_(True))

    def mover(self, game: DuelPosition) -> Array:
        return game.mover

    def outcome(self, game: DuelPosition) -> Outcome:
        living = game.lives > 0
        best = game.lives == jnp.max(game.lives)
        share = best.astype(jnp.float32) / jnp.sum(best).astype(jnp.float32)
        terminated = jnp.sum(living) == 1
        return Outcome(
            terminated=terminated,
            truncated=(game.rounds >= self.options["max_rounds"]) & ~terminated,
            rewards=(jnp.float32(3) * share - jnp.float32(1)) / jnp.float32(2),
        )

    def observe_game(self, game: DuelPosition, player: Array) -> Array:
        order = (player + jnp.arange(3, dtype=jnp.int32)) % 3
        return jnp.stack([game.lives[order], (order == game.mover).astype(jnp.int32)], axis=1).astype(jnp.float32)

    def alive(self, state: State) -> Array:
        return state.game.lives > 0

    def info(self, state: State, opponents: tuple[str, ...] = ()) -> dict[str, Array]:
        return {"lives": state.game.lives}

    def action_to_text(self, action: int) -> str:
        if not 0 <= action < 4:
            raise ValueError(f"{action} is no action")
        return "wait" if action == 3 else f"shoot {action}"

    def text_to_action(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"an action is a string, not {type(text).__name__}")
        valid = {"wait": 3, "shoot 0": 0, "shoot 1": 1, "shoot 2": 2}
        if text not in valid:
            raise ValueError(f"{text!r} is no action: use {', '.join(valid)}")
        return valid[text]

    def to_text(self, state: State) -> str:
        game = state.game
        return json.dumps([np.asarray(game.lives).tolist(), int(game.mover), int(game.rounds)])

    def from_text(self, text: str) -> State:
        if not isinstance(text, str):
            raise TypeError(f"a position is a string, not {type(text).__name__}")
        try:
            lives, mover, rounds = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{text!r} is no position: [lives, mover, rounds] in JSON") from error
        return self.state_of(
            DuelPosition(lives=jnp.asarray(lives, jnp.int32), mover=jnp.int32(mover), rounds=jnp.int32(rounds))
        )

    def scene(self, state: State, last_action: int | None = None, selected: int | None = None) -> Any:
        lives = np.asarray(state.game.lives).tolist()
        return Scene(140.0, 40.0, tuple(Circle(20 + 50 * seat, 20, 5 * lives[seat]) for seat in range(3)))

    def board_text(self, state: State, last_action: int | None = None) -> str:
        return "lives " + self.to_text(state)


class Shooter(BatchAgent):
    """Plays Duel: shoots at the next living seat in order."""

    name = "shooter"

    def act(self, state: State, key: Array) -> Array:
        del key
        following = (state.current_player + 1 + jnp.arange(2, dtype=jnp.int32)) % 3
        return following[jnp.argmax(state.legal_action_mask[following])]


class First(BatchAgent):
    """Plays the legal action with the lowest number, in any game."""

    name = "first"

    def act(self, state: State, key: Array) -> Array:
        del key
        return jnp.argmax(state.legal_action_mask).astype(jnp.int32)
