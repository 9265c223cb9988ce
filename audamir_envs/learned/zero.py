"""The learned levels on hexagonal boards: ``zero`` (network and search) and ``zero-policy`` (network alone)."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import jax
import jax.numpy as jnp

from audamir_envs import registry
from audamir_envs.agents.base import Evaluation, seat_values
from audamir_envs.core import Array, Environment, State
from audamir_envs.learned.levels import LearnedAgent, PolicySettings, Settings, policy_of, setting
from audamir_envs.learned.networks import HexNetwork, HexOutput, bind
from audamir_envs.learned.search import SearchConfig, conclude, grow, mask_logits, search, variation

VARIATION = 12  # plies of it at most


@dataclasses.dataclass(frozen=True)
class ZeroSettings(Settings):
    """Of a level that searches."""

    simulations: int = setting(64, "positions searched for a move")
    considered: int = setting(16, "actions drawn at the root")
    noise: float = setting(0.0, "0 plays the best move found, 1 draws from the improved policy")
    value_scale: float = setting(0.1, "the larger, the more values count where they differ from the policy")


class _HexAgent(LearnedAgent):
    """What both levels share."""

    network: HexNetwork

    def _check(self, states: State) -> Environment:
        """The rules for a batch of states. Raises: ValueError for states of another game, and for a single one."""
        shape, planes = states.observation.shape, self.network.config.planes
        if len(shape) != 4 or shape[-1] != planes:
            raise ValueError(
                f"agent {self.name!r} plays {self.env_id}: act takes one state, act_batch a batch of them with "
                f"observations [batch, width, width, {planes}], not {list(shape)}"
            )
        return registry.environment_class(self.env_id).for_shapes(states)


class Zero(_HexAgent):
    """Gumbel AlphaZero's search over the network."""

    name = "zero"
    Settings = ZeroSettings

    def __init__(
        self, env_id: str, network: HexNetwork, parameters: Any, config: SearchConfig, noise: float = 0.0
    ) -> None:
        """Args: noise: 0 plays the best move found, 1 draws from the improved policy."""
        super().__init__(env_id, network, parameters)
        self.config, self.noise = config, noise
        # The trees of few positions stay in a CPU's cache: 7,300 simulations a second on one core by 16, 4,500 by 200.
        self.block = 16 if jax.default_backend() == "cpu" else None

    @classmethod
    def with_settings(cls, env_id: str, network: Any, parameters: Any, settings: ZeroSettings) -> Self:
        """The agent that plays by settings."""
        considered = min(settings.considered, settings.simulations)
        config = SearchConfig(settings.simulations, considered, value_scale=settings.value_scale)
        return cls(env_id, network, parameters, config, settings.noise)

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key. Raises: ValueError, as ``act``."""
        env = self._check(states)
        legal = states.legal_action_mask
        keys = jax.random.split(key, legal.shape[0])
        evaluate = bind(self.network, self.parameters, legal.shape[-1])
        return search(env, evaluate, states.game, legal, keys, self.config, self.noise).action

    def evaluate_batch(self, states: State) -> Evaluation:
        """What the search finds without noise. Raises: ValueError, as ``act``."""
        env = self._check(states)
        legal = states.legal_action_mask
        batch, actions = legal.shape
        keys = jax.random.split(jax.random.key(0), batch)  # of noise that is multiplied by 0
        root, tree = grow(env, bind(self.network, self.parameters, actions), states.game, legal, keys, self.config, 0.0)
        found = conclude(root, tree, self.config)
        lanes = jnp.arange(batch, dtype=jnp.int32)[:, None]

        def on_actions(fill: Array, of_slots: Array) -> Array:
            return fill.at[lanes, found.slot_action].set(of_slots)

        tried = found.slot_visits > 0
        scores = on_actions(root.logits + found.rest_advantage[:, None], found.slot_score)
        ownership, score = _outlook(root.ownership, root.score, states.current_player)
        return Evaluation(
            policy=policy_of(scores, legal, found.action),
            value=seat_values(found.value, states.current_player),
            visits=on_actions(jnp.zeros((batch, actions), jnp.int32), found.slot_visits.astype(jnp.int32)),
            action_values=on_actions(
                jnp.full((batch, actions), jnp.nan), jnp.where(tried, found.slot_value, jnp.float32(jnp.nan))
            ),
            ownership=ownership,
            score=score,
            variation=variation(root, tree, found.action, min(VARIATION, self.config.simulations + 1)),
        )


class ZeroPolicy(_HexAgent):
    """The network's policy alone, one evaluation a move."""

    name = "zero-policy"
    Settings = PolicySettings

    def __init__(self, env_id: str, network: HexNetwork, parameters: Any, temperature: float = 0.0) -> None:
        """Args: temperature: 0 plays the likeliest action, 1 draws from the policy."""
        super().__init__(env_id, network, parameters)
        self.temperature = temperature

    @classmethod
    def with_settings(cls, env_id: str, network: Any, parameters: Any, settings: PolicySettings) -> Self:
        """The agent that plays by settings."""
        return cls(env_id, network, parameters, settings.temperature)

    def _predict(self, states: State) -> tuple[Array, HexOutput]:
        """(logits over the legal actions, all that the network says)."""
        self._check(states)
        legal = states.legal_action_mask
        said = bind(self.network, self.parameters, legal.shape[-1])(states.observation)
        return mask_logits(said.logits, legal), said

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key. Raises: ValueError, as ``act``."""
        logits, _ = self._predict(states)
        if self.temperature:
            logits = logits + self.temperature * jax.random.gumbel(key, logits.shape, jnp.float32)
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)

    def evaluate_batch(self, states: State) -> Evaluation:
        """What the network says. Raises: ValueError, as ``act``."""
        logits, said = self._predict(states)
        ownership, score = _outlook(said.ownership, said.score, states.current_player)
        return Evaluation(
            policy=jax.nn.softmax(logits),
            value=seat_values(said.value, states.current_player),
            ownership=ownership,
            score=score,
            variation=jnp.argmax(logits, axis=-1).astype(jnp.int32)[:, None],
        )


def _outlook(ownership: Array, score: Array, mover: Array) -> tuple[Array, Array]:
    """(float32 [batch, cells, 2], float32 [batch, 2]): ownership and score by seat, from what the network says of them
    for the mover."""
    by_seat = seat_values(jnp.ones_like(score), mover)  # 1 for the mover, -1 for the other
    held = jnp.maximum(ownership[..., None] * by_seat[:, None], 0)
    return held, by_seat * (score * ownership.shape[1])[:, None]
