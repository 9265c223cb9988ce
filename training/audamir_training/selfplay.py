"""AlphaZero's play: many games at once, each ply searched, written to the replay.

The lanes of a group are used in this order: first those in which another level plays a seat, then those in which an
earlier self does, then those in which the learner plays both.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.agents.base import Agent
from audamir_envs.core import Array, Environment, Pytree
from audamir_envs.learned.networks import Evaluate
from audamir_envs.learned.search import SearchConfig, Searched, search
from audamir_envs.learning import Variant
from audamir_envs.sampling import sample_legal
from audamir_training import opponents
from audamir_training.games import ownership, start_of
from audamir_training.pools import Pool, draw_opponents, evaluate_each
from audamir_training.replay import Plies
from audamir_training.watching import Shown

_FORK_PLIES = 2  # a game that begins at an earlier game's position opens with 0 to so many random plies


class Lanes(Pytree):
    """Games in progress, [lanes] each."""

    game: Any
    ply: Array  # int32 [lanes]: plies of this game so far, its random opening not counted
    number: Array  # int32 [lanes]: which lane this is among those of all devices
    opponent: Array  # int32 [lanes]: the earlier self that plays a seat in this game, or -1


class Starts(Pytree):
    """Where games may begin instead of at the game's own start, [lanes] each."""

    game: Any
    known: Array  # bool [lanes]


@dataclasses.dataclass(frozen=True)
class PlaySettings:
    """How games are played; see ``settings.AlphaZeroSettings`` for the meaning and the units."""

    plies: int
    full: SearchConfig
    fast: SearchConfig
    full_share: float
    opening_plies: int
    random_share: float
    noise_halflife: float
    noise_floor: float
    fork_share: float = 0.0
    group: int = 1  # lanes of a group
    against: int = 0  # of these, how many another level plays a seat in
    pooled: int = 0  # and how many an earlier self


def begin(variant: Variant, opening_plies: int, keys: Array) -> Any:
    """[lanes] positions of new games after 0 to ``opening_plies`` random plies. Consumes keys [lanes]."""
    return jax.vmap(lambda key: begin_game(variant, opening_plies, key))(keys)


def begin_game(variant: Variant, opening_plies: int, key: Array, start: Any = None, forked: Array | None = None) -> Any:
    """A position of a new game; see ``begin``. Consumes key.

    Args: start: a position that the game begins at where ``forked``, bool [].
    """
    env = variant.env
    start_key, length_key, play_key = jax.random.split(key, 3)
    game = start_of(variant, start_key)
    most = jnp.int32(opening_plies)
    if forked is not None:
        game = jax.tree.map(lambda there, own: jnp.where(forked, there, own), start, game)
        most = jnp.where(forked, jnp.int32(min(_FORK_PLIES, opening_plies)), most)
    plies = jax.random.randint(length_key, (), 0, most + 1, jnp.int32)

    def play(game: Any, step: tuple[Array, Array]) -> tuple[Any, None]:
        number, key = step
        after = env.step_game(game, sample_legal(key, env.legal_actions(game)), None)
        outcome = env.outcome(after)
        goes_on = (number < plies) & ~(outcome.terminated | outcome.truncated)
        return jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), after, game), None

    steps = jnp.arange(opening_plies, dtype=jnp.int32)
    return jax.lax.scan(play, game, (steps, jax.random.split(play_key, opening_plies)))[0]


def record(variant: Variant, lanes: Lanes, found: Searched, full: Array, random: Array, after: Any) -> Plies:
    """What the replay keeps of one ply, [lanes] each."""
    outcome = jax.vmap(variant.env.outcome)(after)
    over = outcome.terminated | outcome.truncated
    mover = jax.vmap(variant.env.mover)(lanes.game)
    sign = 1 - 2 * mover.astype(jnp.float32)
    count = mover.shape[0]
    return Plies(
        game=lanes.game,
        slot_action=found.slot_action.astype(jnp.int16),
        slot_weight=found.slot_weight.astype(jnp.float16),
        rest=found.rest.astype(jnp.float16),
        full=jnp.broadcast_to(full, (count,)),
        mover=mover.astype(jnp.int8),
        root=found.value * sign,
        random=random,
        over=over,
        result=outcome.rewards[:, 0],
        ownership=jax.vmap(ownership(variant.env))(after),
        target=jnp.zeros(count, jnp.float32),
        ready=jnp.zeros(count, jnp.bool_),
    )


