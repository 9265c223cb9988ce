"""The ids under which Gymnasium and PettingZoo find the environments; run once, when ``audamir_envs`` is imported.

Gymnasium imports what stands before a colon, so ``gymnasium.make("audamir_envs:audamir_envs/Name-v0")`` works in a
process that has not imported this package, a worker of another framework, say.
"""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any

import gymnasium
import pettingzoo

from audamir_envs import registry

NAMESPACE = "audamir_envs"


def gymnasium_id(env_id: str) -> str:
    """``two-words-v0`` -> ``audamir_envs/Two-words-v0``."""
    return f"{NAMESPACE}/{env_id[0].upper()}{env_id[1:]}"


def pettingzoo_id(env_id: str) -> str:
    """``two-words-v0`` -> ``audamir_envs/two-words-v0``."""
    return f"{NAMESPACE}/{env_id}"


def register(env_id: str, game: Any) -> None:
    """Makes a game known to this package, Gymnasium and PettingZoo; see ``registry.register``. Raises: ValueError."""
    registry.register(env_id, game)
    tell(env_id)


def unregister(env_id: str) -> None:
    """Takes back ``register``, as tests want it. Raises: ValueError for what was not registered."""
    registry.unregister(env_id)
    gymnasium.registry.pop(gymnasium_id(env_id), None)
    if hasattr(pettingzoo, "register"):
        pettingzoo.aec_registry.pop(pettingzoo_id(env_id), None)
    sys.modules.pop(module_of(env_id), None)


def tell_all() -> None:
    """Tells Gymnasium and PettingZoo of every game; the entry point for versions of Gymnasium that look for plugins."""
    for env_id in registry.ids():
        tell(env_id)


def tell(env_id: str) -> None:
    """Tells Gymnasium and PettingZoo of a game if they do not know; all by names, so nothing of it is imported.

    PettingZoo has a registry from 1.26 on: older versions are served by the modules (``audamir_envs.two_words_v0``)
    alone.
    """
    name, module = gymnasium_id(env_id), module_of(env_id)
    if name not in gymnasium.registry:
        gymnasium.register(
            name,
            entry_point="audamir_envs.bridges.gymnasium:SingleAgentEnv",
            vector_entry_point="audamir_envs.bridges.vector:SingleAgentVectorEnv",
            kwargs={"game": env_id},
        )
    if module not in sys.modules:
        sys.modules[module] = _Module(env_id)
    if hasattr(pettingzoo, "register") and pettingzoo_id(env_id) not in pettingzoo.aec_registry:
        pettingzoo.register("aec", pettingzoo_id(env_id), f"{module}:env")


def module_of(env_id: str) -> str:
    """The module of a game for PettingZoo: ``two-words-v0`` -> ``audamir_envs.two_words_v0``."""
    return f"{NAMESPACE}.{env_id.replace('-', '_')}"


class _Module(types.ModuleType):
    """A module with ``env`` and ``raw_env`` of a game, as PettingZoo's own have them; they are made when asked for."""

    __all__ = ("env", "raw_env")

    def __init__(self, env_id: str) -> None:
        name = module_of(env_id)
        super().__init__(
            name, f"{env_id} for PettingZoo: ``env(render_mode=None, **options)``; ``raw_env`` is unwrapped."
        )
        self.__spec__ = importlib.machinery.ModuleSpec(name, None)
        self.__package__ = NAMESPACE
        self._env_id = env_id

    def __getattr__(self, name: str) -> Any:
        if name not in self.__all__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        from audamir_envs.bridges.pettingzoo import entry_points

        self.env, self.raw_env = entry_points(self._env_id)
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})
