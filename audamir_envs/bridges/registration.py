"""The ids under which Gymnasium and PettingZoo find the environments; run once, when ``audamir_envs`` is imported."""

from __future__ import annotations

import gymnasium
import pettingzoo

from audamir_envs.registry import ids

NAMESPACE = "audamir_envs"


def gymnasium_id(env_id: str) -> str:
    """``colony-v0`` -> ``audamir_envs/Colony-v0``."""
    return f"{NAMESPACE}/{env_id[0].upper()}{env_id[1:]}"


def pettingzoo_id(env_id: str) -> str:
    """``colony-v0`` -> ``audamir_envs/colony-v0``."""
    return f"{NAMESPACE}/{env_id}"


def register() -> None:
    """Registers every environment that is not registered yet; entry points are texts, so nothing is imported here.

    PettingZoo has a registry from 1.26 on: older versions are served by the modules ``audamir_envs.colony_v0`` and so
    on alone.
    """
    for env_id in ids():
        name = gymnasium_id(env_id)
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="audamir_envs.bridges.gymnasium:SingleAgentEnv",
                vector_entry_point="audamir_envs.bridges.vector:SingleAgentVectorEnv",
                kwargs={"game": env_id},
            )
        if hasattr(pettingzoo, "register") and pettingzoo_id(env_id) not in pettingzoo.aec_registry:
            module = env_id.replace("-", "_")
            pettingzoo.register("aec", pettingzoo_id(env_id), f"audamir_envs.{module}:env")
