"""Stepping that starts a new game after the end, for long rollouts inside jit.

Under vmap a plain ``lax.cond`` becomes a select, which computes a whole new game for every lane at every step. Here the
batched case has a rule of its own: lanes that have just finished are gathered in small groups and only these are reset,
so the cost follows the number of games that end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from audamir_envs.batching import spread, varying_like
from audamir_envs.core import Array, Environment, State

_GROUP = 8  # lanes reset together: large enough to vectorise, small enough to waste little when one game ends
_REMEMBERED = ("observation", "legal_action_mask", "rewards", "terminated", "truncated")  # of a finished game


class AutoResetState(State):
    """A ``State`` whose ``final_*`` fields belong to the lane's last finished game (zeros before the first)."""

    final_observation: Array  # [*observation_shape]
    final_legal_action_mask: Array  # bool [actions]
    final_rewards: Array  # float32 [players]
    final_terminated: Array  # bool []
    final_truncated: Array  # bool []
    just_reset: Array  # bool []: the last step ended a game, and the other fields are those of a new one


class AutoReset:
    """``init(key)`` and ``step(state, action, key)`` (the object itself is callable as ``step``) over an environment.

    After a step that ends a game, the standard fields equal those of a new game; the finished one is in ``final_*``.
    ``rewards`` are zero there: read ``final_rewards`` where ``just_reset``, or use ``step_rewards(state)``.
    """

    def __init__(self, env: Environment, init: Callable[[Array], State] | None = None) -> None:
        self.env = env
        self._fresh = init or env.init

    def init(self, key: Array) -> AutoResetState:
        """A new game. Consumes key."""
        return self._wrap(self._fresh(key))

    def step(self, state: State, action: Any, key: Array) -> AutoResetState:
        """Steps by ``env.step``, then starts anew if that ended the game. Consumes key (used for the new game too)."""
        before = state if isinstance(state, AutoResetState) else self._wrap(state)
        step_key, reset_key = jax.random.split(key)
        after = self.env.step(before, action, step_key)
        done = after.terminated | after.truncated
        ended = before.replace(**_standard_fields(after), just_reset=done)
        init, captured = _without_captures(self._fresh, reset_key)
        return _resetting(init)(done, reset_key, captured, ended)

    __call__ = step

    @staticmethod
    def step_rewards(state: AutoResetState) -> Array:
        """float32 [players]: the rewards of the step that led here, whether it ended a game or not."""
        return jnp.where(state.just_reset[..., None], state.final_rewards, state.rewards)

    @staticmethod
    def _wrap(state: Any) -> AutoResetState:
        zeros = jax.tree.map(
            jnp.zeros_like,
            {
                "final_observation": state.observation,
                "final_legal_action_mask": state.legal_action_mask,
                "final_rewards": state.rewards,
                "final_terminated": state.terminated,
                "final_truncated": state.truncated,
                "just_reset": state.terminated,
            },
        )
        return AutoResetState(**_standard_fields(state), **zeros)


def auto_reset(env: Environment, init: Callable[[Array], State] | None = None) -> AutoReset:
    """A step that starts a new game after the end; see ``AutoReset``.

    Args: init: makes the new games instead of ``env.init`` (from a pool of prepared maps, say); consumes its key.
    """
    return AutoReset(env, init)


def _standard_fields(state: State) -> dict[str, Any]:
    return {field.name: getattr(state, field.name) for field in dataclasses.fields(State)}  # type: ignore[arg-type]


def _renewed(fresh: State, ended: AutoResetState) -> AutoResetState:
    """The new game, keeping what is remembered of the ended one."""
    return AutoResetState(
        **_standard_fields(fresh),
        final_observation=ended.observation,
        final_legal_action_mask=ended.legal_action_mask,
        final_rewards=ended.rewards,
        final_terminated=ended.terminated,
        final_truncated=ended.truncated,
        just_reset=ended.just_reset,
    )


_Init = Callable[[list[Array], Array], State]  # init(captured, key)


def _without_captures(init: Callable[[Array], State], key: Array) -> tuple[_Init, list[Array]]:
    """``init`` as a function of the traced arrays that it uses too (prepared maps, say), and these arrays.

    A batching rule runs when the trace in which they came into being may be over, so it gets them as arguments.
    """
    jaxpr, shape = jax.make_jaxpr(jax.jit(init), return_shape=True)(key)

    def explicit(captured: list[Array], key: Array) -> State:
        leaves = jaxpr_as_fun(ClosedJaxpr(jaxpr.jaxpr, captured))(key)
        return jax.tree.unflatten(jax.tree.structure(shape), leaves)

    return explicit, jaxpr.consts


