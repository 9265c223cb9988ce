"""What the dice decide, as distributions: attacks, placements, deals and who starts."""

import collections
import functools
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from principalities.positions import environment, position

from audamir_envs.principalities import dice, rules

CHEAP = {"xla_backend_optimization_level": 0}
SIGMAS = 4.5  # allowed in each comparison; all draws are fixed, so a test that passes once passes for ever


@functools.cache
def program():
    """Steps a batch of five-tile positions of two players."""
    return jax.jit(jax.vmap(rules.step), compiler_options=CHEAP)


def after(p: dict, action: str, games: int, seed: int, **changes):
    """The positions after one action in so many games; changes replace fields, one value a game."""
    env = environment(2, p["neighbours"])
    one = jax.device_get(env.from_text(json.dumps(p)).game)
    start = jax.tree.map(lambda leaf: np.repeat(leaf[None], games, axis=0), one)
    number = jnp.full(games, env.text_to_action(action), jnp.int32)
    return jax.device_get(program()(start.replace(**changes), number, jax.random.split(jax.random.key(seed), games)))


def close(counts: dict, exact: dict, games: int) -> None:
    """Every observed count within so many standard errors of what is expected, and nothing impossible observed."""
    assert set(counts) <= set(exact)
    for outcome, chance in exact.items():
        deviation = abs(counts.get(outcome, 0) - games * chance)
        assert deviation <= SIGMAS * math.sqrt(games * chance * (1 - chance)) + 1, (outcome, chance)


def test_attacks_in_play_win_as_often_as_the_odds_say():
    each = 4000
    attackers, defenders = (np.repeat(n, each) for n in np.divmod(np.arange(2, 66) - 2, 8))
    attackers, defenders = attackers + 1, defenders + 1
    table = np.full((attackers.size, 5), 3, np.int8)
    table[:, 0], table[:, 1] = attackers, defenders
    # One die may not attack, but the step throws it all the same: all 64 pairs are seen.
    end = after(position([0, 1, 1, 1, 1], [3] * 5), "0>1", attackers.size, 7, dice=jnp.asarray(table))
    won = (end.owner[:, 1] == 0).reshape(64, each).mean(axis=1)
    exact = dice.odds()[1:, 1:].reshape(64)
    assert (np.abs(won - exact) <= SIGMAS * np.sqrt(exact * (1 - exact) / each) + 1 / each).all()


def falls(room: tuple[int, ...], count: int) -> dict[tuple[int, ...], float]:
    """The chance of every result of dice that fall one by one, by following all ways."""
    chances = {(0,) * len(room): 1.0}
    for _ in range(count):
        following: dict[tuple[int, ...], float] = collections.defaultdict(float)
        for placed, chance in chances.items():
            free = [t for t in range(len(room)) if placed[t] < room[t]]
            for tile in free:
                following[tuple(p + (t == tile) for t, p in enumerate(placed))] += chance / len(free)
            if not free:
                following[placed] += chance
        chances = following
    return dict(chances)


@pytest.mark.parametrize(
    ("held", "reserve"),
    [
        ((1, 1, 1), 0),  # three dice, room for all: plainly multinomial
        ((7, 6, 5), 1),  # four dice, two tiles may fill up meanwhile
        ((7, 1, 4), 9),  # twelve dice: more than one pass, and a tile that fills early
        ((6, 7, 7), 0),  # three dice, four places
        ((7, 7, 8), 20),  # more dice than room
    ],
)
def test_dice_fall_one_by_one_on_tiles_with_room(held, reserve):
    games = 40_000
    end = after(position([0, 0, 0, 1, 1], [*held, 1, 1], reserve=[reserve, 0]), "end", games, sum(held) + reserve)
    placed = collections.Counter(map(tuple, (end.dice[:, :3] - np.asarray(held)).tolist()))
    close(placed, falls(tuple(8 - n for n in held), 3 + reserve), games)
    assert (end.dice[:, 3:] == 1).all()


