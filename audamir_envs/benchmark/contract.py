"""What a game says about measuring it: ``BENCHMARK`` in its module ``benchmark``, which the registry finds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Setup:
    """Options under which a game is measured."""

    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    rival: str = ""  # the game of Pgx that it is measured against, if any
    alone: bool = True  # measured game by game too, through PettingZoo


@dataclasses.dataclass(frozen=True)
class Reference:
    """Random plies by another implementation of the rules."""

    name: str
    plies_per_second: Callable[[int, int], float]  # (plies, seed); ValueError where it cannot be run here


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """What ``audamir bench`` measures of a game."""

    setups: Mapping[str, Setup]  # by the names that tables show
    searched: Mapping[str, Any] | None = None  # options under which the search is measured, for games that are searched
    growth: Mapping[str, tuple[str, str, tuple[int, ...]]] = dataclasses.field(default_factory=dict)
    """What an option's axis is called -> (the curve's name, the option, its values), for ``--plot``."""
    reference: Reference | None = None
