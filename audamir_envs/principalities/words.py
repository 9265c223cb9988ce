"""The rules of Principalities in words, for players that read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RULES = """
Principalities is a game on a map of tiles that hold one to eight dice each. In a turn a player attacks as often as it
likes, from an own tile with at least two dice to a neighbouring tile of somebody else: write both numbers, as 12>7.
Both roll all their dice; the higher sum wins, and a tie is the defender's. After a win all dice but one move in;
after a loss one die stays. Then the player ends its turn: end. That brings as many dice as its largest connected
group has tiles, on random own tiles below eight. Who has no tile is out, and the last one wins. {vote} A position
lists for each tile its neighbours, its owner and its dice; tiles and players are numbered from 0.
"""
_VOTE = """
After four rounds without an attack the living players vote once on ending the game on points, which needs all of them:
accept or decline.
"""


def rules(options: Mapping[str, Any]) -> str:
    """What a player must know under these options, one paragraph."""
    return " ".join(_RULES.format(vote=_VOTE if options["points_offer"] == "vote" else "").split())