@functools.cache
def deals(players: int, games: int):
    touch = np.ones((32, 32), bool) & ~np.eye(32, dtype=bool)
    one = functools.partial(rules.start, players=players)
    many = jax.vmap(lambda key: one(key, jnp.asarray(touch), jnp.zeros((1, 1), jnp.int8)))
    start = jax.jit(many, compiler_options=CHEAP)
    return jax.device_get(start(jax.random.split(jax.random.key(11), games)))


GAMES = 20_000


def test_tiles_are_dealt_evenly_and_at_random():
    dealt = deals(5, GAMES)
    tiles = (dealt.owner[:, :, None] == np.arange(5)).sum(axis=1)
    assert np.sort(tiles, axis=1).tolist() == [[6, 6, 6, 7, 7]] * GAMES
    close(collections.Counter(map(tuple, np.argsort(tiles, kind="stable")[:, 3:].tolist())), pairs(5), GAMES)
    for tile in (0, 1, 31):
        close(collections.Counter(dealt.owner[:, tile].tolist()), dict.fromkeys(range(5), 1 / 5), GAMES)
    # Two tiles go to the same seat as often as a shuffled deck would have it: no round-robin by number.
    same = (2 * 7 * 6 + 3 * 6 * 5) / (32 * 31)
    for other in (1, 5, 31):
        together = dealt.owner[:, 0] == dealt.owner[:, other]
        close(collections.Counter(together.tolist()), {True: same, False: 1 - same}, GAMES)


def pairs(n: int) -> dict[tuple[int, int], float]:
    return {(a, b): 2 / (n * (n - 1)) for a in range(n) for b in range(a + 1, n)}


def test_dice_are_dealt_by_the_number_of_tiles():
    dealt = deals(5, GAMES)
    own = dealt.owner[:, :, None] == np.arange(5)
    total = np.where(own, dealt.dice[:, :, None], 0).sum(axis=1)
    assert (total == np.where(own.sum(axis=1) == 7, 7 + round(2.1 * 7), 6 + round(2.1 * 6))).all()
    assert 3.0 <= dealt.dice.mean() <= 3.2
    assert dealt.dice.min() == 1
    assert dealt.dice.max() == 8
    # Every tile alike: means agree within standard errors.
    error = dealt.dice.std() / np.sqrt(GAMES)
    assert (np.abs(dealt.dice.mean(axis=0) - dealt.dice.mean()) < SIGMAS * error).all()
    for tiles, players in ((32, 2), (32, 3), (32, 4), (36, 6), (42, 7), (48, 8)):
        share = [tiles // players + (seat < tiles % players) for seat in range(players)]
        assert 3.0 <= 1 + sum(round(2.1 * n) for n in share) / tiles <= 3.2


def test_who_starts_is_uniform_and_independent_of_the_deal():
    dealt = deals(5, GAMES)
    assert (dealt.player == dealt.start_seat).all()
    close(collections.Counter(dealt.player.tolist()), dict.fromkeys(range(5), 1 / 5), GAMES)
    with_first = collections.Counter(zip(dealt.player.tolist(), dealt.owner[:, 0].tolist(), strict=True))
    close(with_first, {(a, b): 1 / 25 for a in range(5) for b in range(5)}, GAMES)
    tiles = (dealt.owner[:, :, None] == np.arange(5)).sum(axis=1)
    more = tiles[np.arange(GAMES), dealt.player] == 7
    close(collections.Counter(more.tolist()), {True: 2 / 5, False: 3 / 5}, GAMES)


def test_a_fixed_starter_changes_nothing_else():
    touch, grid = jnp.asarray(~np.eye(32, dtype=bool)), jnp.zeros((1, 1), jnp.int8)
    one = jax.jit(functools.partial(rules.start, players=5, starter=3), compiler_options=CHEAP)
    dealt = deals(5, GAMES)
    for n, key in enumerate(jax.random.split(jax.random.key(11), GAMES)[:5]):
        fixed = one(key, touch, grid)
        assert int(fixed.player) == int(fixed.start_seat) == 3
        np.testing.assert_array_equal(fixed.owner, dealt.owner[n])
        np.testing.assert_array_equal(fixed.dice, dealt.dice[n])
