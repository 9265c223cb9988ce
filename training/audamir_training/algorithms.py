"""The algorithms by name: their settings and the programs that run them."""

from __future__ import annotations

import dataclasses
from typing import Any

from audamir_training.settings import AlphaZeroSettings, PPOSettings, check_numbers

SETTINGS = {"alphazero": AlphaZeroSettings, "ppo": PPOSettings}
TITLES = {"alphazero": "AlphaZero", "ppo": "PPO"}


def settings_class(name: str) -> type:
    """The settings of an algorithm by its name. Raises: ValueError."""
    if name not in SETTINGS:
        raise ValueError(f"algorithm {name!r} is not known: use {', '.join(SETTINGS)}")
    return SETTINGS[name]


def name_of(settings: Any) -> str:
    """The algorithm of settings."""
    return next(name for name, kind in SETTINGS.items() if isinstance(settings, kind))


def read_settings(name: Any, values: Any) -> Any:
    """Settings from what a file has. Raises: ValueError for names and values that no settings have."""
    kind: Any = settings_class(name if isinstance(name, str) else repr(name))
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if not isinstance(values, dict):
        raise ValueError(f"settings {values!r:.80} are no JSON object")
    for setting, value in values.items():
        if setting not in fields:
            raise ValueError(f"setting {setting!r:.80} is not known to {TITLES[name]}")
        if isinstance(fields[setting].default, str) and not isinstance(value, str):
            raise ValueError(f"{setting}={value!r:.80} is no text")
    settings = kind(**values)
    check_numbers(settings)
    return settings


def build(settings: Any) -> Any:
    """The algorithm of settings, on all devices. Raises: ValueError for settings that are not valid."""
    from audamir_training import devices

    if isinstance(settings, PPOSettings):
        from audamir_training.ppo import PPO

        return PPO(settings, devices.mesh())
    from audamir_training.alphazero import AlphaZero

    return AlphaZero(settings, devices.mesh())
