"""What training must know of Colony; see ``audamir_envs.learning``."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.colony import rules
from audamir_envs.colony.cells import BOARD
from audamir_envs.colony.environment import Colony
from audamir_envs.colony.observation import observe
from audamir_envs.core import Array
from audamir_envs.learning import HexInterface, Learning, Variant, stacked

_LAYOUTS = ("default", "all", "even")
# Mine, theirs, empty, claim_empty, then the turns left in binary: one feature as a share of the usual cap.
_TURNS = tuple(2.0**bit / 400 for bit in range(10))


def variants(layouts: str) -> tuple[Variant, ...]:
    """``default`` (the default options), ``all`` (all boards, starts and both claim_empty, the default one more often)
    or ``even`` (all, equally often). Raises: ValueError naming these.
    """
    if layouts not in _LAYOUTS:
        raise ValueError(f"layouts={layouts!r} is not valid for {Colony.id}: use default, all or even")
    boards = (("58", "first"), ("58", "second"), ("61", "first"))
    chosen = [
        {"board": board, "holes_toward": toward, "start": start, "claim_empty": claim}
        for (board, toward), start, claim in itertools.product(boards, ("three", "one"), (False, True))
    ]
    # Both directions of the holes together count as one board.
    weights = np.array([0.5 if options["board"] == "58" else 1.0 for options in chosen])
    if layouts == "all":
        weights[0] += weights.sum() / 3
    if layouts == "default":
        chosen, weights = [{}], np.ones(1)
    key = jax.random.key(0)  # not used: the starter is fixed, and which seat it is does not matter to a learner
    envs = [Colony(**options) for options in chosen]
    starts = stacked([env.init_game(key) for env in envs])
    return (Variant(layouts, envs[0], longest=400, starts=starts, weights=weights / weights.sum()),)


def ownership(position: rules.Position) -> Array:
    """int8 [61]: pieces, and empty cells that were claimed at the end."""
    planes = observe(position, position.mover)[..., :3].astype(jnp.int8).reshape(BOARD.width**2, 3)
    mine, theirs, empty = planes[BOARD.grid].T
    claim = position.own_can_move.astype(jnp.int8) - position.enemy_can_move.astype(jnp.int8)
    claim = jnp.where(position.claim_empty, claim, jnp.int8(0))
    sign = jnp.int8(1) - jnp.int8(2) * position.mover.astype(jnp.int8)
    return (mine - theirs + claim * empty) * sign


LEARNING = Learning(
    algorithm="alphazero",
    network=HexInterface(
        planes=14,
        scales=(1.0, 1.0, 1.0, 1.0, *_TURNS),
        features=(0, 1, 2, 3, *([4] * len(_TURNS))),
        kinds=rules.KINDS,
        kind_images=BOARD.offset_symmetries(((0, 0), *rules.JUMPS)),  # a copy, and the jumps
    ),
    variants=variants,
    layouts="default",
    layouts_help="default, all or even",
    presets={"full": {"layouts": "all", "replay_positions": 1_000_000}},
    ownership=ownership,
)
