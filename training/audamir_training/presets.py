"""Settings by name: what ``audamir train ENV --preset quick|small|full`` starts from.

An algorithm has its own values for each name; a game's ``LEARNING.presets`` says what is different for it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from audamir_envs import registry
from audamir_training import games
from audamir_training.algorithms import settings_class
from audamir_training.settings import RunSettings

NAMES = ("quick", "small", "full")

_ALGORITHMS: dict[str, dict[str, dict[str, Any]]] = {
    "alphazero": {
        "quick": {
            "channels": 16,
            "blocks": 2,
            "simulations": 16,
            "full_share": 1.0,
            "replay_positions": 60_000,
            "window_positions": 20_000,
            "decay_positions": 150_000,
        },
        "small": {"decay_positions": 1_500_000},
        "full": {"decay_positions": 12_000_000, "evaluate_games": 128},
    },
    "ppo": {
        "quick": {"decay_positions": 500_000},
        "small": {"decay_positions": 6_000_000, "evaluate_games": 256},
        "full": {"decay_positions": 60_000_000, "evaluate_games": 512},
    },
}
_RUN: dict[str, dict[str, Any]] = {
    "quick": {"minutes": 4.0, "save_minutes": 1.0, "evaluate_minutes": 1e6, "opponents": "random,weak"},
    "small": {"minutes": 60.0, "evaluate_minutes": 15.0},
    "full": {"minutes": 600.0, "evaluate_minutes": 30.0},
}


# What a game says for its own algorithm holds for another one only so far.
_SHARED = ("layouts", "channels", "blocks", "opening_plies", "evaluate_options", "opponents")


def preset(env_id: str, name: str, algorithm: str | None = None) -> tuple[Any, RunSettings]:
    """The algorithm's settings and the run's. Raises: ValueError naming the valid ids and names.

    Args: algorithm: None is the game's own.
    """
    learning = games.learning_of(env_id)
    if name not in NAMES:
        raise ValueError(f"preset {name!r} is not valid: use {', '.join(NAMES)}")
    unknown = [other for other in learning.presets if other not in NAMES]
    if unknown:
        raise ValueError(f"the LEARNING of {env_id} has a preset {unknown[0]!r}: it may have {', '.join(NAMES)}")
    algorithm = algorithm or learning.algorithm
    settings = settings_class(algorithm)(env=env_id, layouts=learning.layouts)
    run = RunSettings()
    own = dict(learning.presets.get(name, {}))
    if algorithm != learning.algorithm:
        own = {setting: value for setting, value in own.items() if setting in _SHARED}
    for setting in own:
        if not (hasattr(settings, setting) or hasattr(run, setting)):
            raise ValueError(f"the preset {name!r} of {env_id} sets {setting!r}, which {algorithm} has not")
    for changes in (_RUN[name], _ALGORITHMS[algorithm][name]):
        settings, run = changed(settings, changes), changed(run, changes)
    levels = _only_levels_of(env_id, {"opponents": run.opponents, "levels": getattr(settings, "levels", "")})
    for changes in (levels, own):
        settings, run = changed(settings, changes), changed(run, changes)
    return settings, run


def _only_levels_of(env_id: str, settings: dict[str, str]) -> dict[str, str]:
    """Levels by commas, without those that a game has not."""
    known = {"random", *registry.part(env_id, "scripted").AGENTS}
    return {
        name: ",".join(level for level in levels.split(",") if level.partition("@")[0] in known)
        for name, levels in settings.items()
    }


def changed(settings: Any, changes: Any) -> Any:
    """Settings with other values in the fields that they have, the rest of the changes left alone."""
    names = {field.name for field in dataclasses.fields(settings)}
    return dataclasses.replace(settings, **{name: value for name, value in changes.items() if name in names})
