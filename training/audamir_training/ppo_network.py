"""The networks that PPO learns: a game's own, or that of the hexagonal boards, both with values by relative seat."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp

from audamir_envs.core import Array, Environment
from audamir_training import games


class Said(NamedTuple):
    """What a network says of a batch, each from its mover's point of view."""

    logits: Array  # float32 [batch, actions]: illegal actions not masked
    values: Array  # float32 [batch, players]: expected rewards by relative seat, the mover's first
    seat_logits: Array  # float32 [batch, players]: of whose win it is


class PolicyNetwork:
    """A network with what PPO asks of it; ``config`` is what a level's file says of it."""

    def __init__(self, env: Environment, channels: int, blocks: int) -> None:
        """Raises: ValueError for a game that PPO cannot learn."""
        self.hexagonal = games.is_hexagonal(env.id)
        if self.hexagonal:
            from audamir_envs.learned import networks as module

            games.check_environment(env)
            self.config: Any = games.hex_config(env.id, channels, blocks)
        else:
            module = games.own_network(env.id)
            self.config = module.Config(channels=channels, blocks=blocks)
        self.network: Any = module.make_network(self.config)
        self.init = functools.partial(module.init_parameters, self.network, env.observation_shape, env.num_actions)
        """``init(key)``: fresh parameters."""

    def apply(self, actions: int, parameters: Any, observation: Array) -> Said:
        """What it says of observations [batch, ...]. Args: actions: of the environment."""
        said = self.network.apply({"params": parameters}, observation, actions)
        if not self.hexagonal:
            return Said(said.logits, said.values, said.seat_logits)
        # Of two players: the value's logit is that of the mover's win, so the other's is as good as zero.
        return Said(
            said.logits,
            jnp.stack([said.value, -said.value], axis=-1),
            jnp.stack([said.value_logit, jnp.zeros_like(said.value_logit)], axis=-1),
        )
