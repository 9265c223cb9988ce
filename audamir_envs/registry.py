"""The games by id. A new game is a folder with ``environment.py`` and ``scripted.py``, and one line here."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # at run time this module needs no JAX: the command line lists the ids before it is there
    from audamir_envs.core import Environment
    from audamir_envs.learning import Learning

GAMES: dict[str, str] = {
    "colony-v0": "audamir_envs.colony",
    "stigmergy-v0": "audamir_envs.stigmergy",
    "principalities-v0": "audamir_envs.principalities",
}

LEVELS = "audamir_envs.learned"  # the package of the trained levels, imported when one is asked for


def ids() -> tuple[str, ...]:
    """The ids that ``make`` knows."""
    return tuple(GAMES)


def room(env_id: str, module: str) -> Any:
    """A module (``environment``, ``scripted``, ``maps``, ...) of a game. Raises: ValueError listing the ids."""
    if not isinstance(env_id, str) or env_id not in GAMES:
        raise ValueError(f"unknown environment {env_id!r}: use {', '.join(GAMES)}")
    return importlib.import_module(f"{GAMES[env_id]}.{module}")


def make(env_id: str, **options: Any) -> Environment:
    """The environment of an id with options. Raises: ValueError naming the valid ids, options or values."""
    return room(env_id, "environment").ENVIRONMENT(**options)


def optional_room(env_id: str, module: str) -> Any | None:
    """``room``, or None where the game has no such module. Raises: ValueError listing the ids."""
    room(env_id, "environment")
    name = f"{GAMES[env_id]}.{module}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def learning(env_id: str) -> Learning | None:
    """What a game says about learning it; None if nothing. Raises: ValueError listing the ids."""
    module = optional_room(env_id, "learning")
    return None if module is None else module.LEARNING


def environment_class(env_id: str) -> type[Environment]:
    """The class of an id, for its OPTIONS without making one. Raises: ValueError listing the ids."""
    return room(env_id, "environment").ENVIRONMENT
