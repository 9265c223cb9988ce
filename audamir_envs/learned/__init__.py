"""Agents that were trained: their networks, their search and their files."""

from __future__ import annotations

import importlib
from importlib import resources
from pathlib import Path
from typing import Any

from audamir_envs.agents.base import Agent
from audamir_envs.agents.loading import use_levels


def shipped_folder() -> Path:
    """Where the levels lie that come with the package: inside the wheel, or beside the package in its source tree."""
    inside = Path(str(resources.files("audamir_envs"))) / "checkpoints"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[2] / "checkpoints"


def shipped(env_id: str) -> dict[str, Path]:
    """The levels that come with the package, by name."""
    return {path.stem: path for path in sorted((shipped_folder() / env_id).glob("*.safetensors"))}


def _names(env_id: str) -> tuple[str, ...]:
    return tuple(name for level in shipped(env_id) for name in (level, f"{level}-policy"))


def _load(env_or_id: Any, path_or_name: str, /, **settings: Any) -> Agent:
    # Only on demand: it loads a network library.
    return importlib.import_module("audamir_envs.learned.checkpoints").load_agent(env_or_id, path_or_name, **settings)


def _settings(env_id: str, name: str) -> Any:
    return importlib.import_module("audamir_envs.learned.checkpoints").settings_of(env_id, name)


def provide() -> None:
    """Makes the levels known to ``make_agent``."""
    use_levels(_names, _load, _settings)
