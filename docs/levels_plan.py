"""The matches by which the shipped levels are measured, those first that say most."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from audamir_envs import registry
from audamir_envs.stigmergy.scripted import FAIR_KOMI

ZERO = "zero:simulations=64"
SEARCHES = tuple(f"zero:simulations={simulations}" for simulations in (8, 32, 128))
LAYOUTS = [
    {"board": board, "start": start, "claim_empty": claim}
    for board, start, claim in itertools.product(("58", "61"), ("three", "one"), (False, True))
]
SIDES = (4, 5, 6, 8)


@dataclasses.dataclass(frozen=True)
class Match:
    """Games of one pairing under one set of options."""

    options: dict[str, Any]
    entrants: tuple[str, ...]  # as on the command line; ``zero`` and ``zero-policy`` mean the level that is measured
    games: int = 200
    opening_plies: int = 2
    mirrored: bool = False
    max_plies: int | None = None
    seed: int = 0

    def __str__(self) -> str:
        return f"{options_text(self.options)}: {' - '.join(self.entrants)}"

    def to_json(self) -> dict[str, Any]:
        """As it is stored: equal matches are stored alike."""
        return dataclasses.asdict(self) | {"entrants": list(self.entrants)}

    def with_games(self, games: int) -> Match:
        """The same with another number of games, in whole rotations of the seats."""
        players = self.options.get("players", 2)
        return dataclasses.replace(self, games=-(-games // players) * players)


def learned(entrant: str) -> bool:
    """Whether an entrant is the level that is measured, with or without search."""
    return entrant.partition(":")[0] in ("zero", "zero-policy")


def options_text(options: dict[str, Any]) -> str:
    """``side=5 komi=8``; ``default options`` for none."""
    return " ".join(f"{name}={value}" for name, value in options.items()) or "default options"


def plan(env_id: str) -> list[Match]:
    """All matches of a game, in the order in which they are played. Raises: ValueError naming the valid ids."""
    plans = {"colony-v0": _colony, "stigmergy-v0": _stigmergy, "principalities-v0": _principalities}
    if env_id not in plans:
        registry.environment_class(env_id)  # refuses what is no id
        raise ValueError(f"no matches are planned for {env_id}: use {', '.join(plans)}")
    return plans[env_id]()


def _colony() -> list[Match]:
    def all_layouts(*entrants: str, opening_plies: int = 2) -> list[Match]:
        return [Match(layout, entrants, opening_plies=opening_plies) for layout in LAYOUTS]

    # As the wiki's, these begin from the start itself: the levels slip, so that their games differ.
    scripted = (
        ("normal", "weak"),
        ("strong", "weak"),
        ("strong", "normal"),
        ("weak", "weak"),
        ("normal", "normal"),
        ("strong", "strong"),
    )
    return [
        *all_layouts(ZERO, "strong"),
        *all_layouts("zero-policy", "normal"),
        *(Match(LAYOUTS[0], (level, "strong")) for level in (*SEARCHES, "zero-policy")),
        *all_layouts(ZERO, "normal"),
        *all_layouts(ZERO, "weak"),
        *all_layouts("zero-policy", "weak"),
        *all_layouts(ZERO, ZERO),
        *(match for pair in scripted for match in all_layouts(*pair, opening_plies=0)),
    ]


def _stigmergy() -> list[Match]:
    def sides(*entrants: str, even: bool = True) -> list[Match]:
        return [Match({"side": side, "komi": FAIR_KOMI[side] if even else 0}, entrants) for side in SIDES]

    return [
        *sides(ZERO, "strong"),
        *(Match({"side": 5, "komi": FAIR_KOMI[5]}, (level, "strong")) for level in SEARCHES),
        # How much of what it loses there more search would win: two random plies decide games on small boards.
        Match({"side": 4, "komi": FAIR_KOMI[4]}, ("zero:simulations=512", "strong")),
        *sides("zero-policy", "strong"),
        *sides(ZERO, "strong", even=False),
        *sides(ZERO, "normal"),
        *sides("zero-policy", "normal"),
        *sides("zero-policy", "weak"),
    ]


def _principalities() -> list[Match]:
    def table(players: int, *entrants: str) -> Match:
        games = {2: 1000, 4: 400}.get(players, 200)
        return Match({"players": players}, entrants, opening_plies=0, mirrored=True).with_games(games)

    both = ("zero", "zero-policy")
    demanded = ((2, "strong"), (4, "strong"), (8, "normal"))
    others = ((2, "normal"), (2, "weak"), (4, "normal"), (8, "strong"), *((count, "strong") for count in (3, 5, 6, 7)))
    return [
        *(table(players, level, other) for level in both for players, other in demanded),
        table(2, "zero:considered=4,futures=2", "strong"),
        table(2, "zero:considered=16,futures=8", "strong"),
        *(table(players, level, other) for level in both for players, other in others),
    ]
