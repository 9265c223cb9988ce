"""The cases that every generic test runs on, from each game's own test folder (``tests/<game>/cases.py``)."""

from __future__ import annotations

import importlib

from audamir_envs import registry
from audamir_envs.testing.cases import Case


def _collected(env_id: str):
    return importlib.import_module(f"{registry.GAMES[env_id].rpartition('.')[2]}.cases")


CASES: list[Case] = [(env_id, options) for env_id in registry.GAMES for options in _collected(env_id).CASES]

BRIDGED: list[Case] = [(env_id, _collected(env_id).BRIDGED) for env_id in registry.GAMES]
"""Those that are played through PettingZoo and Gymnasium too, whose code does not depend on the game."""

LEARNED: list[tuple[str, str]] = [(env_id, _collected(env_id).LEARNED) for env_id in registry.GAMES]
"""The layouts that are learned for two iterations: the quickest to compile."""
