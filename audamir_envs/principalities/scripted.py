"""The scripted levels, in pure JAX.

All of them accept to end on points: the game asks only after four rounds without an attack, and then the learner in a
single-player environment decides, as in the original.

- Weak attacks at random what has at most one die more, and ends its turn one time in five.
- Normal plays in the manner of Dice Wars' default player: it attacks at random what is not stronger; where both have as
  many dice only nine times in ten, unless one of the two leads in dice; and once somebody holds more than 40 % of all
  dice, it fights only with that one, or with everybody if that is itself.
- Strong looks one attack ahead: it weighs how it would stand (see ``standing``) if the attack were won, and if it were
  lost, by the exact odds. It takes the best attack, and ends its turn when none is worth it.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from audamir_envs.agents.base import BatchAgent, Evaluation
from audamir_envs.core import Array, State
from audamir_envs.principalities import dice as dicing
from audamir_envs.principalities import rules
from audamir_envs.principalities.rules import Position
from audamir_envs.principalities.standing import attack_values
from audamir_envs.sampling import sample_legal


def _action(position: Position, wanted: Array, attack: Array) -> Array:
    """int32 []: the attack where one is wanted, else the end of the turn; in a vote, acceptance."""
    end = jnp.int32(position.owner.shape[0] ** 2)
    return jnp.where(rules.voting(position), end + jnp.int32(1), jnp.where(wanted, attack, end))


class Weak(BatchAgent):
    """Attacks at random what has at most one die more, and ends its turn one time in five."""

    name = "weak"

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key."""
        position: Position = state.game
        attack_key, stop_key = jax.random.split(key)
        tries = rules.attacks(position) & (position.dice[:, None] + jnp.int8(1) >= position.dice[None])
        goes_on = jax.random.randint(stop_key, (), 0, 5, jnp.int32) > jnp.int32(0)
        return _action(position, jnp.any(tries) & goes_on, sample_legal(attack_key, tries.reshape(-1)))


_LONG = 100  # rounds, after which the levels see to it that a game ends


class Normal(BatchAgent):
    """Attacks at random what is not stronger, with the reservations of Dice Wars' default player."""

    name = "normal"

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key."""
        position: Position = state.game
        attack_key, coin_key = jax.random.split(key)
        dice, owner, me = position.dice, position.owner.astype(jnp.int32), position.player
        held = jnp.sum(jnp.where(rules.owned(position), dice, jnp.int8(0)), axis=1, dtype=jnp.int32)
        leader = jnp.argmax(held).astype(jnp.int32)
        outgrown = jnp.int32(5) * held[leader] > jnp.int32(2) * jnp.sum(held)
        # With all tiles full and reserves at hand a lost fight of equals costs no land, so whoever is behind catches up
        # and walls stand for ever. Late on it is each for itself, and such fights are the leader's alone.
        late = position.round.astype(jnp.int32) > _LONG
        outgrown &= ~late
        leads = (owner == leader) | (me == leader)  # [T]: an attack on the tile is the leader's, or on the leader
        fights = rules.attacks(position) & (leads | ~outgrown)[None]
        # One coin a target at each decision.
        coin = jax.random.bits(coin_key, dice.shape, jnp.uint8) >= jnp.uint8(26)
        equal = (dice[:, None] == dice[None]) & ((leads | coin) & ~(late & (me != leader)))[None]
        tries = fights & ((dice[:, None] > dice[None]) | equal)
        return _action(position, jnp.any(tries), sample_legal(attack_key, tries.reshape(-1)))


# The part of its chance to win that an attack may cost: at first, more for each round that passes without one, and more
# for each round of a long game. Otherwise walls would face each other for ever.
_DARING, _IMPATIENCE, _HASTE = 0.01, 0.03, 0.002
_CANDIDATES = 12  # attacks weighed: those with the best odds


class Strong(BatchAgent):
    """Takes the attack after which it expects to stand best, and stops when none is worth it."""

    name = "strong"

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key (it breaks ties)."""
        position: Position = state.game
        attacks, values, stop = _weighed(position, key)
        best = jnp.argmax(values)
        quiet_rounds = position.quiet_turns // jnp.sum(rules.alive(position), dtype=jnp.int32)
        late = jnp.maximum(position.round.astype(jnp.float32) - jnp.float32(_LONG), jnp.float32(0))
        price = jnp.float32(_DARING) + jnp.float32(_IMPATIENCE) * quiet_rounds.astype(jnp.float32)
        price += jnp.float32(_HASTE) * late
        return _action(position, values[best] > stop * (jnp.float32(1) - price), attacks[best])

    def evaluate_batch(self, states: State) -> Evaluation:
        """How often it plays each action, and each seat's chance to win as the level sees it, the others' alike."""
        keys = jax.random.split(jax.random.key(0), states.current_player.shape[0])
        _, values, stop = jax.vmap(_weighed)(states.game, keys)
        chance = jnp.maximum(stop, jnp.max(values, axis=1))[:, None]
        alive = jax.vmap(rules.alive)(states.game)
        players = alive.shape[1]
        mover = jnp.arange(players, dtype=jnp.int32)[None] == states.current_player[:, None]
        others = (alive & ~mover).astype(jnp.float32)
        shares = others / jnp.maximum(jnp.sum(others, axis=1, keepdims=True), 1)
        shares = jnp.where(mover, chance, (1 - chance) * shares)
        return Evaluation(policy=self._drawn_policy(states), value=(players * shares - 1) / (players - 1))


def _weighed(position: Position, key: Array) -> tuple[Array, Array, Array]:
    """(actions of attacks, int32 [K]; chances to win behind each, -1 where it is illegal, float32 [K]; without any).

    Consumes key (it breaks ties).
    """
    tiles = position.owner.shape[0]
    dice = position.dice.astype(jnp.int32)
    # Noise far below the differences of the odds, one word a source and one a target, breaks ties.
    noise = jax.random.uniform(key, (2, tiles), jnp.float32, maxval=1e-6)
    odds = jnp.asarray(dicing.odds(), jnp.float32)[dice[:, None], dice[None]] + noise[0][:, None] + noise[1][None]
    likely = jnp.where(rules.attacks(position), odds, jnp.float32(0)).reshape(-1)
    odds, attacks = jax.lax.top_k(likely, min(_CANDIDATES, tiles * tiles))
    attacks = attacks.astype(jnp.int32)
    values, stop = attack_values(position, attacks)
    return attacks, jnp.where(odds > jnp.float32(0), values, jnp.float32(-1)), stop


AGENTS: dict[str, Callable[..., BatchAgent]] = {"weak": Weak, "normal": Normal, "strong": Strong}