def _resetting(init: _Init) -> Callable[..., AutoResetState]:
    """reset(done, key, captured, state): a new game where one is done."""

    @jax.custom_batching.custom_vmap
    def reset(done: Array, key: Array, captured: list[Array], state: AutoResetState) -> AutoResetState:
        every = (done, key, captured, state)
        return jax.lax.cond(
            done,
            lambda: varying_like(_renewed(init(captured, key), state), every),
            lambda: varying_like(state, every),
        )

    @reset.def_vmap
    def _(axis_size: int, in_batched: Any, done: Array, key: Array, captured: list[Array], state: Any) -> Any:
        done, key, state = spread(axis_size, (*in_batched[:2], in_batched[3]), (done, key, state))
        state = _resetting_lanes(init, tuple(in_batched[2]))(done, key, captured, state)
        return state, jax.tree.map(lambda _: True, state)

    return reset


def _resetting_lanes(init: _Init, own: tuple[bool, ...]) -> Callable[..., AutoResetState]:
    """The same for done [lanes], keys and states. Args: own: which captured arrays each lane has of its own."""

    @jax.custom_batching.custom_vmap
    def reset(done: Array, keys: Array, captured: list[Array], states: AutoResetState) -> AutoResetState:
        lanes = done.shape[0]
        group = min(_GROUP, lanes)
        count = jnp.sum(done, dtype=jnp.int32)
        # Numbers of the finished lanes first; beyond them the number `lanes`, which a scatter drops.
        place = jnp.where(done, jnp.cumsum(done, dtype=jnp.int32) - 1, jnp.int32(lanes + group))
        finished = jnp.full(lanes + group, lanes, jnp.int32)
        finished = finished.at[place].set(jnp.arange(lanes, dtype=jnp.int32), mode="drop")

        def reset_group(carry: tuple[Array, AutoResetState]) -> tuple[Array, AutoResetState]:
            start, states = carry
            chosen = jax.lax.dynamic_slice(finished, (start,), (group,))
            source = jnp.minimum(chosen, lanes - 1)
            ended = jax.tree.map(lambda leaf: leaf[source], states)
            theirs = [array[source] if each else array for array, each in zip(captured, own, strict=True)]
            fresh = jax.vmap(init, in_axes=([0 if each else None for each in own], 0))(theirs, keys[source])
            new = jax.vmap(_renewed)(fresh, ended)
            # The old rows are never chosen, but the compiler cannot know: so it reads them before it writes the new in
            # their place, where it would otherwise copy whole arrays to be safe.
            new = new.replace(
                **{name: jnp.where(start < 0, getattr(ended, name), getattr(new, name)) for name in _REMEMBERED}
            )
            states = jax.tree.map(lambda old, rows: old.at[chosen].set(rows, mode="drop"), states, new)
            return start + group, states

        start = varying_like((jnp.int32(0), states), (done, keys, captured, states))
        return jax.lax.while_loop(lambda carry: carry[0] < count, reset_group, start)[1]

    @reset.def_vmap
    def _(axis_size: int, in_batched: Any, done: Array, keys: Array, captured: list[Array], states: Any) -> Any:
        done, keys, states = spread(axis_size, (*in_batched[:2], in_batched[3]), (done, keys, states))
        lanes = done.shape[1]

        def merged(leaf: Array) -> Array:
            return leaf.reshape(axis_size * lanes, *leaf.shape[2:])

        def of_lanes(array: Array, batched: bool, each: bool) -> Array:
            if not batched and not each:
                return array
            array = array if batched else jnp.broadcast_to(array, (axis_size, *array.shape))
            array = array if each else jnp.broadcast_to(array[:, None], (axis_size, lanes, *array.shape[1:]))
            return merged(array)

        flags = tuple(batched or each for batched, each in zip(in_batched[2], own, strict=True))
        captured = [of_lanes(*each) for each in zip(captured, in_batched[2], own, strict=True)]
        done, keys, states = jax.tree.map(merged, (done, keys, states))
        states = _resetting_lanes(init, flags)(done, keys, captured, states)
        states = jax.tree.map(lambda leaf: leaf.reshape(axis_size, lanes, *leaf.shape[1:]), states)
        return states, jax.tree.map(lambda _: True, states)

    return reset
