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
        self._reset = _resetting(self._fresh)

    def init(self, key: Array) -> AutoResetState:
        """A new game. Consumes key."""
        return self._wrap(self._fresh(key))

    def step(self, state: State, action: Any, key: Array) -> AutoResetState:
        """Steps by ``env.step``, then starts anew if that ended the game. Consumes key (used for the new game too)."""
        before = state if isinstance(state, AutoResetState) else self._wrap(state)
        step_key, reset_key = jax.random.split(key)
        after = self.env.step(before, action, step_key)
        done = after.terminated | after.truncated
        return self._reset(done, reset_key, before.replace(**_standard_fields(after), just_reset=done))

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


def _resetting(init: Callable[[Array], State]) -> Callable[[Array, Array, AutoResetState], AutoResetState]:
    @jax.custom_batching.custom_vmap
    def reset(done: Array, key: Array, state: AutoResetState) -> AutoResetState:
        return jax.lax.cond(done, lambda: _renewed(init(key), state), lambda: state)

    @reset.def_vmap
    def _(axis_size: int, in_batched: Any, done: Array, key: Array, state: AutoResetState) -> Any:
        def spread(leaf: Array, batched: bool) -> Array:
            return leaf if batched else jnp.broadcast_to(leaf, (axis_size, *leaf.shape))

        done, key, state = jax.tree.map(spread, (done, key, state), tuple(in_batched))
        group = min(_GROUP, axis_size)
        count = jnp.sum(done, dtype=jnp.int32)
        # Numbers of the finished lanes first; beyond them the number `axis_size`, which a scatter drops.
        place = jnp.where(done, jnp.cumsum(done, dtype=jnp.int32) - 1, jnp.int32(axis_size + group))
        lanes = jnp.full(axis_size + group, axis_size, jnp.int32)
        lanes = lanes.at[place].set(jnp.arange(axis_size, dtype=jnp.int32), mode="drop")

        def renew(carry: tuple[Array, AutoResetState]) -> tuple[Array, AutoResetState]:
            start, state = carry
            chosen = jax.lax.dynamic_slice(lanes, (start,), (group,))
            source = jnp.minimum(chosen, axis_size - 1)
            ended = jax.tree.map(lambda leaf: leaf[source], state)
            new = jax.vmap(_renewed)(jax.vmap(init)(key[source]), ended)
            # The old rows are never chosen, but the compiler cannot know: so it reads them before it writes the new in
            # their place, where it would otherwise copy whole arrays to be safe.
            new = new.replace(
                **{name: jnp.where(start < 0, getattr(ended, name), getattr(new, name)) for name in _REMEMBERED}
            )
            state = jax.tree.map(lambda old, rows: old.at[chosen].set(rows, mode="drop"), state, new)
            return start + group, state

        _, state = jax.lax.while_loop(lambda carry: carry[0] < count, renew, (jnp.int32(0), state))
        return state, jax.tree.map(lambda _: True, state)

    return reset
