"""What training must know of each game on a hexagonal board: layouts, final ownership, planes and symmetries."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs import registry
from audamir_envs.core import Array, Environment
from audamir_envs.hexboard import hexboard
from audamir_envs.learned.networks import HexConfig
from audamir_training.settings import read_share


@dataclasses.dataclass(frozen=True, eq=False)
class Variant:
    """Games of equal shapes that are played and learned together."""

    name: str
    env: Environment  # supplies the rules; options that live in the position vary over `starts`
    starts: Any  # positions stacked on a leading axis [starts]
    weights: np.ndarray  # float64 [starts]: how often each is played; sums to 1
    share: float  # of all iterations
    longest: int  # plies that a game hardly ever exceeds: how far back a result is carried
    ownership: Callable[[Any], Array]  # position -> int8 [cells]: 1 seat 0, -1 seat 1, 0 nobody


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetry:
    """The 12 symmetries of a variant, NumPy; gather by the first three, look actions up in the last."""

    grid: np.ndarray  # int32 [12, width * width]: the place that moves here
    cells: np.ndarray  # int32 [12, cells]: the cell that moves here
    sources: np.ndarray  # int32 [12, actions]: the action that moves here
    actions: np.ndarray  # int32 [12, actions]: where an action goes


def stacked(positions: Sequence[Any]) -> Any:
    """Positions as one tree with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *positions)


def hex_config(env_id: str, channels: int, blocks: int) -> HexConfig:
    """The network of a game. Raises: ValueError for a game without a hexagonal board."""
    if env_id == "colony-v0":
        # Mine, theirs, empty, claim_empty, then the turns left in binary: one feature as a share of the usual cap.
        turns = tuple(2.0**bit / 400 for bit in range(10))
        return HexConfig(14, 13, (0, 1, 2, 3, *([4] * 10)), (1.0, 1.0, 1.0, 1.0, *turns), channels, blocks)
    if env_id == "stigmergy-v0":
        sixth, komi = 1 / 6, 1 / 15
        scales = (1.0, 1.0, 1.0, 1.0, 1.0, sixth, sixth, 1.0, 1.0, komi, komi, 0.5, 1.0, 1.0, 1.0, 0.25)
        return HexConfig(16, 1, tuple(range(16)), scales, channels, blocks)
    raise ValueError(f"{env_id} is not played on a hexagonal board: AlphaZero here trains colony-v0 and stigmergy-v0")


def variants(env_id: str, layouts: str) -> tuple[Variant, ...]:
    """The variants that a setting ``layouts`` names.

    Colony: ``default`` (the default options), ``all`` (all boards, starts and both claim_empty, the default one more
    often) or ``even`` (all, equally often). Stigmergy: sides with commas, each with ``:share`` if wanted: ``5`` or
    ``3:1,4:2,5:3``; komi and the pie vary. Raises: ValueError naming the valid values.
    """
    if env_id == "colony-v0":
        return (_colony(layouts),)
    if env_id == "stigmergy-v0":
        return tuple(_stigmergy(side, share) for side, share in _sides(layouts))
    raise ValueError(f"AlphaZero here trains colony-v0 and stigmergy-v0, not {env_id}")


def symmetry(variant: Variant, config: HexConfig) -> Symmetry:
    """The tables of a variant."""
    cells = _cells(variant.env)
    board = hexboard((variant.env.observation_shape[0] + 1) // 2)
    actions = np.tile(np.arange(variant.env.num_actions, dtype=np.int32), (12, 1))
    if config.kinds == 1:
        kinds = np.zeros((12, 1), np.int32)
    else:
        from audamir_envs.colony.rules import JUMPS

        kinds = np.concatenate([np.zeros((12, 1), np.int32), 1 + board.offset_symmetries(JUMPS)], axis=1)
    images = board.symmetries[:, :, None] * config.kinds + kinds[:, None, :]
    actions[:, : cells * config.kinds] = images.reshape(12, -1)
    return Symmetry(
        grid=np.argsort(board.grid_symmetries(), axis=1).astype(np.int32),
        cells=np.argsort(board.symmetries, axis=1).astype(np.int32),
        sources=np.argsort(actions, axis=1).astype(np.int32),
        actions=actions,
    )


def _cells(env: Environment) -> int:
    return hexboard((env.observation_shape[0] + 1) // 2).size


def _colony(layouts: str) -> Variant:
    if layouts not in ("default", "all", "even"):
        raise ValueError(f"layouts={layouts!r} is not valid for colony-v0: use default, all or even")
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
    envs = [registry.make("colony-v0", **options) for options in chosen]
    return Variant(
        name=layouts,
        env=envs[0],
        starts=stacked([env.init_game(key) for env in envs]),
        weights=weights / weights.sum(),
        share=1.0,
        longest=400,
        ownership=colony_ownership,
    )


def colony_ownership(position: Any) -> Array:
    """int8 [61]: pieces, and empty cells that were claimed at the end."""
    from audamir_envs.colony.cells import BOARD
    from audamir_envs.colony.observation import observe

    planes = observe(position, position.mover)[..., :3].astype(jnp.int8).reshape(BOARD.width**2, 3)
    mine, theirs, empty = planes[BOARD.grid].T
    claim = position.own_can_move.astype(jnp.int8) - position.enemy_can_move.astype(jnp.int8)
    claim = jnp.where(position.claim_empty, claim, jnp.int8(0))
    return (mine - theirs + claim * empty) * _sign(position.mover)


def _sides(layouts: str) -> list[tuple[int, float]]:
    chosen = []
    for part in layouts.split(","):
        side, colon, share = part.partition(":")
        if not (side.isascii() and side.isdigit()):
            raise ValueError(f"layouts={layouts!r} is not valid for stigmergy-v0: use sides such as 5 or 3:1,4:2,5:3")
        chosen.append((int(side), read_share(share, layouts) if colon else 1.0))
    total = sum(share for _, share in chosen)
    return [(side, share / total) for side, share in chosen]


def _stigmergy(side: int, share: float) -> Variant:
    from audamir_envs.stigmergy import rules

    env = registry.make("stigmergy-v0", side=side, komi="choose")
    size = _cells(env)
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
        starts=stacked(positions),
        weights=np.append(weights, 0.05),
        share=share,
        longest=min(env.max_steps, 4 * size + 20),
        ownership=stigmergy_ownership,
    )


def stigmergy_ownership(position: Any) -> Array:
    """int8 [cells]: stones, and empty cells that one side controls."""
    from audamir_envs.stigmergy import rules

    black, white = rules.control(position)
    empty = position.stones == rules.EMPTY
    blacks = (position.stones == rules.BLACK) | (empty & black)
    whites = (position.stones == rules.WHITE) | (empty & white)
    by_place = blacks.astype(jnp.int8) - whites.astype(jnp.int8)
    board = rules.tables_of(position).board
    return by_place[jnp.asarray(board.grid)] * _sign(position.black_seat)


def _sign(seat: Array) -> Array:
    """int8 []: 1 for seat 0, -1 for seat 1."""
    return jnp.int8(1) - jnp.int8(2) * seat.astype(jnp.int8)
