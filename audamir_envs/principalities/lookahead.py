"""The learned levels of Principalities: ``zero-policy`` (network alone) and ``zero`` (one decision looked ahead)."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp

from audamir_envs.agents.base import Evaluation
from audamir_envs.core import Array, Environment, State
from audamir_envs.learned.levels import LearnedAgent, PolicySettings, Settings, policy_of, setting
from audamir_envs.learned.search import mask_logits
from audamir_envs.principalities import dice, rules
from audamir_envs.principalities.environment import Principalities
from audamir_envs.principalities.network import TileNetwork, TileOutput


@dataclasses.dataclass(frozen=True)
class LookaheadSettings(Settings):
    """Of the level that looks one decision ahead."""

    considered: int = setting(8, "attacks judged")
    futures: int = setting(4, "drawn for the end of a turn")
    scale: float = setting(8.0, "logits a unit of value")


class _TileAgent(LearnedAgent):
    """What both levels share."""

    network: TileNetwork

    def _check(self, states: State) -> None:
        if states.observation.ndim != 3:
            raise ValueError(
                f"agent {self.name!r} plays {self.env_id}: act takes one state, act_batch a batch of them with "
                f"observations [batch, tiles, columns], not {list(states.observation.shape)}"
            )

    def predict(self, observation: Array) -> TileOutput:
        """What the network says of observations [batch, ...]."""
        return self.network.apply({"params": self.parameters}, observation)  # type: ignore[return-value]


class TilePolicy(_TileAgent):
    """The network's policy alone, one evaluation a decision."""

    name = "zero-policy"
    Settings = PolicySettings

    def __init__(self, env_id: str, network: TileNetwork, parameters: Any, temperature: float = 0.0) -> None:
        """Args: temperature: 0 plays the likeliest action, 1 draws from the policy."""
        super().__init__(env_id, network, parameters)
        self.temperature = temperature

    @classmethod
    def with_settings(cls, env_id: str, network: Any, parameters: Any, settings: PolicySettings) -> Self:
        """The agent that plays by settings."""
        return cls(env_id, network, parameters, settings.temperature)

    def _predict(self, states: State) -> tuple[Array, TileOutput]:
        """(logits over the legal actions, all that the network says)."""
        self._check(states)
        said = self.predict(states.observation)
        return mask_logits(said.logits, states.legal_action_mask), said

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key. Raises: ValueError, as ``act``."""
        logits, _ = self._predict(states)
        if self.temperature:
            logits = logits + self.temperature * jax.random.gumbel(key, logits.shape, jnp.float32)
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)

    def evaluate_batch(self, states: State) -> Evaluation:
        """What the network says. Raises: ValueError, as ``act``."""
        logits, said = self._predict(states)
        return Evaluation(
            policy=jax.nn.softmax(logits),
            value=_by_seat(said.values, states.current_player),
            variation=jnp.argmax(logits, axis=-1).astype(jnp.int32)[:, None],
        )


def _by_seat(values: Array, mover: Array) -> Array:
    """float32 [batch, players]: by seat, what is given by seat relative to the mover (int32 [batch])."""
    players = values.shape[1]
    relative = (jnp.arange(players, dtype=jnp.int32) - mover[:, None]) % jnp.int32(players)
    return jnp.take_along_axis(values, relative, axis=1)


class _Found(NamedTuple):
    """What looking one decision ahead finds; of `considered + 3` actions each position's likeliest are judged."""

    played: Array  # int32 [batch]
    actions: Array  # int32 [batch, considered + 3]: those judged
    values: Array  # float32 [batch, considered + 3]: expected reward of the mover after each; nan for illegal ones
    scores: Array  # float32 [batch, considered + 3]: the best is played
    log_policy: Array  # float32 [batch, actions]: the network's
    said: TileOutput


class TileZero(_TileAgent):
    """Looks one decision ahead: the likeliest actions by policy, each judged by the values of what follows.

    Both outcomes of an attack count by their exact chances; of the end of a turn a few futures are drawn. Each action's
    value, its mean over these, is added to the policy's logits, as in the improved policy of Gumbel MuZero.
    """

    name = "zero"
    Settings = LookaheadSettings

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
        super().__init__(env_id, network, parameters)
        self.considered, self.futures, self.scale = considered, futures, scale
        # What is judged of few positions stays in a CPU's cache: 2.4 times as fast by 4 as by 64.
        self.block = 4 if jax.default_backend() == "cpu" else None

    @classmethod
    def with_settings(cls, env_id: str, network: Any, parameters: Any, settings: LookaheadSettings) -> Self:
        """The agent that plays by settings."""
        return cls(env_id, network, parameters, settings.considered, settings.futures, settings.scale)

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key. Raises: ValueError, as ``act``."""
        return self._look(states, key).played

    def evaluate_batch(self, states: State) -> Evaluation:
        """What is found with the futures of a fixed key. Raises: ValueError, as ``act``."""
        found = self._look(states, jax.random.key(0))
        batch, actions = found.log_policy.shape
        lanes = jnp.arange(batch, dtype=jnp.int32)[:, None]
        values = _by_seat(found.said.values, states.current_player)
        # What was not judged is taken to be worth what the network says of the position.
        usual = found.log_policy + jnp.float32(self.scale) * found.said.values[:, :1]
        scores = usual.at[lanes, found.actions].set(found.scores)
        return Evaluation(
            policy=policy_of(scores, states.legal_action_mask, found.played),
            value=values,
            action_values=jnp.full((batch, actions), jnp.nan).at[lanes, found.actions].set(found.values),
            variation=found.played[:, None],
        )

    def _look(self, states: State, key: Array) -> _Found:
        """Judges the likeliest actions. Consumes key."""
        self._check(states)
        batch, tiles = states.observation.shape[:2]
        env = Principalities.for_shapes(states)
        said = self.predict(states.observation)
        log_policy = jax.nn.log_softmax(mask_logits(said.logits, states.legal_action_mask))
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
        scores = prior + jnp.float32(self.scale) * value
        best = jnp.argmax(scores, axis=1)
        actions = jnp.concatenate([chosen, jnp.broadcast_to(rest, (batch, 3))], axis=1)
        return _Found(
            played=jnp.take_along_axis(actions, best[:, None], axis=1)[:, 0],
            actions=actions,
            values=jnp.where(prior > jnp.float32(-1e8), value, jnp.float32(jnp.nan)),
            scores=scores,
            log_policy=log_policy,
            said=said,
        )

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
