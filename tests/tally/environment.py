"""Each turn adds 0, 1 or 2 to the mover's sum, never 2 twice running; ``goal`` or ``rounds`` ends the game."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Environment, Option, Outcome, Pytree
from audamir_envs.drawing.scene import Circle, Scene, Text


class Position(Pytree):
    sums: jax.Array  # int32 [players]
    last: jax.Array  # int32 [players]: everybody's last pick
    turn: jax.Array  # int32 []
    first: jax.Array  # int32 []: the seat that began
    goal: jax.Array  # int32 []
    rounds: jax.Array  # int32 []


class Tally(Environment):
    id = "tally-v0"
    version = "0"
    OPTIONS: ClassVar = {
        "players": Option(2, "how many play", low=2, high=5),
        "goal": Option(9, "the sum that ends the game", low=1, high=99),
        "rounds": Option(6, "rounds that end the game", low=1, high=50),
        "starter": Option(0, "the seat that begins", (0, "random")),
        "loud": Option(False, "nothing", (False, True)),
    }

    def _setup(self):
        self.num_players = self.options["players"]
        self.num_actions = 3
        self.observation_shape = (self.num_players + 1,)
        self.observation_dtype = np.float32
        self.observation_high = 200.0
        self.max_steps = self.options["rounds"] * self.num_players

    def init_game(self, key):
        zeros = jnp.zeros(self.num_players, jnp.int32)
        first = jnp.int32(0)
        if self.options["starter"] == "random":
            first = jax.random.randint(key, (), 0, self.num_players, jnp.int32)
        goal, rounds = jnp.int32(self.options["goal"]), jnp.int32(self.options["rounds"])
        return Position(zeros, zeros, jnp.int32(0), first, goal, rounds)

    def roll(self, key):
        return jnp.int32(0)

    def step_game(self, game, action, key):
        mover = self.mover(game)
        sums = game.sums.at[mover].add(action + self.roll(key))
        return game.replace(sums=sums, last=game.last.at[mover].set(action), turn=game.turn + 1)

    def legal_actions(self, game):
        again = (jnp.arange(3, dtype=jnp.int32) == 2) & (game.last[self.mover(game)] == 2)
        return ~again

    def mover(self, game):
        return (game.first + game.turn) % jnp.int32(self.num_players)

    def outcome(self, game):
        over = (game.sums.max() >= game.goal) | (game.turn >= game.rounds * self.num_players)
        top = game.sums == game.sums.max()
        share = top.astype(jnp.float32) / jnp.sum(top, dtype=jnp.int32).astype(jnp.float32)
        rewards = (share * jnp.float32(self.num_players) - 1) / jnp.float32(self.num_players - 1)
        return Outcome(terminated=over, truncated=jnp.zeros((), jnp.bool_), rewards=rewards)

    def observe_game(self, game, player):
        mine = jnp.roll(game.sums, -player)
        return jnp.concatenate([mine, game.last[player][None]]).astype(jnp.float32)

    def info(self, state, opponents=()):
        return {"score": state.game.sums}

    def action_to_text(self, action):
        return f"+{action}"

    def text_to_action(self, text):
        if not isinstance(text, str):
            raise TypeError(f"a move is text, not {type(text).__name__}")
        if text not in ("+0", "+1", "+2"):
            raise ValueError(f"move {text!r} is not valid: use +0, +1 or +2")
        return int(text)

    def to_text(self, state):
        return " ".join(str(int(n)) for n in state.game.sums)

    def from_text(self, text):
        raise ValueError("tally reads no positions")

    def scene(self, state, last_action=None, selected=None):
        return Scene(50, 50, (Circle(25, 25, 10, "#ff0000"), Text(25, 25, self.to_text(state))))

    def board_text(self, state, last_action=None):
        return "sums " + self.to_text(state)


class Dice(Tally):
    """Tally with a die of two sides added to every pick."""

    id = "dice-v0"
    stochastic = True

    def roll(self, key):
        return jax.random.randint(key, (), 0, 2, jnp.int32)


ENVIRONMENT = Tally
