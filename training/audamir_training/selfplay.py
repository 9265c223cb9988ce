"""AlphaZero's play: many games at once, each ply searched, written to the replay."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.agents.base import Agent
from audamir_envs.core import Array, Pytree
from audamir_envs.learned.networks import Evaluate
from audamir_envs.learned.search import SearchConfig, Searched, search
from audamir_envs.learning import Variant
from audamir_envs.sampling import sample_legal
from audamir_training import replay as replays
from audamir_training.games import ownership, start_of


class Lanes(Pytree):
    """Games in progress, [lanes] each."""

    game: Any
    ply: Array  # int32 [lanes]: plies of this game so far, its random opening not counted
    number: Array  # int32 [lanes]: which lane this is among those of all devices


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
    group: int = 1  # lanes of a group
    against: int = 0  # of these, how many a scripted level plays a seat in


def begin(variant: Variant, opening_plies: int, keys: Array) -> Any:
    """[lanes] positions of new games after 0 to ``opening_plies`` random plies. Consumes keys [lanes]."""
    env = variant.env

    def one(key: Array) -> Any:
        start_key, length_key, play_key = jax.random.split(key, 3)
        game = start_of(variant, start_key)
        plies = jax.random.randint(length_key, (), 0, opening_plies + 1, jnp.int32)

        def play(game: Any, step: tuple[Array, Array]) -> tuple[Any, None]:
            number, key = step
            after = env.step_game(game, sample_legal(key, env.legal_actions(game)), None)
            outcome = env.outcome(after)
            goes_on = (number < plies) & ~(outcome.terminated | outcome.truncated)
            return jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), after, game), None

        steps = jnp.arange(opening_plies, dtype=jnp.int32)
        return jax.lax.scan(play, game, (steps, jax.random.split(play_key, opening_plies)))[0]

    return jax.vmap(one)(keys)


def record(variant: Variant, lanes: Lanes, found: Searched, full: Array, random: Array, after: Any) -> replays.Replay:
    """What the replay keeps of one ply; cursor and filled are None."""
    outcome = jax.vmap(variant.env.outcome)(after)
    over = outcome.terminated | outcome.truncated
    mover = jax.vmap(variant.env.mover)(lanes.game)
    sign = 1 - 2 * mover.astype(jnp.float32)
    count = mover.shape[0]
    return replays.Replay(
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
        cursor=None,  # type: ignore[arg-type]
        filled=None,  # type: ignore[arg-type]
    )


def with_level(
    variant: Variant, settings: PlaySettings, level: Agent, lanes: Lanes, action: Array, keys: Array
) -> tuple[Array, Array]:
    """The actions, int32 [lanes], with a scripted level's own where it is to move; and bool [lanes]: where that is.

    It has a seat in the first ``settings.against`` lanes of each group, always the same one in a lane and the other one
    in the next group: with an even number of groups it has either seat equally often.

    Args: action: int32 [lanes] of the learner; keys [lanes], consumed.
    """
    env, group, against = variant.env, settings.group, settings.against

    def those(leaf: Array) -> Array:
        return leaf.reshape(-1, group, *leaf.shape[1:])[:, :against].reshape(-1, *leaf.shape[1:])

    number, games = those(lanes.number), jax.tree.map(those, lanes.game)
    seat = (number // group + number % group) % 2
    moves = jax.vmap(env.mover)(games) == seat
    chosen = jax.vmap(level.act)(jax.vmap(env.state_of)(games), those(keys)).astype(action.dtype)
    grouped = action.reshape(-1, group)
    grouped = grouped.at[:, :against].set(jnp.where(moves, chosen, those(action)).reshape(-1, against))
    its = jnp.zeros(grouped.shape, jnp.bool_).at[:, :against].set(moves.reshape(-1, against))
    return grouped.reshape(-1), its.reshape(-1)


def play(
    variant: Variant,
    settings: PlaySettings,
    evaluate: Evaluate,
    lanes: Lanes,
    key: Array,
    level: Agent | None = None,
) -> tuple[Lanes, replays.Replay, dict[str, Array]]:
    """Plays ``settings.plies`` plies in every lane. Consumes key; a lane's draws depend on its number, not its place.

    Where a level moves, the position is searched all the same: the search is what is learned, the level's move is what
    is played, and the result counts as that of any other game.

    Returns: the lanes; the plies for the replay [plies, lanes]; sums over lanes and plies, float32 [] each.
    """
    env = variant.env

    def ply(lanes: Lanes, step: Array) -> tuple[Lanes, tuple[replays.Replay, dict[str, Array]]]:
        step_key = jax.random.fold_in(key, step)
        kind_key, lane_key = jax.random.split(step_key)
        keys = jax.vmap(lambda lane: jax.random.split(jax.random.fold_in(lane_key, lane), 5))(lanes.number)
        legal = jax.vmap(env.legal_actions)(lanes.game)
        noise = jnp.exp2(-lanes.ply.astype(jnp.float32) / settings.noise_halflife)
        noise = jnp.maximum(noise, settings.noise_floor)

        def with_config(config: SearchConfig) -> Searched:
            return search(env, evaluate, lanes.game, legal, keys[:, 0], config, noise)

        if settings.full_share >= 1:
            full, found = jnp.bool_(True), with_config(settings.full)
        else:
            full = jax.random.uniform(kind_key, (), jnp.float32) < settings.full_share
            found = jax.lax.cond(full, lambda: with_config(settings.full), lambda: with_config(settings.fast))
        random = jax.vmap(lambda key: jax.random.uniform(key, (), jnp.float32))(keys[:, 1]) < settings.random_share
        action = jnp.where(random, jax.vmap(sample_legal)(keys[:, 2], legal), found.action)
        random = random & (action != found.action)
        if level is not None:
            action, its = with_level(variant, settings, level, lanes, action, keys[:, 4])
            random = random & ~its
        after = jax.vmap(env.step_game, in_axes=(0, 0, None))(lanes.game, action, None)
        plies = record(variant, lanes, found, full, random, after)

        length = lanes.ply + 1
        sums = {
            "games": jnp.sum(plies.over, dtype=jnp.float32),
            "length": jnp.sum(jnp.where(plies.over, length, 0), dtype=jnp.float32),
            "drawn": jnp.sum(plies.over & (plies.result == 0), dtype=jnp.float32),
            "entropy": jnp.sum(found.entropy),
            "full": jnp.sum(plies.full, dtype=jnp.float32),
            "surprise": jnp.sum(jnp.abs(found.value - found.raw_value)),
        }

        def renew(old: Array, new: Array) -> Array:
            return jnp.where(plies.over.reshape(-1, *[1] * (old.ndim - 1)), new, old)

        game = jax.tree.map(renew, after, begin(variant, settings.opening_plies, keys[:, 3]))
        lanes = Lanes(game=game, ply=jnp.where(plies.over, jnp.int32(0), length), number=lanes.number)
        return lanes, (plies, sums)

    lanes, (plies, sums) = jax.lax.scan(ply, lanes, jnp.arange(settings.plies, dtype=jnp.int32))
    return lanes, plies, jax.tree.map(jnp.sum, sums)
