"""Colony's rules in words, for players that read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RULES = """
Colony is a game for two on a hexagonal board. In a turn a player copies or jumps. A copy puts a new piece on an empty
cell that touches one of the player's pieces: write the cell, as e5. A jump moves a piece to an empty cell at distance
exactly two: write both cells, as c3-e5. Then every enemy piece that touches the landing cell changes sides. Who
cannot move passes: pass. The game ends when nobody can move, when a side has no piece, or after {max_turns} turns.
More pieces win. {empty} Rows are lettered from a at the bottom, the cells of a row are numbered from the left,
beginning with 1. In a position x are the first mover's pieces, o the other's, . is empty and # blocked; rows come
from the top.
"""
_CLAIMED = "When just one player can still move, the game ends and the empty cells count for that player."


def rules(options: Mapping[str, Any]) -> str:
    """What a player must know under these options, one paragraph."""
    empty = _CLAIMED if options["claim_empty"] else ""
    return " ".join(_RULES.format(max_turns=options["max_turns"], empty=empty).split())
