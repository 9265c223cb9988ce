"""What training must know of Principalities; see ``audamir_envs.learning``."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from audamir_envs.core import Array, Environment
from audamir_envs.learning import Chance, Learning, Variant, read_shares
from audamir_envs.principalities import dice, maps, rules
from audamir_envs.principalities.environment import Principalities


def variants(layouts: str) -> tuple[Variant, ...]:
    """By commas: the number of players, ``@tiles`` for another map than the usual, ``:share`` for how often: ``2``,
    ``2:3,4:3,8:1``, ``2@6``. Raises: ValueError.
    """
    return tuple(_of(text, share, layouts) for text, share in read_shares(layouts))


def _of(text: str, share: float, layouts: str) -> Variant:
    players, at, tiles = text.partition("@")
    try:
        numbers = {"players": int(players)} | ({"tiles": int(tiles)} if at else {})
    except ValueError:
        raise ValueError(f"{layouts!r} is not valid: use players, or players@tiles, such as 2 or 2@6") from None
    env = Principalities(**numbers)
    return Variant(text, env, share, longest=250 * env.num_players, table=(env.tiles, env.tiles))


def other_way(
    env: Environment, game: rules.Position, action: Array, after: rules.Position, ended: Array
) -> tuple[Array, Array, Any]:
    """What would have been, had the dice of an attack fallen the other way; see ``learning.Chance``."""
    del env
    tiles = game.owner.shape[0]
    attacked = action < jnp.int32(tiles * tiles)
    source, target = action // jnp.int32(tiles) % jnp.int32(tiles), action % jnp.int32(tiles)
    # Among attacks only a victory ends a game.
    won = ended | (after.owner[target] == game.player.astype(jnp.int8))
    odds = jnp.asarray(dice.odds(), jnp.float32)[game.dice[source], game.dice[target]]
    chance = jnp.where(attacked, jnp.where(won, odds, 1 - odds), jnp.float32(1))
    return attacked, chance, rules.attack(game, source, target, ~won)


LEARNING = Learning(
    algorithm="ppo",
    network="audamir_envs.principalities.trained",
    variants=variants,
    layouts="2",
    layouts_help="players, with @tiles and :share where wanted: 2, or 2:3,4:3,8:1, or 2@6",
    presets={
        "full": {
            "layouts": "2:4,3:1,4:4,5:1,6:1,7:1,8:3",
            "channels": 48,
            "blocks": 3,
            "discount": 0.999,
            "opponents": "normal@2,strong@2,normal@4,strong@4,normal@8",
        },
    },
    chance=Chance(
        pool=lambda env, key, size: maps.pool(key, env.observation_shape[0], size),
        init=maps.pool_init,
        other_way=other_way,
    ),
)
