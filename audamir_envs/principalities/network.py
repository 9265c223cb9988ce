"""The network of Principalities: tiles and seats as tokens, one set of parameters for any map and 2 to 8 players.

Tiles hear from their neighbours (those of the same owner and others apart) and from their owner's seat; seats attend to
their own tiles. The logit of an attack joins what both tiles say of it with the exact odds of the fight and of the
answer to it; the value of each seat is its chance to win, by a softmax over the living. No parameter is tied to the
number of tiles or players, so renumbering the tiles renumbers the logits and changes nothing else.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array
from audamir_envs.principalities import bits, dice, observation

_LARGEST = 4096  # of whatever a configuration counts
_ABSENT = -1e9  # a logit that no softmax gives any weight
_FACES = dice.MOST + 1  # dice on a tile, 0 standing for no tile
_SMALL = nn.initializers.variance_scaling(0.05, "fan_in", "truncated_normal")


class TileOutput(NamedTuple):
    """What ``TileNetwork`` says of a batch of positions, each from its observer's point of view."""

    logits: Array  # float32 [batch, tiles * tiles + 3]: of the policy, illegal actions not masked
    seat_logits: Array  # float32 [batch, players]: of each relative seat's win; eliminated seats are at -1e9
    shares: Array  # float32 [batch, players]: expected shares of the win, by relative seat: their softmax

    @property
    def values(self) -> Array:
        """float32 [batch, players]: expected results by relative seat, 1 for a win, -1 / (players - 1) for a loss."""
        players = self.shares.shape[-1]
        return (players * self.shares - 1) / (players - 1)


