"""The learned levels of Principalities: ``zero-policy`` (network alone) and ``zero`` (one decision looked ahead)."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs import registry
from audamir_envs.agents.base import BatchAgent
from audamir_envs.core import Array, Environment, State
from audamir_envs.learned.search import mask_logits
from audamir_envs.learned.tile_network import TileNetwork, TileOutput
from audamir_envs.principalities import dice, rules


class _Learned(BatchAgent):
    """A network with parameters, playing under any options of its game."""

    def __init__(self, network: TileNetwork, parameters: Any) -> None:
        self.network, self.parameters = network, parameters

    def _check(self, states: State) -> None:
        if states.observation.ndim != 3:
            raise ValueError(
                f"agent {self.name!r} plays principalities-v0: act takes one state, act_batch a batch of them with "
                f"observations [batch, tiles, columns], not {list(states.observation.shape)}"
            )

    def predict(self, observation: Array) -> TileOutput:
        """What the network says of observations [batch, ...]."""
        return self.network.apply({"params": self.parameters}, observation)  # type: ignore[return-value]

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key. Raises: ValueError for states of another game or shape."""
        return self.act_batch(jax.tree.map(lambda leaf: leaf[None], state), key)[0]


class TilePolicy(_Learned):
    """The network's policy alone, one evaluation a decision."""

    name = "zero-policy"

    def __init__(self, network: TileNetwork, parameters: Any, temperature: float = 0.0) -> None:
        """Args: temperature: 0 plays the likeliest action, 1 draws from the policy."""
        super().__init__(network, parameters)
        self.temperature = temperature

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key. Raises: ValueError, as ``act``."""
        self._check(states)
        logits = mask_logits(self.predict(states.observation).logits, states.legal_action_mask)
        if self.temperature:
            logits = logits + self.temperature * jax.random.gumbel(key, logits.shape, jnp.float32)
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)


@functools.cache
def _rules(players: int, tiles: int) -> Environment:
    """An environment of these shapes: its functions on positions apply to all others of the same."""
    return registry.make("principalities-v0", players=players, tiles=tiles)


class TileZero(_Learned):
    """Looks one decision ahead: the likeliest actions by policy, each judged by the values of what follows.

    Both outcomes of an attack count by their exact chances; of the end of a turn a few futures are drawn. Each action's
    value, its mean over these, is added to the policy's logits, as in the improved policy of Gumbel MuZero.
    """

    name = "zero"

    def __init__(
        self,
        env_id: str,
        network: TileNetwork,
        parameters: Any,
        considered: int = 8,
        futures: int = 4,
        scale: float = 8.0,
    ) -> None:
        """Args: considered: actions judged; futures: drawn for the end of a turn; scale: logits a unit of value."""
        super().__init__(network, parameters)
        self.env_id, self.considered, self.futures, self.scale = env_id, considered, futures, scale
        # What is judged of few positions stays in a CPU's cache: 2.4 times as fast by 4 as by 64.
        self.block = 4 if jax.default_backend() == "cpu" else None

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key. Raises: ValueError, as ``act``."""
        self._check(states)
        batch, tiles = states.observation.shape[:2]
        players = states.game.reserve.shape[1]
        env = _rules(players, tiles)
        logits = mask_logits(self.predict(states.observation).logits, states.legal_action_mask)
        log_policy = jax.nn.log_softmax(logits)
        attacks = log_policy[:, : tiles * tiles]
        count = min(self.considered, tiles * tiles)
        likely, chosen = jax.lax.top_k(attacks, count)
        chosen = chosen.astype(jnp.int32)
        source, target = chosen // jnp.int32(tiles), chosen % jnp.int32(tiles)

        def fought(game: Any, source: Array, target: Array) -> Any:
            won = jnp.array([True, False])
            return jax.vmap(lambda won: rules.attack(game, source, target, won))(won)

        after = jax.vmap(jax.vmap(fought, in_axes=(None, 0, 0)))(states.game, source, target)  # [batch, count, 2]
        values = self._worth(env, after, states.current_player, 3)
        mine = states.game.dice.astype(jnp.int32)
        odds = jnp.asarray(dice.odds(), jnp.float32)[
            jnp.take_along_axis(mine, source, axis=1), jnp.take_along_axis(mine, target, axis=1)
        ]
        of_attacks = odds * values[..., 0] + (1 - odds) * values[..., 1]

        rest = jnp.arange(tiles * tiles, tiles * tiles + 3, dtype=jnp.int32)
        keys = jax.random.split(key, (batch, self.futures))

        def ended(game: Any, keys: Array) -> Any:
            def one(action: Array) -> Any:
                return jax.vmap(lambda key: rules.step(game, action, key))(keys)

            return jax.vmap(one)(rest)

        of_rest = jnp.mean(self._worth(env, jax.vmap(ended)(states.game, keys), states.current_player, 3), axis=-1)
        value = jnp.concatenate([of_attacks, of_rest], axis=1)
        prior = jnp.concatenate([likely, log_policy[:, tiles * tiles :]], axis=1)
        best = jnp.argmax(prior + jnp.float32(self.scale) * value, axis=1)
        actions = jnp.concatenate([chosen, jnp.broadcast_to(rest, (batch, 3))], axis=1)
        return jnp.take_along_axis(actions, best[:, None], axis=1)[:, 0]

    def _worth(self, env: Environment, games: Any, seat: Array, axes: int) -> Array:
        """float32 [batch, ...]: the value of positions with ``axes`` leading axes for a seat (int32 [batch])."""
        shape = games.player.shape[:axes]
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[axes:]), games)
        seats = jnp.broadcast_to(seat.reshape(-1, *[1] * (axes - 1)), shape).reshape(-1)
        outcome = jax.vmap(env.outcome)(flat)
        mover = jax.vmap(env.mover)(flat)
        values = self.predict(jax.vmap(env.observe_game)(flat, mover)).values
        players = values.shape[-1]
        value = jnp.take_along_axis(values, ((seats - mover) % jnp.int32(players))[:, None], axis=1)[:, 0]
        reward = jnp.take_along_axis(outcome.rewards, seats[:, None], axis=1)[:, 0]
        return jnp.where(outcome.terminated | outcome.truncated, reward, value).reshape(shape)
