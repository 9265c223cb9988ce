"""The scripted levels of Stigmergy: Weak, Normal and Strong.

Weak looks one move ahead at the score. Normal looks one move ahead at whose cells will be whose (``worth``). Strong
searches several moves ahead with Normal's eyes. In the pie all three know the komi that makes Strong's games even.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import BatchAgent, Evaluation, seat_values
from audamir_envs.batching import with_batch_rule
from audamir_envs.core import Array, State
from audamir_envs.sampling import sample_legal
from audamir_envs.stigmergy import alphabeta, lookahead, rules, worth

FAIR_KOMI: Mapping[int, int] = {2: 6, 3: 4, 4: 4, 5: 8, 6: 2, 7: 2, 8: 2, 9: 2, 10: 2, 11: 2, 12: 2}
"""By side the komi that leaves Strong's games against itself nearest to even.

Exact on sides 2 and 3, measured on 4 to 6 after two random plies (docs/stigmergy.md), taken over from 6 on larger ones.
"""


class Settings(NamedTuple):
    """How a level plays."""

    table: worth.Worth
    widths: tuple[int, ...]  # of the search, a level each
    noise: int  # values below this, at random, are added to each move's value
    slips: int  # moves of 1000 that are any legal move


class ScriptedAgent(BatchAgent):
    """A level. Its choice depends on the position and the key alone, not on the rest of a batch."""

    settings: Settings

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key."""
        return _act(self.settings, state.game, state.legal_action_mask, key)

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]: a legal action each. Consumes key."""
        keys = jax.random.split(key, states.current_player.shape[0])
        return _choose(self.settings, states.game, states.legal_action_mask, keys)

    def evaluate_batch(self, states: State) -> Evaluation:
        """How often it plays each action in draws of its noise, and the lead with komi that it expects, as values.

        The value is 1 for a win within reach, else tanh(lead / 5); nan in the pie.
        """
        values = _values(self.settings, states.game)
        known = (values > lookahead.ILLEGAL // 2) & (states.game.phase == rules.PLAY)[:, None]
        nan = jnp.float32(jnp.nan)
        lead = values.astype(jnp.float32) / worth.POINT
        won = jnp.where(jnp.abs(values) >= lookahead.WIN // 2, jnp.sign(lead), jnp.tanh(lead / 5))
        best = jnp.max(jnp.where(known, won, -jnp.inf), axis=1)
        rest = jnp.full((values.shape[0], states.legal_action_mask.shape[1] - values.shape[1]), nan)
        return Evaluation(
            policy=self._drawn_policy(states),
            value=seat_values(jnp.where(jnp.any(known, axis=1), best, nan), states.current_player),
            action_values=None if self.settings.widths else jnp.concatenate([jnp.where(known, won, nan), rest], axis=1),
        )


class Weak(ScriptedAgent):
    """Takes the points at hand, with slips."""

    name = "weak"
    settings = Settings(worth.SCORE, (), noise=worth.POINT, slips=150)


class Normal(ScriptedAgent):
    """Takes what will be worth most, one move ahead."""

    name = "normal"
    settings = Settings(worth.EXPECTED, (), noise=10, slips=0)


class Strong(ScriptedAgent):
    """Searches."""

    name = "strong"
    settings = Settings(worth.EXPECTED, (10, 8, 6, 4), noise=4, slips=0)


AGENTS: dict[str, Callable[..., BatchAgent]] = {"weak": Weak, "normal": Normal, "strong": Strong}


def _act(settings: Settings, game: rules.Position, mask: Array, key: Array) -> Array:
    """int32 []: as ``_choose``, and under vmap too all positions are searched together."""

    def one(game: rules.Position, mask: Array, key: Array) -> Array:
        return _choose(settings, *jax.tree.map(lambda leaf: leaf[None], (game, mask, key)))[0]

    return with_batch_rule(one, functools.partial(_choose, settings))(game, mask, key)


def _values(settings: Settings, games: rules.Position) -> Array:
    """int32 [batch, cells + 1]: what each move is worth to the mover with komi, ``lookahead.ILLEGAL`` if it is none.

    With a search that of the best ones alone; of others it is a bound, or they are not looked at.
    """
    positions = lookahead.batch_last(games)
    static = lookahead.static_values(positions, settings.table)
    if settings.widths:
        values = alphabeta.search(positions, static, settings.table, settings.widths, settings.noise).T
    else:
        values = lookahead.move_values(positions, static, settings.table).T
    return jnp.concatenate([rules.on_cells(rules.side_of(games), values), values[:, -1:]], axis=-1)


def _choose(settings: Settings, games: rules.Position, masks: Array, keys: Array) -> Array:
    """int32 [batch]: a legal action for each position; keys [batch] are consumed."""
    side = rules.side_of(games)
    t = rules.tables(side)
    values = _values(settings, games)
    noise_keys, slip_keys, move_keys = jnp.moveaxis(jax.vmap(lambda key: jax.random.split(key, 3))(keys), 1, 0)
    draw = functools.partial(jax.random.randint, minval=0, dtype=jnp.int32)
    noise = jax.vmap(lambda key: draw(key, (t.board.size + 1,), maxval=settings.noise))(noise_keys)
    actions = jnp.argmax(values + noise, axis=-1).astype(jnp.int32)
    if settings.slips:
        slips = jax.vmap(lambda key: draw(key, (), maxval=1000))(slip_keys) < settings.slips
        actions = jnp.where(slips, jax.vmap(sample_legal)(move_keys, masks), actions)
    komi_choices = masks.shape[-1] - t.board.size - 3
    if komi_choices > 0:
        bids = jax.vmap(lambda key: draw(key, (), maxval=2))(slip_keys)
        actions = jnp.where(games.phase == rules.PLAY, actions, _bid(games, side, komi_choices, bids))
    return actions


def _bid(games: rules.Position, side: int, komi_choices: int, toss: Array) -> Array:
    """int32 [batch]: the pie's actions: the fair komi, or the nearest to it; then the colour that it favours.

    Args: toss: int32 [batch], 0 or 1: the colour where the komi is fair.
    """
    first, fair = rules.tables(side).board.size + 1, FAIR_KOMI[side]
    white = jnp.where(games.komi == fair, toss, (games.komi > fair).astype(jnp.int32))
    komi = first + int(np.clip(fair // 2, 0, komi_choices - 1))
    return jnp.where(games.phase == rules.CHOOSE_KOMI, komi, first + komi_choices + white).astype(jnp.int32)
