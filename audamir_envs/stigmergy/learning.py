"""What training must know of Stigmergy; see ``audamir_envs.learning``."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array
from audamir_envs.learning import HexInterface, Learning, Variant, read_shares, stacked
from audamir_envs.stigmergy import rules
from audamir_envs.stigmergy.environment import Stigmergy

_SIXTH, _KOMI = 1 / 6, 1 / 15


def variants(layouts: str) -> tuple[Variant, ...]:
    """Sides with commas, each with ``:share`` if wanted: ``5`` or ``3:1,4:2,5:3``; komi and the pie vary.

    Raises: ValueError saying so.
    """
    chosen = read_shares(layouts)
    for side, _ in chosen:
        if not (side.isascii() and side.isdigit()):
            raise ValueError(f"layouts={layouts!r} is not valid for {Stigmergy.id}: use sides such as 5 or 3:1,4:2,5:3")
    return tuple(_of_side(int(side), share) for side, share in chosen)


def _of_side(side: int, share: float) -> Variant:
    env = Stigmergy(side=side, komi="choose")
    size = rules.tables(side).board.size
    # A third of the games without komi (the default), most others around what makes the game even, a few with the pie:
    # without komi Black has the advantage, so many of those games are decided early and teach little.
    limit = size - 1
    komis = [komi for komi in range(-6, 17, 2) if abs(komi) <= limit]
    weights = np.array([np.exp(-(((komi - 5) / 5) ** 2)) for komi in komis])
    weights *= 0.65 / weights.sum()
    weights[komis.index(0)] += 0.3
    positions = [rules.new_position(side, komi) for komi in komis] + [rules.new_position(side, None)]
    return Variant(
        name=f"side{side}",
        env=env,
        share=share,
        longest=min(env.max_steps, 4 * size + 20),
        starts=stacked(positions),
        weights=np.append(weights, 0.05),
    )


def ownership(position: rules.Position) -> Array:
    """int8 [cells]: stones, and empty cells that one side controls."""
    black, white = rules.control(position)
    empty = position.stones == rules.EMPTY
    blacks = (position.stones == rules.BLACK) | (empty & black)
    whites = (position.stones == rules.WHITE) | (empty & white)
    by_place = blacks.astype(jnp.int8) - whites.astype(jnp.int8)
    board = rules.tables_of(position).board
    sign = jnp.int8(1) - jnp.int8(2) * position.black_seat.astype(jnp.int8)
    return by_place[jnp.asarray(board.grid)] * sign


LEARNING = Learning(
    algorithm="alphazero",
    network=HexInterface(
        planes=16,
        scales=(1.0, 1.0, 1.0, 1.0, 1.0, _SIXTH, _SIXTH, 1.0, 1.0, _KOMI, _KOMI, 0.5, 1.0, 1.0, 1.0, 0.25),
        pie=True,
    ),
    variants=variants,
    layouts="5",
    layouts_help="sides, such as 5 or 3:1,4:2,5:3",
    presets={
        "quick": {
            "layouts": "3",
            "opening_plies": 4,
            "warmup_positions": 2_000,
            "evaluate_options": "side=3,komi=4",
        },
        "small": {"opening_plies": 8, "evaluate_options": "side=5"},
        "full": {"layouts": "3:1,4:2,5:4,6:3,7:1,8:2", "opening_plies": 8, "evaluate_options": "side=5"},
    },
    ownership=ownership,
)
