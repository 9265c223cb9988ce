"""Settings by name: what ``audamir train ENV --preset quick|small|full`` starts from."""

from __future__ import annotations

import dataclasses
from typing import Any

from audamir_envs import registry
from audamir_training.settings import AlphaZeroSettings, PPOSettings, RunSettings

NAMES = ("quick", "small", "full")

_ALPHAZERO: dict[tuple[str, str], dict[str, Any]] = {
    ("colony-v0", "quick"): {
        "channels": 16,
        "blocks": 2,
        "simulations": 16,
        "full_share": 1.0,
        "replay_positions": 60_000,
        "window_positions": 20_000,
        "decay_positions": 150_000,
    },
    ("colony-v0", "small"): {"decay_positions": 1_500_000},
    ("colony-v0", "full"): {"layouts": "all", "decay_positions": 12_000_000, "replay_positions": 1_000_000},
    ("stigmergy-v0", "quick"): {
        "layouts": "3",
        "channels": 16,
        "blocks": 2,
        "simulations": 16,
        "full_share": 1.0,
        "opening_plies": 4,
        "replay_positions": 60_000,
        "warmup_positions": 2_000,
        "window_positions": 20_000,
        "decay_positions": 150_000,
        "evaluate_options": "side=3,komi=4",
    },
    ("stigmergy-v0", "small"): {
        "layouts": "5",
        "opening_plies": 8,
        "decay_positions": 1_500_000,
        "evaluate_options": "side=5",
    },
    ("stigmergy-v0", "full"): {
        "layouts": "3:1,4:2,5:4,6:3,7:1,8:2",
        "opening_plies": 8,
        "decay_positions": 12_000_000,
        "evaluate_options": "side=5",
    },
}
_PPO: dict[tuple[str, str], dict[str, Any]] = {
    ("principalities-v0", "quick"): {"decay_positions": 500_000},
    ("principalities-v0", "small"): {"decay_positions": 6_000_000},
    ("principalities-v0", "full"): {
        "layouts": "2:4,3:1,4:4,5:1,6:1,7:1,8:3",
        "channels": 48,
        "blocks": 3,
        "discount": 0.999,
        "decay_positions": 60_000_000,
    },
}
_PPO_RUN: dict[str, dict[str, Any]] = {
    "quick": {},
    "small": {"evaluate_games": 256},
    "full": {"evaluate_games": 512, "opponents": "normal@2,strong@2,normal@4,strong@4,normal@8"},
}
_RUN: dict[str, dict[str, Any]] = {
    "quick": {"minutes": 4.0, "save_minutes": 1.0, "evaluate_minutes": 0.0, "opponents": "random,weak"},
    "small": {"minutes": 60.0, "evaluate_minutes": 15.0},
    "full": {"minutes": 600.0, "evaluate_minutes": 30.0, "evaluate_games": 128},
}


def preset(env_id: str, name: str) -> tuple[Any, RunSettings]:
    """The algorithm's settings and the run's. Raises: ValueError naming the valid ids and names."""
    registry.environment_class(env_id)
    if name not in NAMES:
        raise ValueError(f"preset {name!r} is not valid: use {', '.join(NAMES)}")
    run = RunSettings(**_RUN[name])
    if (env_id, name) in _PPO:
        return PPOSettings(env=env_id, **_PPO[env_id, name]), changed(run, _PPO_RUN[name])
    return AlphaZeroSettings(env=env_id, **_ALPHAZERO[env_id, name]), run


def settings_class(algorithm: str) -> type:
    """The settings of an algorithm by its name. Raises: ValueError."""
    classes = {"alphazero": AlphaZeroSettings, "ppo": PPOSettings}
    if algorithm not in classes:
        raise ValueError(f"algorithm {algorithm!r} is not known: use {', '.join(classes)}")
    return classes[algorithm]


def changed(settings: Any, changes: dict[str, Any]) -> Any:
    """Settings with other values in the fields that they have, the rest of the changes left alone."""
    names = {field.name for field in dataclasses.fields(settings)}
    return dataclasses.replace(settings, **{name: value for name, value in changes.items() if name in names})
