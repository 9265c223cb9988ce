"""The learned levels on hexagonal boards: ``zero`` (network and search) and ``zero-policy`` (network alone)."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs import registry
from audamir_envs.agents.base import BatchAgent
from audamir_envs.core import Array, Environment, State
from audamir_envs.hexboard import hexboard
from audamir_envs.learned.networks import HexNetwork, bind
from audamir_envs.learned.search import SearchConfig, mask_logits, search


def rules_of(env_id: str, states: State) -> Environment:
    """An environment whose shapes are those of (batched) states, so that its functions on positions apply to them."""
    actions, width = states.legal_action_mask.shape[-1], states.observation.shape[-2]
    return _rules(env_id, actions, width)


@functools.cache
def _rules(env_id: str, actions: int, width: int) -> Environment:
    options: dict[str, Any] = {}
    if "side" in registry.environment_class(env_id).OPTIONS:
        side = (width + 1) // 2
        options["side"] = side
        choices = actions - hexboard(side).size - 1
        if choices:  # the pie: its komi choices 0, 2, ... and two colours
            options |= {"komi": "choose", "max_komi": 2 * (choices - 3)}
    return registry.make(env_id, **options)


class _Learned(BatchAgent):
    """What both levels share: a network with parameters, playing under any options of its game."""

    def __init__(self, env_id: str, network: HexNetwork, parameters: Any) -> None:
        self.env_id, self.network, self.parameters = env_id, network, parameters

    def _check(self, states: State) -> None:
        shape, planes = states.observation.shape, self.network.config.planes
        if len(shape) != 4 or shape[-1] != planes:
            raise ValueError(
                f"agent {self.name!r} plays {self.env_id}: act takes one state, act_batch a batch of them with "
                f"observations [batch, width, width, {planes}], not {list(shape)}"
            )

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key. Raises: ValueError for states of another game or shape."""
        return self.act_batch(jax.tree.map(lambda leaf: leaf[None], state), key)[0]


class Zero(_Learned):
    """Gumbel AlphaZero's search over the network."""

    name = "zero"

    def __init__(
        self, env_id: str, network: HexNetwork, parameters: Any, config: SearchConfig, noise: float = 0.0
    ) -> None:
        """Args: noise: 0 plays the best move found, 1 draws from the improved policy."""
        super().__init__(env_id, network, parameters)
        self.config, self.noise = config, noise
        # The trees of few positions stay in a CPU's cache: 7,300 simulations a second on one core by 16, 4,500 by 200.
        self.block = 16 if jax.default_backend() == "cpu" else None

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key. Raises: ValueError, as ``act``."""
        self._check(states)
        env = rules_of(self.env_id, states)
        legal = states.legal_action_mask
        keys = jax.random.split(key, legal.shape[0])
        evaluate = bind(self.network, self.parameters, legal.shape[-1])
        return search(env, evaluate, states.game, legal, keys, self.config, self.noise).action


class ZeroPolicy(_Learned):
    """The network's policy alone, one evaluation a move."""

    name = "zero-policy"

    def __init__(self, env_id: str, network: HexNetwork, parameters: Any, temperature: float = 0.0) -> None:
        """Args: temperature: 0 plays the likeliest action, 1 draws from the policy."""
        super().__init__(env_id, network, parameters)
        self.temperature = temperature

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key. Raises: ValueError, as ``act``."""
        self._check(states)
        legal = states.legal_action_mask
        said = bind(self.network, self.parameters, legal.shape[-1])(states.observation)
        logits = mask_logits(said.logits, legal)
        if self.temperature:
            logits = logits + self.temperature * jax.random.gumbel(key, logits.shape, jnp.float32)
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)
