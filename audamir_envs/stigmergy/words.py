"""Stigmergy's rules in words, for players that read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RULES = """
Stigmergy is a game for two, Black and White, on a hexagonal board. A stone sees along each straight line of cells up
to and with the next stone. A player controls a cell that sees more of the player's stones than half the number of the
cell's neighbours: four inside the board, three on an edge, two in a corner. In a turn a player puts a stone on an
empty cell that the opponent does not control, or turns over an enemy stone on a cell that the player controls: write
the cell, as e5. Passing is allowed when every empty cell is controlled by somebody: pass. Two passes in a row end the
game. Own stones and controlled empty cells count, White adds komi, and more wins. {pie} Rows are lettered from a at
the bottom, the cells of a row are numbered from the left, beginning with 1. In a position x is Black, o White and .
empty; rows come from the top, then the colour to move, White's komi and the passes in a row.
"""
_PIE = "Before, one player names an even komi (komi=4, say), then the other chooses to be black or white."


def rules(options: Mapping[str, Any]) -> str:
    """What a player must know under these options, one paragraph."""
    return " ".join(_RULES.format(pie=_PIE if options["komi"] == "choose" else "").split())