def show(env: Environment, lanes: Lanes, action: Array, after: Any) -> Shown:
    """The ply of the last lane, in which the learner plays both seats as long as any does."""
    game, ended = jax.tree.map(lambda leaf: leaf[-1], (lanes.game, after))
    outcome = env.outcome(ended)
    return Shown(
        game=game,
        action=action[-1].astype(jnp.int32),
        chance=jnp.zeros(env.chance_shape or (0,), jnp.uint8),
        after=ended,
        over=outcome.terminated | outcome.truncated,
        rewards=outcome.rewards,
    )


def other_seat(number: Array, group: int) -> Array:
    """int32: the seat that a level or an earlier self has in a lane: always the same one there and the other one in the
    next group, so that with an even number of groups it has either seat equally often."""
    return (number // group + number % group) % 2


def _part(settings: PlaySettings, leaf: Array, first: int, count: int) -> Array:
    """The lanes ``first`` to ``first + count`` of every group, [groups * count]."""
    return leaf.reshape(-1, settings.group, *leaf.shape[1:])[:, first : first + count].reshape(-1, *leaf.shape[1:])


def _with_part(settings: PlaySettings, leaf: Array, first: int, part: Array) -> Array:
    """The leaf [lanes] with other values in those lanes."""
    grouped = leaf.reshape(-1, settings.group)
    count = part.shape[0] // grouped.shape[0]
    return grouped.at[:, first : first + count].set(part.reshape(-1, count)).reshape(-1)


def with_level_moves(
    variant: Variant, settings: PlaySettings, level: Agent, lanes: Lanes, action: Array, keys: Array
) -> tuple[Array, Array]:
    """The actions, int32 [lanes], with a level's own where it is to move; and bool [lanes]: where that is.

    Args: action: int32 [lanes] of the learner; keys [lanes], consumed.
    """
    here = jax.tree.map(lambda leaf: _part(settings, leaf, 0, settings.against), (lanes, action, keys))
    seats, own, level_keys = here
    moves = jax.vmap(variant.env.mover)(seats.game) == other_seat(seats.number, settings.group)
    chosen = opponents.act(level, jax.vmap(variant.env.state_of)(seats.game), level_keys).astype(action.dtype)
    action = _with_part(settings, action, 0, jnp.where(moves, chosen, own))
    return action, _with_part(settings, jnp.zeros(action.shape, jnp.bool_), 0, moves)


def with_pool_moves(
    variant: Variant, settings: PlaySettings, network: Any, pool: Pool, lanes: Lanes, action: Array, keys: Array
) -> tuple[Array, Array]:
    """As ``with_level_moves``, with the moves of earlier selves by their own fast search, where a lane has one."""
    env, first = variant.env, settings.against
    here = jax.tree.map(lambda leaf: _part(settings, leaf, first, settings.pooled), (lanes, action, keys))
    seats, own, self_keys = here
    moves = jax.vmap(env.mover)(seats.game) == other_seat(seats.number, settings.group)
    moves = moves & (seats.opponent >= 0)
    evaluate = evaluate_each(network, pool, seats.opponent, env.num_actions)
    legal = jax.vmap(env.legal_actions)(seats.game)
    found = search(env, evaluate, seats.game, legal, self_keys, settings.fast, settings.noise_floor)
    action = _with_part(settings, action, first, jnp.where(moves, found.action, own))
    return action, _with_part(settings, jnp.zeros(action.shape, jnp.bool_), first, moves)


def play(
    variant: Variant,
    settings: PlaySettings,
    evaluate: Evaluate,
    lanes: Lanes,
    key: Array,
    level: Agent | None = None,
    starts: Starts | None = None,
    network: Any = None,
    pool: Pool | None = None,
) -> tuple[Lanes, Plies, dict[str, Array], Shown]:
    """Plays ``settings.plies`` plies in every lane. Consumes key; a lane's draws depend on its number, not its place.

    Where a level or an earlier self moves, the position is searched all the same: the search is what is learned, the
    other's move is what is played, and the result counts as that of any other game.

    Args: starts: what ``settings.fork_share`` of new games begin at; network, pool: of the earlier selves.
    Returns: the lanes; the plies for the replay [plies, lanes]; sums over lanes and plies, float32 [] each, and with a
    pool ``pool_games`` and ``pool_won``, float32 [selves]; what one lane played, [plies] each.
    """
    env = variant.env

    def choose(found: Searched, lanes: Lanes, legal: Array, keys: Array) -> tuple[Array, Array]:
        """The actions played, int32 [lanes], and bool [lanes]: drawn at random, against the search."""
        random = jax.vmap(lambda key: jax.random.uniform(key, (), jnp.float32))(keys[:, 1]) < settings.random_share
        action = jnp.where(random, jax.vmap(sample_legal)(keys[:, 2], legal), found.action)
        random = random & (action != found.action)
        if level is not None:
            action, others = with_level_moves(variant, settings, level, lanes, action, keys[:, 4])
            random = random & ~others
        if pool is not None:
            action, others = with_pool_moves(variant, settings, network, pool, lanes, action, keys[:, 4])
            random = random & ~others
        return action, random

    def new_games(lanes: Lanes, keys: Array) -> tuple[Any, Array]:
        """A new game for every lane, and its opponent."""
        opponent = jnp.full(lanes.number.shape, -1, jnp.int32)
        if pool is not None:
            place = lanes.number % settings.group - settings.against
            drawn = draw_opponents(pool, jax.vmap(lambda key: jax.random.fold_in(key, 1))(keys))
            opponent = jnp.where((place >= 0) & (place < settings.pooled), drawn, opponent)
        if starts is None:
            return begin(variant, settings.opening_plies, keys), opponent
        draws = jax.vmap(lambda key: jax.random.uniform(jax.random.fold_in(key, 2), (), jnp.float32))(keys)
        forked = starts.known & (draws < settings.fork_share)
        begun = jax.vmap(lambda key, start, fork: begin_game(variant, settings.opening_plies, key, start, fork))
        return begun(keys, starts.game, forked), opponent

    def ply(lanes: Lanes, step: Array) -> tuple[Lanes, tuple[Plies, dict[str, Array], Shown]]:
        step_key = jax.random.fold_in(key, step)
        kind_key, lane_key = jax.random.split(step_key)
        keys = jax.vmap(lambda lane: jax.random.split(jax.random.fold_in(lane_key, lane), 5))(lanes.number)
        legal = jax.vmap(env.legal_actions)(lanes.game)
        noise = jnp.exp2(-lanes.ply.astype(jnp.float32) / settings.noise_halflife)
        noise = jnp.maximum(noise, settings.noise_floor)

        def searched(config: SearchConfig) -> Searched:
            return search(env, evaluate, lanes.game, legal, keys[:, 0], config, noise)

        if settings.full_share >= 1:
            full, found = jnp.bool_(True), searched(settings.full)
        else:
            full = jax.random.uniform(kind_key, (), jnp.float32) < settings.full_share
            found = jax.lax.cond(full, lambda: searched(settings.full), lambda: searched(settings.fast))
        action, random = choose(found, lanes, legal, keys)
        after = jax.vmap(env.step_game, in_axes=(0, 0, None))(lanes.game, action, None)
        plies = record(variant, lanes, found, full, random, after)
        sums = _sums(settings, lanes, plies, found, pool)
        shown = show(env, lanes, action, after)

        def of_new(old: Array, new: Array) -> Array:
            return jnp.where(plies.over.reshape(-1, *[1] * (old.ndim - 1)), new, old)

        fresh, opponent = new_games(lanes, keys[:, 3])
        lanes = Lanes(
            game=jax.tree.map(of_new, after, fresh),
            ply=jnp.where(plies.over, jnp.int32(0), lanes.ply + 1),
            number=lanes.number,
            opponent=of_new(lanes.opponent, opponent),
        )
        return lanes, (plies, sums, shown)

    lanes, (plies, sums, shown) = jax.lax.scan(ply, lanes, jnp.arange(settings.plies, dtype=jnp.int32))
    return lanes, plies, jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), sums), shown


def _sums(settings: PlaySettings, lanes: Lanes, plies: Plies, found: Searched, pool: Pool | None) -> dict[str, Array]:
    """Of one ply, over the lanes."""
    sums = {
        "games": jnp.sum(plies.over, dtype=jnp.float32),
        "length": jnp.sum(jnp.where(plies.over, lanes.ply + 1, 0), dtype=jnp.float32),
        "drawn": jnp.sum(plies.over & (plies.result == 0), dtype=jnp.float32),
        "entropy": jnp.sum(found.entropy),
        "full": jnp.sum(plies.full, dtype=jnp.float32),
        "surprise": jnp.sum(jnp.abs(found.value - found.raw_value)),
    }
    if pool is not None:
        ended = plies.over[:, None] & (lanes.opponent[:, None] == jnp.arange(pool.score.shape[0], dtype=jnp.int32))
        sign = jnp.where(other_seat(lanes.number, settings.group) == 0, jnp.float32(-1), jnp.float32(1))
        shares = (1 + sign * plies.result) / 2
        sums["pool_games"] = jnp.sum(ended, axis=0, dtype=jnp.float32)
        sums["pool_won"] = jnp.sum(jnp.where(ended, shares[:, None], jnp.float32(0)), axis=0)
    return sums