@dataclasses.dataclass(frozen=True)
class TileConfig:
    """Size of a ``TileNetwork``; written into checkpoints."""

    channels: int = 32
    blocks: int = 2
    pairs: int = 16  # length of the vectors whose product tells how tiles suit each other
    architecture: str = "tiles-1"  # raised when the meaning of the parameters changes

    def __post_init__(self) -> None:
        """Raises: ValueError naming the field that cannot be."""
        for name in ("channels", "blocks", "pairs"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= _LARGEST:
                raise ValueError(f"{name}={value!r} of the network is not valid: use an integer up to {_LARGEST}")


class _Inputs(NamedTuple):
    """An observation as features; T tiles, P players, all float32."""

    tiles: Array  # [batch, T, features]
    seats: Array  # [batch, P, features]
    owner: Array  # [batch, T, P]: one-hot
    links: Array  # [batch, 2 T, T]: neighbours of the same owner, then the others
    dice: Array  # [batch, T, 9]: one-hot
    left: Array  # [batch, T, 9]: one-hot of the dice that an attack from the tile moves
    threat: Array  # [batch, T, 9]: one-hot of the most dice next to the tile that are not the observer's
    alive: Array  # bool [batch, P]


def _one_hot(numbers: Array, size: int) -> Array:
    """float32 [..., size]."""
    return (numbers[..., None] == jnp.arange(size, dtype=numbers.dtype)).astype(jnp.float32)


def _ratio(numbers: Array, to: Array | int) -> Array:
    """float32 [...]: integers divided, by 1 at least."""
    return numbers.astype(jnp.float32) / jnp.maximum(jnp.asarray(to, jnp.int32), 1).astype(jnp.float32)


def _inputs(observed: Array) -> _Inputs:
    """The features of observations, uint8 or float32 [batch, T, P + 17 + T]; see ``principalities.observation``."""
    tiles = observed.shape[-2]
    players = observed.shape[-1] - tiles - observation.features(0)
    numbers = observed.astype(jnp.int32)
    owned, columns, adjacent = jnp.split(numbers, (players, players + 5 + observation.GLOBAL), axis=-1)
    adjacent, owned = adjacent > 0, owned > 0
    on_tile, group, reserve, largest, accepted = jnp.moveaxis(columns[..., :5], -1, 0)
    mover, player, starter, vote, offer, quiet, round_ = jnp.moveaxis(columns[:, 0, 5:12], -1, 0)
    rounds_left = jnp.sum(columns[:, 0, 12:16], axis=-1)
    hints = columns[:, 0, 16]

    owner = owned.astype(jnp.float32)
    same = jnp.einsum("bip,bjp->bij", owner, owner) > 0.5
    mine = owned[..., 0]
    links = jnp.concatenate([adjacent & same, adjacent & ~same], axis=1)
    merged = _merged(adjacent & same, adjacent, mine)
    own_largest = jnp.max(jnp.where(mine, largest, 0), axis=1, keepdims=True)
    gain = jnp.where(mine, 0, jnp.maximum(merged - own_largest, 0))

    def most(where: Array) -> Array:
        return jnp.max(jnp.where(where, on_tile[:, None], 0), axis=-1)

    threat = most(adjacent & ~mine[:, None])
    fights, supports = jnp.sum(links, axis=-1, dtype=jnp.int32).reshape(-1, 2, tiles).swapaxes(0, 1)[::-1]
    columns_of_tiles = [
        (mine, 1.0),
        (group, 8.0),
        (group == largest, 1.0),
        (largest, 16.0),
        (reserve, 16.0),
        (merged, 8.0),
        (gain, 4.0),
        (fights, 4.0),
        (supports, 4.0),
        (on_tile, 8.0),
    ]
    numeric = jnp.stack([column.astype(jnp.float32) / scale for column, scale in columns_of_tiles], axis=-1)
    faces = _one_hot(on_tile, _FACES)
    threat_faces = _one_hot(threat, _FACES)
    per_tile = [
        numeric,
        faces,
        threat_faces,
        _one_hot(most(adjacent & ~same), _FACES),
        _one_hot(most(adjacent & same), _FACES),
    ]

    def by_seat(column: Array) -> Array:
        """[batch, P]: a column that is the same on all tiles of an owner."""
        return jnp.max(jnp.where(owned, column[..., None], 0), axis=1)

    seat = jnp.arange(players, dtype=jnp.int32)
    alive = jnp.any(owned, axis=1)
    living = jnp.sum(alive, axis=1, dtype=jnp.int32)[:, None]
    turns_away = (seat - player[:, None]) % jnp.int32(players)
    count = jnp.sum(owned, axis=1, dtype=jnp.int32)
    total = jnp.sum(jnp.where(owned, on_tile[..., None], 0), axis=1)
    columns_of_seats = [
        (alive, 1.0),
        (jnp.broadcast_to(seat == 0, count.shape), 1.0),
        (turns_away == 0, 1.0),
        (1 / (1 + turns_away.astype(jnp.float32)), 1.0),
        ((seat - starter[:, None]) % jnp.int32(players), 8.0),
        (count, 16.0),
        (_ratio(count * living, tiles), 2.0),
        (total, 64.0),
        (_ratio(total * living, jnp.sum(total, axis=1, keepdims=True)), 2.0),
        (by_seat(reserve), 16.0),
        (by_seat(largest), 16.0),
        (by_seat(accepted), 1.0),
        (jnp.broadcast_to(living, count.shape), 8.0),
        *[
            (jnp.broadcast_to(common[:, None], count.shape), scale)
            for common, scale in [
                (mover == player, 1.0),
                (vote, 1.0),
                (offer, 1.0),
                (jnp.minimum(quiet, 32), 16.0),
                (round_, 16.0),
                (jnp.minimum(rounds_left, 64), 32.0),
                (hints, 1.0),
            ]
        ],
    ]
    return _Inputs(
        tiles=jnp.concatenate(per_tile, axis=-1),
        seats=jnp.stack([column.astype(jnp.float32) / scale for column, scale in columns_of_seats], axis=-1),
        owner=owner,
        links=links.astype(jnp.float32),
        dice=faces,
        left=_one_hot(jnp.maximum(on_tile - 1, 0), _FACES),
        threat=threat_faces,
        alive=alive,
    )


def _merged(same: Array, adjacent: Array, mine: Array) -> Array:
    """int32 [batch, T]: how large a group of the observer's would be that has this tile added; of own tiles, is."""
    tiles = mine.shape[-1]
    sizes, first = jax.vmap(_groups)(same)
    heads = mine & (first == jnp.arange(tiles, dtype=jnp.int32))
    # For each tile and each head: whether a neighbour of the tile (or itself) lies in the head's group.
    near = adjacent | jnp.eye(tiles, dtype=jnp.bool_)
    member = (first[:, :, None] == jnp.arange(tiles, dtype=jnp.int32)) & mine[..., None]
    touches = jnp.einsum("bij,bjh->bih", near.astype(jnp.float32), member.astype(jnp.float32)) > 0.5
    joined = jnp.sum(jnp.where(touches & heads[:, None], sizes[:, None], 0), axis=-1)
    return jnp.where(mine, sizes, joined + 1)


def _groups(same: Array) -> tuple[Array, Array]:
    """(size, number of the first tile), int32 [T] each, of every tile's group; ``same`` bool [T, T]: links inside."""
    tiles = same.shape[0]
    reach = bits.reachable(bits.pack(same))
    size = jnp.sum(jax.lax.population_count(reach), axis=0, dtype=jnp.uint32).astype(jnp.int32)
    table = bits.unpack(reach, tiles)
    first = jnp.min(jnp.where(table, jnp.arange(tiles, dtype=jnp.int32), jnp.int32(tiles)), axis=1)
    return size, first


class _Block(nn.Module):
    """Tiles hear from neighbours and from their seat, seats from their tiles; both are added to the input."""

    scale: float

    @nn.compact
    def __call__(self, tiles: Array, seats: Array, inputs: _Inputs) -> tuple[Array, Array]:
        channels = tiles.shape[-1]
        out = nn.initializers.variance_scaling(self.scale, "fan_in", "truncated_normal")
        heard = nn.relu(_Gain(name="tile_gain")(tiles))
        asked = nn.relu(_Gain(name="seat_gain")(seats))

        # Each seat attends to its own tiles.
        query = nn.Dense(channels, use_bias=False, name="query")(asked)
        key = nn.Dense(channels, use_bias=False, name="key")(heard)
        score = jnp.einsum("bpc,btc->bpt", query, key) / jnp.float32(np.sqrt(channels))
        own = inputs.owner.swapaxes(1, 2)
        weight = jnp.exp(score - jnp.max(score, axis=-1, keepdims=True)) * own
        weight = weight / jnp.maximum(jnp.sum(weight, axis=-1, keepdims=True), jnp.float32(1e-6))
        # Constant rows alone in this product: with the learned weights among them their gradients would cost as much.
        message = jnp.einsum("bij,bjc->bic", jnp.concatenate([inputs.links / 4, own / 8], axis=1), heard)
        count = tiles.shape[1]
        allies, others, summed = jnp.split(message, (count, 2 * count), axis=1)
        attended = jnp.einsum("bpt,btc->bpc", weight, heard)

        # The seat's word to its tiles.
        told = jnp.einsum("btp,bpc->btc", inputs.owner, nn.Dense(channels, name="told")(asked))
        joined = jnp.concatenate([heard, allies, others], axis=-1)
        hidden = nn.relu(nn.Dense(channels, name="tile_in")(joined) + told)
        tiles = tiles + nn.Dense(channels, kernel_init=out, name="tile_out")(hidden)

        everybody = jnp.broadcast_to(jnp.mean(asked, axis=1, keepdims=True), asked.shape)
        joined = jnp.concatenate([asked, summed, attended, everybody], axis=-1)
        hidden = nn.relu(nn.Dense(channels, name="seat_in")(joined))
        seats = seats + nn.Dense(channels, kernel_init=out, name="seat_out")(hidden)
        return tiles, seats


class _Gain(nn.Module):
    """A learned scale and shift of each channel."""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        gain = self.param("gain", nn.initializers.ones, (x.shape[-1],), jnp.float32)
        return x * gain + self.param("shift", nn.initializers.zeros, (x.shape[-1],), jnp.float32)


class TileNetwork(nn.Module):
    """See the module's docstring. ``apply({"params": params}, observation)`` gives a ``TileOutput``."""

    config: TileConfig

    @nn.compact
    def __call__(self, observation: Array, actions: int | None = None) -> TileOutput:
        """Args: observation: [batch, tiles, players + 17 + tiles]; actions: not needed, the tiles tell."""
        del actions
        config = self.config
        inputs = _inputs(observation)
        seats = nn.Dense(config.channels, name="seats")(inputs.seats)
        tiles = nn.Dense(config.channels, name="tiles")(inputs.tiles)
        tiles = tiles + jnp.einsum("btp,bpc->btc", inputs.owner, seats)
        for number in range(config.blocks):
            tiles, seats = _Block(scale=0.5 / config.blocks, name=f"block_{number}")(tiles, seats, inputs)
        tiles, seats = nn.relu(tiles), nn.relu(seats)

        attacks = self._attacks(tiles, inputs)
        others = nn.Dense(3, kernel_init=_SMALL, name="others")(seats[:, 0])
        strength = nn.relu(nn.Dense(config.channels, name="seat_hidden")(seats))
        seat_logits = nn.Dense(1, kernel_init=_SMALL, name="seat_value")(strength)[..., 0]
        seat_logits = jnp.where(inputs.alive, seat_logits, jnp.float32(_ABSENT))
        return TileOutput(
            logits=jnp.concatenate([attacks.reshape(attacks.shape[0], -1), others], axis=-1),
            seat_logits=seat_logits,
            shares=jax.nn.softmax(seat_logits),
        )

    def _attacks(self, tiles: Array, inputs: _Inputs) -> Array:
        """float32 [batch, T, T]: logits of the attacks from each tile on each other one.

        The product of both tiles' vectors; the odds times what target and source say a win is worth; the chance that
        the strongest tile beside the target takes it back times what the target says of that.
        """
        pairs = self.config.pairs
        size = 2 * pairs + 3
        # Two layers rather than one on both inputs: the features need no gradient.
        said = nn.Dense(size, kernel_init=_SMALL, name="pair")(tiles)
        said = said + nn.Dense(size, kernel_init=_SMALL, use_bias=False, name="pair_features")(inputs.tiles)
        source, target, weights = jnp.split(said, (pairs, 2 * pairs), axis=-1)
        of_target, of_source, of_answer = jnp.moveaxis(weights, -1, 0)
        eagerness = self.param("eagerness", nn.initializers.constant(3.0), (), jnp.float32)
        odds = jnp.asarray(dice.odds(), jnp.float32)
        wins = jnp.einsum("bic,bjc->bij", inputs.dice @ odds, inputs.dice)
        answers = jnp.einsum("bic,bjc->bij", inputs.left, inputs.threat @ odds)
        logits = jnp.einsum("bic,bjc->bij", source, target)
        logits = logits + wins * (of_source[:, :, None] + of_target[:, None] + eagerness)
        return logits + answers * of_answer[:, None]


# What is read of a game's own network; see ``audamir_envs.learning``.
Config = TileConfig
BLOCK = "block_"  # how the parameters of each block are named, before its number


def make_network(config: TileConfig) -> TileNetwork:
    """The network of a configuration."""
    return TileNetwork(config)


def init_parameters(network: TileNetwork, observation_shape: tuple[int, ...], actions: int, key: Array) -> Any:
    """Fresh parameters, a tree of dicts of float32 arrays, which fit any number of tiles and players. Consumes key.

    Raises: ValueError: the network does not fit a game with such observations and actions.
    """
    tiles = observation_shape[0]
    players = observation_shape[-1] - tiles - observation.features(0)
    if len(observation_shape) != 2 or players < 2 or actions != tiles * tiles + 3:
        raise ValueError(
            f"the network reads [tiles, players + {observation.features(0)} + tiles] for tiles * tiles + 3 actions: "
            f"the game has observations {observation_shape} and {actions} actions"
        )
    return _initial(network, key)


def init_tile_parameters(network: TileNetwork, key: Array) -> Any:
    """``init_parameters`` of any size. Consumes key."""
    return _initial(network, key)


@functools.partial(jax.jit, static_argnums=0)
def _initial(network: TileNetwork, key: Array) -> Any:
    return network.init(key, jnp.zeros((1, *observation.shape(2, 4)), jnp.uint8))["params"]
