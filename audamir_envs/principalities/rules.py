"""The rules: dealing, attacks, reinforcement, the order of turns, the vote on points and the result.

Tiles T and players P are shapes; everything else that may differ between games is in the position. What chance decides
is apart from what follows from it: ``attack`` takes the outcome of the dice and ``end_turn`` the tiles that received
dice, so recorded games can be replayed, while ``draw`` draws both and ``step`` is ``given`` what was drawn.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, Outcome, Pytree
from audamir_envs.principalities import dice as dicing
from audamir_envs.principalities.bits import count_before, flatten, pack, reachable, unpack

MOST = dicing.MOST
RESERVE_CAP = 64
QUIET_ROUNDS = 4  # without an attack, after which the game offers to end on points
ACCEPTED, DECLINED = 1, -1
BASE_SCORES = (79, 89, 93, 97, 99, 101, 103)  # of a win against 1 to 7 others

DRAWS = 16  # dice placed in one pass


class Position(Pytree):
    """A game of P players on T tiles."""

    neighbours: Array  # uint32 [W, T]: of each tile, as a set of bits (see bits.py)
    hex_of_tile: Array  # int [rows, cols]: the tile of each small hexagon, -1 for none; for drawing only
    owner: Array  # int8 [T]: seats
    dice: Array  # int8 [T]: 1 to MOST
    group: Array  # int16 [T]: tiles in the connected group of one owner that the tile belongs to
    reserve: Array  # int32 [P]: dice that found no room, up to RESERVE_CAP
    player: Array  # int32 []: whose turn it is, also while others vote
    start_seat: Array  # int32 []: who had the first turn
    round: Array  # int32 []: from 1; max_rounds + 1 once the last round is over
    attacked: Array  # bool []: the player has attacked in this turn
    quiet_turns: Array  # int32 []: turns in a row that ended without an attack
    offered: Array  # bool []: the game has offered to end on points
    votes: Array  # int8 [P]: ACCEPTED, DECLINED, or 0 before a seat's answer
    points_offer: Array  # bool []: option, whether the game ever offers to end on points
    hints: Array  # bool []: option
    max_rounds: Array  # int32 []: option


def num_actions(tiles: int) -> int:
    """Attacks from * tiles + to, then end, accept, decline."""
    return tiles * tiles + 3


def most_actions(players: int, tiles: int, max_rounds: int) -> int:
    """A bound on the actions of one game from any position.

    Call a tile's dice above the first its moving dice. Every attack, won or lost, takes at least one moving die off the
    map and adds none, so attacks are no more than moving dice: 7 a tile at first, the reserves, and the incomes.
    With n players living the largest group has at most tiles - n + 1 tiles; each of their turns adds one end of turn.
    """
    a_round = max(n * (tiles - n + 2) for n in range(2, players + 1))
    return max_rounds * a_round + (MOST - 1) * tiles + RESERVE_CAP * players + players


# Tiles and seats.


def _tile_numbers(position: Position) -> Array:
    return jnp.arange(position.owner.shape[0], dtype=jnp.int32)


def _seats(position: Position) -> Array:
    return jnp.arange(position.reserve.shape[0], dtype=jnp.int32)


def owned(position: Position) -> Array:
    """bool [P, T]: the tiles of each seat."""
    return position.owner[None] == _seats(position).astype(jnp.int8)[:, None]


def alive(position: Position) -> Array:
    """bool [P]: who has a tile."""
    return jnp.any(owned(position), axis=1)


def largest_groups(position: Position) -> Array:
    """int32 [P]: the size of each seat's largest connected group."""
    return jnp.max(jnp.where(owned(position), position.group, jnp.int16(0)), axis=1).astype(jnp.int32)


def group_sizes(neighbours: Array, owner: Array, players: int) -> Array:
    """int16 [T]: the size of each tile's connected group."""
    tiles_of = pack(owner[None] == jnp.arange(players, dtype=jnp.int8)[:, None])  # [W, P]
    same = jnp.zeros_like(neighbours)
    for seat in range(players):
        same = jnp.where(owner == jnp.int8(seat), tiles_of[:, seat, None], same)
    reach = reachable(neighbours & same)
    return jnp.sum(jax.lax.population_count(reach), axis=0, dtype=jnp.uint32).astype(jnp.int16)


