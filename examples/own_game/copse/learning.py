"""What training must know of Copse."""

from __future__ import annotations

import jax.numpy as jnp

from audamir_envs.core import Array
from audamir_envs.learning import HexInterface, Learning, Variant, read_shares
from copse.environment import Copse, Position


def variants(layouts: str) -> tuple[Variant, ...]:
    """Sides with commas, each with ``:share`` if wanted: ``4`` or ``3:1,4:2``. Raises: ValueError."""
    chosen = read_shares(layouts)
    for side, _ in chosen:
        if side not in ("2", "3", "4", "5", "6"):
            raise ValueError(f"layouts={layouts!r} is not valid for {Copse.id}: use sides such as 4 or 3:1,4:2")
    return tuple(Variant(f"side{side}", Copse(side=int(side)), share) for side, share in chosen)


def ownership(position: Position) -> Array:
    """int8 [cells]: whose tree stands there in the end, which also sums to the score."""
    return (position.trees == 1).astype(jnp.int8) - (position.trees == 2).astype(jnp.int8)


LEARNING = Learning(
    algorithm="alphazero",
    network=HexInterface(planes=5, further=("pass",)),
    variants=variants,
    layouts="4",
    layouts_help="sides, such as 4 or 3:1,4:2",
    presets={"quick": {"layouts": "3", "evaluate_options": "side=3"}},
    ownership=ownership,
)
