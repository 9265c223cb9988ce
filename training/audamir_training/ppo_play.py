"""PPO's play: many games of several seats at once, by the learner, its own snapshots and scripted levels."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.agents.base import Agent
from audamir_envs.autoreset import AutoReset, AutoResetState
from audamir_envs.core import Array, Environment, Pytree, State
from audamir_training import opponents
from audamir_training.watching import Shown

Evaluate = Callable[[Array], Any]
"""A network on observations [batch, ...]: ``logits`` [batch, actions], ``values`` [batch, players] by relative seat."""

OtherWay = Callable[[Environment, Any, Array, Any, Array], tuple[Array, Array, Any]]
"""See ``learning.Chance.other_way``."""


class Lanes(Pytree):
    """Games in progress, [lanes] each; the lanes of a group lie together."""

    state: AutoResetState
    own: Array  # bool [lanes, players]: the seats that the learner plays
    length: Array  # int32 [lanes]: decisions of this game so far
    number: Array  # int32 [lanes]: which lane this is among those of all devices


class Decisions(Pytree):
    """What was decided, [steps, lanes] each, P seats in absolute order."""

    observation: Array  # [steps, lanes, *observation_shape]: the mover's
    legal: Array  # bool [steps, lanes, actions]
    action: Array  # int32
    log_prob: Array  # float32: of the action under the learner's policy
    mover: Array  # int32
    own: Array  # bool: the learner decided
    values: Array  # float32 [steps, lanes, P]: before the decision
    done: Array  # bool: the decision ended the game
    result: Array  # float32 [steps, lanes, P]: the rewards where done
    chance: Array  # float32: of the one of two outcomes that was drawn; 1 where nothing was
    other: Array  # float32 [steps, lanes, P]: the values had the other one been drawn
    other_done: Array  # bool: that would have ended the game, and ``other`` are its rewards


@dataclasses.dataclass(frozen=True)
class Mix:
    """How the lanes of every group are used, in this order."""

    alone: int  # lanes in which the learner plays all seats
    snapshots: int  # lanes in which a snapshot plays some seats
    scripted: int  # lanes in which a level plays some seats, for each level

    def lanes(self, levels: int) -> int:
        """Lanes of a group."""
        return self.alone + self.snapshots + self.scripted * levels


def draw_own(mixed: Array, players: int, key: Array) -> Array:
    """bool [players]: the learner's seats in a new game: all, or where ``mixed`` from one to all but one. Consumes key.

    How many is uniform, and so is which.
    """
    words = jax.random.bits(key, (players + 1,), jnp.uint32)
    count = jnp.uint32(1) + words[0] % jnp.uint32(players - 1)
    # Random words ranked: much cheaper than a permutation, which sorts.
    rank = jnp.sum(words[1:, None] > words[1:], axis=1, dtype=jnp.uint32)
    return ~mixed | (rank < count)


def is_mixed(mix: Mix, levels: int, lanes: int) -> Array:
    """bool [lanes]: in which lanes others play too."""
    place = jnp.arange(lanes, dtype=jnp.int32) % jnp.int32(mix.lanes(levels))
    return place >= jnp.int32(mix.alone)


def sample(logits: Array, legal: Array, key: Array, table: tuple[int, int]) -> tuple[Array, Array]:
    """(action int32 [], its log-probability float32 []) by a masked policy. Consumes key.

    Of the actions in a table a row is drawn first and then a column, which is the same distribution and much faster
    than one draw among all actions.

    Args: logits: float32 [actions]; legal: bool, likewise, at least one; table: (rows, columns) of the first actions.
    """
    count, columns = table
    size = count * columns
    masked = jnp.where(legal, logits, -jnp.inf)
    top = jnp.max(masked)
    weight = jnp.exp(masked - top)
    draws = jax.random.uniform(key, (2,), jnp.float32)
    if not size:
        action = _pick(weight, draws[0])
        return action, masked[action] - top - jnp.log(jnp.sum(weight))
    rows = weight[:size].reshape(count, columns)
    masses = jnp.concatenate([jnp.sum(rows, axis=1), weight[size:]])
    group = _pick(masses, draws[0])
    row = jnp.minimum(group, jnp.int32(count - 1))
    inside = row * jnp.int32(columns) + _pick(rows[row], draws[1])
    action = jnp.where(group < count, inside, group - jnp.int32(count) + jnp.int32(size))
    return action, masked[action] - top - jnp.log(jnp.sum(masses))


def _pick(weights: Array, draw: Array) -> Array:
    """int32 []: the index drawn with these weights (float32 [n], >= 0) by a number in 0..1."""
    reached = jnp.cumsum(weights)
    # Never the whole sum, which rounding might else give.
    hit = (reached > draw * jnp.float32(1 - 1e-6) * reached[-1]) & (weights > 0)
    return jnp.argmax(hit).astype(jnp.int32)


def absolute(relative: Array, mover: Array) -> Array:
    """float32 [..., P]: values by relative seat, put in the order of seats; ``mover`` int32 [...]."""
    players = relative.shape[-1]
    seat = jnp.arange(players, dtype=jnp.int32)
    return jnp.take_along_axis(relative, (seat - mover[..., None]) % jnp.int32(players), axis=-1)


def relative(by_seat: Array, mover: Array) -> Array:
    """The inverse of ``absolute``."""
    return absolute(by_seat, -mover)


def play(
    auto: AutoReset,
    evaluate: Evaluate,
    snapshot: Callable[[Array], Array],
    levels: Sequence[Agent],
    mix: Mix,
    steps: int,
    lanes: Lanes,
    key: Array,
    table: tuple[int, int] = (0, 0),
    other_way: OtherWay | None = None,
) -> tuple[Lanes, Decisions, Array, dict[str, Array], Shown]:
    """Plays ``steps`` decisions in every lane. Consumes key; a lane's draws depend on its number, not on its place.

    Args: snapshot: the logits [groups, lanes, actions] of each group's snapshot, of observations [groups, lanes, ...];
    table, other_way: see ``learning.Variant`` and ``learning.Chance``.
    Returns: the lanes; the decisions; the values after the last one, float32 [lanes, P]; sums, float32 [] each; what
    one lane played, [steps] each.
    """
    env = auto.env
    players = env.num_players
    width = mix.lanes(len(levels))
    groups = lanes.number.shape[0] // width
    mixed = is_mixed(mix, len(levels), lanes.number.shape[0])
    draw_actions = jax.vmap(sample, in_axes=(0, 0, 0, None))

    def part(tree: Any, start: int, count: int) -> Any:
        """The lanes ``start`` to ``start + count`` of every group, [groups * count]."""
        return jax.tree.map(
            lambda leaf: leaf.reshape(groups, width, *leaf.shape[1:])[:, start : start + count].reshape(
                groups * count, *leaf.shape[1:]
            ),
            tree,
        )

    def others_actions(state: State, keys: Array, level_key: Array) -> Array:
        """int32 [lanes]: what the other player of each mixed lane would do."""
        chosen = [jnp.zeros((groups, mix.alone), jnp.int32)]
        if mix.snapshots:
            seen, legal, own_keys = part((state.observation, state.legal_action_mask, keys), mix.alone, mix.snapshots)
            logits = snapshot(seen.reshape(groups, mix.snapshots, *seen.shape[1:]))
            action, _ = draw_actions(logits.reshape(legal.shape), legal, own_keys, table)
            chosen.append(action.reshape(groups, mix.snapshots))
        for number, level in enumerate(levels):
            start = mix.alone + mix.snapshots + number * mix.scripted
            seats, own_keys = part((state, keys), start, mix.scripted)
            chosen.append(opponents.act(level, seats, own_keys).astype(jnp.int32).reshape(groups, mix.scripted))
        return jnp.concatenate(chosen, axis=1).reshape(-1)

    def step(carry: tuple[Lanes, Array, Array], number: Array) -> tuple[Any, tuple[Decisions, dict[str, Array], Shown]]:
        lanes, logits, values = carry
        step_key = jax.random.fold_in(key, number)
        keys = jax.vmap(lambda lane: jax.random.split(jax.random.fold_in(step_key, lane), 4))(lanes.number)
        before = lanes.state
        mover = before.current_player
        action, log_prob = draw_actions(logits, before.legal_action_mask, keys[:, 0], table)
        own = jnp.take_along_axis(lanes.own, mover[:, None], axis=1)[:, 0]
        if width > mix.alone:
            action = jnp.where(own, action, others_actions(before, keys[:, 1], step_key))
        after = jax.vmap(auto.step)(before, action, keys[:, 2])
        done = after.just_reset

        if other_way is None:
            said = evaluate(after.observation)
            following, other = said.values, jnp.zeros_like(values)
            chance, other_done = jnp.ones_like(log_prob), jnp.zeros_like(done)
        else:
            drawn, chance, missed = jax.vmap(functools.partial(other_way, env))(before.game, action, after.game, done)
            outcome = jax.vmap(env.outcome)(missed)
            other_done = drawn & (outcome.terminated | outcome.truncated)
            seen = jax.vmap(env.observe_game)(missed, mover)
            # One call of the network for both, the position after and the one that might have been.
            said = evaluate(jnp.concatenate([after.observation, seen]))
            following, other_values = jnp.split(said.values, 2)
            other = jnp.where(other_done[:, None], outcome.rewards, absolute(other_values, mover))
        decisions = Decisions(
            observation=before.observation,
            legal=before.legal_action_mask,
            action=action,
            log_prob=log_prob,
            mover=mover,
            own=own,
            values=values,
            done=done,
            result=after.final_rewards,
            chance=chance,
            other=other,
            other_done=other_done,
        )
        length = lanes.length + 1
        fresh = jax.vmap(lambda mixed, key: draw_own(mixed, players, key))(mixed, keys[:, 3])
        after_lanes = Lanes(
            state=after,
            own=jnp.where(done[:, None], fresh, lanes.own),
            length=jnp.where(done, jnp.int32(0), length),
            number=lanes.number,
        )
        carry = after_lanes, said.logits[: done.shape[0]], absolute(following, after.current_player)
        shown = show(env, before, action, keys[:, 2], after)
        return carry, (decisions, _sums(mix, levels, lanes.own, decisions, length), shown)

    said = evaluate(lanes.state.observation)
    carry = lanes, said.logits, absolute(said.values, lanes.state.current_player)
    (lanes, _, last), (decisions, sums, shown) = jax.lax.scan(step, carry, jnp.arange(steps, dtype=jnp.int32))
    return lanes, decisions, last, jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), sums), shown


def show(env: Environment, before: AutoResetState, action: Array, keys: Array, after: AutoResetState) -> Shown:
    """The decision of the first lane, in which the learner plays all seats as long as it does in any.

    Args: keys: [lanes] as ``AutoReset.step`` got them, which looks at them once more here.
    """
    state, chosen, key, ended = jax.tree.map(lambda leaf: leaf[0], (before, action, keys, after))
    step_key = jax.random.split(key)[0]
    if env.chance_shape is None:
        chance = jnp.zeros((0,), jnp.uint8)
    else:
        chance = env.chance_of(state, chosen, step_key)
    return Shown(
        game=state.game,
        action=chosen,
        chance=chance,
        after=env.step_game(state.game, chosen, step_key),
        over=ended.just_reset,
        rewards=ended.final_rewards,
    )


def _sums(mix: Mix, levels: Sequence[Agent], own: Array, decisions: Decisions, length: Array) -> dict[str, Array]:
    """What the display shows of a step."""
    done = decisions.done
    players = own.shape[1]
    width = mix.lanes(len(levels))
    place = jnp.arange(done.shape[0], dtype=jnp.int32) % jnp.int32(width)
    shares = ((players - 1) * decisions.result + 1) / players
    counted = own & done[:, None]
    sums = {
        "games": jnp.sum(done, dtype=jnp.float32),
        "length": jnp.sum(jnp.where(done, length, 0), dtype=jnp.float32),
    }
    for name, start, stop in (
        ("snapshots", mix.alone, mix.alone + mix.snapshots),
        ("levels", mix.alone + mix.snapshots, width),
    ):
        here = counted & ((place >= start) & (place < stop))[:, None]
        sums[f"{name}_won"] = jnp.sum(jnp.where(here, shares, jnp.float32(0)))
        sums[f"{name}_seats"] = jnp.sum(here, dtype=jnp.float32)
    return sums