def _next_seat(position: Position, eligible: Array, nearest: int) -> tuple[Array, Array]:
    """(seat, steps), int32 [] each: the first eligible seat (bool [P]) ``nearest`` steps or more from the player."""
    players = position.reserve.shape[0]
    distance = (_seats(position) - position.player - jnp.int32(nearest)) % jnp.int32(players) + jnp.int32(nearest)
    steps = jnp.min(jnp.where(eligible, distance, jnp.int32(players)))
    return (position.player + steps) % jnp.int32(players), steps


# The vote on points.


def _unanimous(position: Position, living: Array) -> Array:
    return position.offered & jnp.all(~living | (position.votes == jnp.int8(ACCEPTED)))


def voting(position: Position) -> Array:
    """bool []: the offer to end on points awaits an answer."""
    refused = jnp.any(position.votes == jnp.int8(DECLINED))
    return position.offered & ~refused & ~_unanimous(position, alive(position))


def mover(position: Position) -> Array:
    """int32 []: who decides now: in a vote, the first living seat in turn order that has not answered."""
    waiting = alive(position) & (position.votes == jnp.int8(0))
    voter, _ = _next_seat(position, waiting, 0)
    return jnp.where(voting(position), voter, position.player)


def vote(position: Position, accept: Array) -> Position:
    """The position after the mover's answer (bool []); one refusal lets the player in turn go on."""
    answer = jnp.where(accept, jnp.int8(ACCEPTED), jnp.int8(DECLINED))
    return position.replace(votes=jnp.where(_seats(position) == mover(position), answer, position.votes))


# Attacks and the end of a turn, given what chance decided.


def attacks(position: Position) -> Array:
    """bool [T, T]: from an own tile with two dice or more to a neighbouring tile of another seat."""
    return unpack(_attack_bits(position), position.owner.shape[0])


def _attack_bits(position: Position) -> Array:
    """uint32 [W, T]: the rows of ``attacks``."""
    own = position.owner == position.player.astype(jnp.int8)
    able = own & (position.dice > jnp.int8(1))
    return jnp.where(able, position.neighbours & pack(~own)[:, None], jnp.uint32(0))


def attack(position: Position, source: Array, target: Array, won: Array) -> Position:
    """The position after an attack (tiles int32 [], outcome bool []): all dice but one move in, or are lost."""
    tile = _tile_numbers(position)
    moving = position.dice[source] - jnp.int8(1)
    taken = (tile == target) & won
    owner = jnp.where(taken, position.player.astype(jnp.int8), position.owner)
    left = jnp.where(tile == source, jnp.int8(1), position.dice)
    return position.replace(
        owner=owner,
        dice=jnp.where(taken, moving, left),
        group=group_sizes(position.neighbours, owner, position.reserve.shape[0]),
        attacked=jnp.ones((), jnp.bool_),
        quiet_turns=jnp.zeros((), jnp.int32),
    )


def income(position: Position) -> Array:
    """int32 []: the dice that the player's end of turn would place: the largest group and the reserve."""
    own = position.owner == position.player.astype(jnp.int8)
    largest = jnp.max(jnp.where(own, position.group, jnp.int16(0))).astype(jnp.int32)
    return largest + position.reserve[position.player]


def end_turn(position: Position, placed: Array) -> Position:
    """The position after the player's turn ends and its tiles received dice (int32 [T]).

    What is left of the income waits in the reserve; the next living seat has the turn; the round rises when play
    reaches or passes the seat that started; after enough quiet rounds the game offers, once, to end on points.
    """
    left = jnp.minimum(income(position) - jnp.sum(placed, dtype=jnp.int32), jnp.int32(RESERVE_CAP))
    living = alive(position)
    player, steps = _next_seat(position, living, 1)
    players = jnp.int32(position.reserve.shape[0])
    to_start = (position.start_seat - position.player - jnp.int32(1)) % players + jnp.int32(1)
    quiet = jnp.where(position.attacked, jnp.int32(0), position.quiet_turns + jnp.int32(1))
    long = quiet >= jnp.int32(QUIET_ROUNDS) * jnp.sum(living, dtype=jnp.int32)
    return position.replace(
        dice=position.dice + placed.astype(jnp.int8),
        reserve=jnp.where(_seats(position) == position.player, left, position.reserve),
        player=player,
        round=position.round + (to_start <= steps).astype(jnp.int32),
        attacked=jnp.zeros((), jnp.bool_),
        quiet_turns=quiet,
        offered=position.offered | (position.points_offer & long),
    )


