"""The kinds of networks: that of the games on hexagonal boards, and those that games bring along."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any

from audamir_envs import registry
from audamir_envs.learned import networks
from audamir_envs.learned.levels import LearnedAgent
from audamir_envs.learned.zero import Zero, ZeroPolicy


@dataclasses.dataclass(frozen=True)
class Family:
    """A kind of network, and the agents that play by it."""

    config: Any  # its frozen dataclass of sizes; its field ``architecture`` has the name as its default
    make_network: Callable[[Any], Any]  # by a configuration
    init_parameters: Callable[[Any, tuple[int, ...], int, Any], Any]  # network, observation shape, actions, key
    policy: type[LearnedAgent]  # plays by the network alone
    search: type[LearnedAgent]
    block: str  # how the parameters of each of ``config.blocks`` begin, before its number; empty: not so built

    @property
    def architecture(self) -> str:
        """The name that configurations of this kind bear."""
        return self.config.__dataclass_fields__["architecture"].default


HEX = Family(networks.HexConfig, networks.make_network, networks.init_parameters, ZeroPolicy, Zero, "_Block_")


@functools.lru_cache(maxsize=64)
def family_of(env_id: str) -> Family:
    """The kind of network that fits a game, as its ``learning`` says. Raises: ValueError: it says none."""
    learning = registry.learning(env_id)
    if learning is None:
        raise ValueError(f"{env_id} says nothing about learning it: it has no trained levels")
    if not isinstance(learning.network, str):
        return HEX
    own = importlib.import_module(learning.network)
    return Family(own.Config, own.make_network, own.init_parameters, own.Policy, own.Search, getattr(own, "BLOCK", ""))
