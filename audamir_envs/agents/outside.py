"""What agents that play outside JAX have in common: they are asked between two jitted calls."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from audamir_envs.core import Array, Environment, State


class OutsideAgent(abc.ABC):
    """An agent on states that lie on the host; ``plays_inside`` tells it from those of JAX."""

    name: str
    forfeits: bool = False
    """Whether an action of -1 is meant: it loses the game. Of all others an illegal action is an error."""

    @abc.abstractmethod
    def act_states(self, env: Environment, states: State) -> np.ndarray:
        """int32 [batch]: actions for the seats to move in unfinished games.

        Args: states: NumPy arrays, [batch] in front of every shape; batches differ in size from call to call.
        Raises: ValueError naming the agent, for an answer of another shape or type and for an illegal action.
        """

    def act(self, state: State, key: Array) -> Array:
        """int32 []: the action for one concrete state (no tracer: it cannot run inside jit)."""
        raise TypeError(f"agent {self.name!r} must know the environment: use act_states(env, states)")


def plays_inside(agent: Any) -> bool:
    """Whether an agent is pure JAX, and not one that is asked between two jitted calls."""
    return not hasattr(agent, "act_states")


def checked(name: str, actions: Any, action_mask: np.ndarray) -> np.ndarray:
    """The actions as int32 [batch]. Raises: ValueError naming the agent: another shape or type, an illegal action."""
    actions, batch = np.asarray(actions), action_mask.shape[0]
    if actions.shape != (batch,) or not np.issubdtype(actions.dtype, np.integer):
        raise ValueError(
            f"agent {name!r} must return integers of shape ({batch},), not {actions.dtype} of shape {actions.shape}"
        )
    inside = (actions >= 0) & (actions < action_mask.shape[1])
    legal = inside & action_mask[np.arange(batch), np.where(inside, actions, 0)]
    if not legal.all():
        raise ValueError(f"agent {name!r} played the illegal action {actions[np.argmin(legal)]}")
    return actions.astype(np.int32)