# Chance.


def place(capacity: Array, count: Array, words: Array, key: Array) -> Array:
    """int32 [T]: how many of count dice fall on each tile, one by one uniformly on the tiles that still have room.

    Several dice are drawn at once among the tiles with room; one that falls on a tile filled meanwhile is drawn again
    in the next pass, which is the same as never drawing such a tile. Consumes words, and key if they do not suffice.

    Args: capacity: int32 [T], dice that each tile can take; count: int32 []; what finds no room is not placed; words:
    uint32 [DRAWS], uniform; key may be the one that they were drawn from.
    """
    number = jnp.arange(DRAWS, dtype=jnp.int32)

    def one_pass(capacity: Array, count: Array, words: Array) -> tuple[Array, Array]:
        free = capacity > jnp.int32(0)
        rank = count_before(free)
        drawn = _below(words, jnp.sum(free, dtype=jnp.int32)).astype(jnp.int32)
        drawn = jnp.where(number < count, drawn, jnp.int32(-1))
        hits = jnp.sum((rank[None] == drawn[:, None]) & free[None], axis=0, dtype=jnp.int32)
        placed = jnp.minimum(hits, capacity)
        return capacity - placed, count - jnp.sum(placed, dtype=jnp.int32)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        _, left, count = carry
        return (count > jnp.int32(0)) & jnp.any(left > jnp.int32(0))

    def again(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        index, left, count = carry
        more = jax.random.bits(jax.random.fold_in(key, index), (DRAWS,), jnp.uint32)
        return index + jnp.int32(1), *one_pass(left, count, more)

    _, left, _ = jax.lax.while_loop(unfinished, again, (jnp.int32(0), *one_pass(capacity, count, words)))
    return capacity - left


def _below(words: Array, limit: Array) -> Array:
    """uint32: floor(words * limit / 2**32) for a limit (int32) below 2**16: uniform up to 2**-32 each."""
    limit = limit.astype(jnp.uint32)
    half = jnp.uint32(16)
    return ((words >> half) * limit + (((words & jnp.uint32(0xFFFF)) * limit) >> half)) >> half


def capacity_of(position: Position, seat: Array) -> Array:
    """int32 [T]: the dice that each tile of a seat (int32 []) can still take."""
    own = position.owner == seat.astype(jnp.int8)
    return jnp.where(own, jnp.int32(MOST) - position.dice.astype(jnp.int32), jnp.int32(0))


def chance_shape(tiles: int) -> tuple[int]:
    """Of ``draw``: the sums of the attacker's and the defender's dice, then the dice that fall on each tile."""
    return (2 + tiles,)


def draw(position: Position, action: Array, key: Array) -> Array:
    """uint8 [2 + T]: what chance decides of a legal action (int32 []), zeros where nothing. Consumes key.

    An action needs dice or placements, never both, so that both are made of the same words.
    """
    tiles = position.owner.shape[0]
    fights, ends, source, target = _parts(action, tiles)
    words = jax.random.bits(key, (DRAWS,), jnp.uint32)
    attacking = dicing.roll(words[0], position.dice[source].astype(jnp.int32))
    defending = dicing.roll(words[1], position.dice[target].astype(jnp.int32))
    rolls = jnp.where(fights, jnp.stack([attacking, defending]), jnp.int32(0))
    falling = jnp.where(ends, income(position), jnp.int32(0))
    placed = place(capacity_of(position, position.player), falling, words, key)
    return jnp.concatenate([rolls, placed]).astype(jnp.uint8)


def given(position: Position, action: Array, chance: Array) -> Position:
    """The position after a legal action (int32 []) and what chance decided, as ``draw`` gives it."""
    tiles = position.owner.shape[0]
    fights, ends, source, target = _parts(action, tiles)
    fought = attack(position, source, target, chance[0] > chance[1])
    ended = end_turn(position, chance[2:].astype(jnp.int32))
    voted = vote(position, action == jnp.int32(tiles * tiles + 1))
    return _select(fights, fought, _select(ends, ended, voted))


def possible(position: Position, action: Array, chance: Array) -> Array:
    """bool []: whether ``draw`` can give this for a legal action: sums the dice can show, all income placed."""
    fights, ends, source, target = _parts(action, position.owner.shape[0])
    rolls, placed = chance[:2].astype(jnp.int32), chance[2:].astype(jnp.int32)
    thrown = jnp.where(fights, position.dice[jnp.stack([source, target])].astype(jnp.int32), jnp.int32(0))
    capacity = jnp.where(ends, capacity_of(position, position.player), jnp.int32(0))
    falling = jnp.minimum(income(position), jnp.sum(capacity, dtype=jnp.int32))
    return (
        jnp.all((rolls >= thrown) & (rolls <= jnp.int32(6) * thrown))
        & jnp.all(placed <= capacity)
        & (jnp.sum(placed, dtype=jnp.int32) == falling)
    )


def _parts(action: Array, tiles: int) -> tuple[Array, Array, Array, Array]:
    """Whether an action attacks, whether it ends the turn, and its two tiles."""
    fights, ends = action < jnp.int32(tiles * tiles), action == jnp.int32(tiles * tiles)
    return fights, ends, action // jnp.int32(tiles) % jnp.int32(tiles), action % jnp.int32(tiles)


def step(position: Position, action: Array, key: Array) -> Position:
    """The position after a legal action (int32 []). Consumes key."""
    return given(position, action, draw(position, action, key))


def _select(condition: Array, yes: Position, no: Position) -> Position:
    return jax.tree.map(lambda a, b: a if a is b else jnp.where(condition, a, b), yes, no)


# The start.


def deal(key: Array, players: int, tiles: int) -> tuple[Array, Array]:
    """(owner int8 [T], dice int8 [T]) of a new game. Consumes key.

    Tiles are dealt evenly, who gets one more at random.
    """
    words = jax.random.bits(key, (tiles + players + players * DRAWS,), jnp.uint32)
    tile_words, seat_words, dice_words = jnp.split(words, (tiles, tiles + players))
    owner = _ranks(seat_words)[_ranks(tile_words) % jnp.int32(players)]
    seats = jnp.arange(players, dtype=jnp.int32)
    own = owner[None] == seats[:, None]
    more = jnp.asarray([round(2.1 * count) for count in range(tiles + 1)], jnp.int32)
    count = more[jnp.sum(own, axis=1, dtype=jnp.int32)]
    capacity = jnp.where(own, jnp.int32(MOST - 1), jnp.int32(0))
    keys = jax.vmap(lambda seat: jax.random.fold_in(key, seat))(seats)
    placed = jax.vmap(place)(capacity, count, dice_words.reshape(players, DRAWS), keys)
    return owner.astype(jnp.int8), (jnp.int32(1) + jnp.sum(placed, axis=0, dtype=jnp.int32)).astype(jnp.int8)


def _ranks(words: Array) -> Array:
    """int32 [N]: a random permutation: the ranks of random words (equal ones, once in 2**32 pairs, by number)."""
    number = np.arange(words.shape[0])
    other, own = words[None], words[:, None]
    before = (other < own) | ((other == own) & jnp.asarray(number < number[:, None]))
    return jnp.sum(before, axis=1, dtype=jnp.int32)


def start(
    key: Array,
    neighbours: Array,
    hex_of_tile: Array,
    players: int,
    *,
    starter: int | None = None,
    points_offer: bool = True,
    hints: bool = False,
    max_rounds: int = 500,
) -> Position:
    """A new game on a map (neighbours: bool [T, T]). Consumes key.

    The deal does not depend on who starts: a random seat (None), or the one given.
    """
    deal_key, seat_key = jax.random.split(key)
    owner, dice = deal(deal_key, players, neighbours.shape[0])
    drawn = _below(jax.random.bits(seat_key, (), jnp.uint32), jnp.int32(players)).astype(jnp.int32)
    seat = drawn if starter is None else jnp.int32(starter)
    rows = pack(neighbours)
    return Position(
        neighbours=rows,
        hex_of_tile=hex_of_tile,
        owner=owner,
        dice=dice,
        group=group_sizes(rows, owner, players),
        reserve=jnp.zeros(players, jnp.int32),
        player=seat,
        start_seat=seat,
        round=jnp.ones((), jnp.int32),
        attacked=jnp.zeros((), jnp.bool_),
        quiet_turns=jnp.zeros((), jnp.int32),
        offered=jnp.zeros((), jnp.bool_),
        votes=jnp.zeros(players, jnp.int8),
        points_offer=jnp.asarray(points_offer, jnp.bool_),
        hints=jnp.asarray(hints, jnp.bool_),
        max_rounds=jnp.asarray(max_rounds, jnp.int32),
    )


# Legality and the result.


def legal_actions(position: Position) -> Array:
    """bool [T * T + 3] for the mover."""
    vote = voting(position)
    bits = jnp.where(vote, jnp.uint32(0), _attack_bits(position))
    return jnp.concatenate([flatten(bits), jnp.stack([~vote, vote, vote])])


def standing(position: Position) -> Array:
    """int32 [P]: grows with tiles, then with dice on tiles."""
    own = owned(position)
    tiles = jnp.sum(own, axis=1, dtype=jnp.int32)
    dice = jnp.sum(jnp.where(own, position.dice, jnp.int8(0)), axis=1, dtype=jnp.int32)
    return tiles * jnp.int32(MOST * position.owner.shape[0] + 1) + dice


def _over(position: Position) -> tuple[Array, Array, Array]:
    """bool [] each: one seat is left; all accepted to end on points; the last round is over."""
    living = alive(position)
    conquered = jnp.sum(living, dtype=jnp.int32) == jnp.int32(1)
    agreed = _unanimous(position, living)
    return conquered, agreed & ~conquered, (position.round > position.max_rounds) & ~conquered & ~agreed


def winners(position: Position) -> Array:
    """bool [P]: who is at the top in points: the conqueror, if there is one."""
    points = standing(position)
    return points == jnp.max(points)


def outcome(position: Position) -> Outcome:
    """The last seat with a tile wins; a vote or the round limit settles on points, shared among the best."""
    conquered, agreed, timed_out = _over(position)
    top = winners(position)
    players = position.reserve.shape[0]
    share = top.astype(jnp.float32) / jnp.sum(top, dtype=jnp.int32).astype(jnp.float32)
    return Outcome(
        terminated=conquered | agreed,
        truncated=timed_out,
        rewards=(jnp.float32(players) * share - jnp.float32(1)) / jnp.float32(players - 1),
    )


def score(position: Position) -> Array:
    """int32 [P]: of a sole winner once the game is over, 0 for everybody else.

    The base by players, x 0.6 on points, x 0.75 with hints, up to 25 % more for a win before round 30; rounded half up.
    """
    conquered, agreed, timed_out = _over(position)
    top = winners(position)
    rounds = jnp.minimum(jnp.minimum(position.round, position.max_rounds), jnp.int32(30))
    base = BASE_SCORES[position.reserve.shape[0] - 2]
    # Units of 1 / 4800: tenths for points, quarters for hints, and 1 + (1 - rounds / 30) / 4 = (150 - rounds) / 120.
    units = jnp.int32(base) * jnp.where(conquered, jnp.int32(10), jnp.int32(6)) * (jnp.int32(150) - rounds)
    units = units * jnp.where(position.hints, jnp.int32(3), jnp.int32(4))
    rounded = (jnp.int32(2) * units + jnp.int32(4800)) // jnp.int32(2 * 4800)
    sole = jnp.sum(top, dtype=jnp.int32) == jnp.int32(1)
    return jnp.where((conquered | agreed | timed_out) & sole & top, rounded, jnp.int32(0))


def odds(position: Position) -> Array:
    """float32 [T, T]: the exact chance of every legal attack, 0 elsewhere."""
    tiles: Any = position.dice.astype(jnp.int32)
    chance = jnp.asarray(dicing.odds(), jnp.float32)[tiles[:, None], tiles]
    return jnp.where(attacks(position) & ~voting(position), chance, jnp.float32(0))
