"""Policies of other frameworks as agents: any function on NumPy batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from audamir_envs.core import Array, State

Policy = Callable[[np.ndarray, np.ndarray], Any]


class CallableAgent:
    """An agent that plays outside jit; made by ``from_callable``."""

    def __init__(self, fn: Policy, name: str) -> None:
        self.fn = fn
        self.name = name

    def act_numpy(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """int32 [batch]: the policy's actions, checked for shape, type and legality.

        Args: observation: [batch, *observation_shape], handed on as float32; action_mask: bool [batch, actions].
        Raises: ValueError naming the agent, for an answer of another shape or type and for an illegal action.
        """
        batch = action_mask.shape[0]
        # The policy gets copies, so that one that writes into them cannot falsify the check below.
        actions = np.asarray(self.fn(observation.astype(np.float32), action_mask.copy()))
        if actions.shape != (batch,) or not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(
                f"agent {self.name!r} must return integers of shape ({batch},), "
                f"not {actions.dtype} of shape {actions.shape}"
            )
        inside = (actions >= 0) & (actions < action_mask.shape[1])
        legal = inside & action_mask[np.arange(batch), np.where(inside, actions, 0)]
        if not legal.all():
            raise ValueError(f"agent {self.name!r} played the illegal action {actions[np.argmin(legal)]}")
        return actions.astype(np.int32)

    def act(self, state: State, key: Array) -> Array:
        """int32 []: the policy's action for one concrete state (no tracer: it cannot run inside jit)."""
        del key
        observation = np.asarray(state.observation)[None]
        return self.act_numpy(observation, np.asarray(state.legal_action_mask)[None])[0]  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"from_callable({self.name!r})"


def from_callable(fn: Policy, name: str | None = None) -> CallableAgent:
    """An agent from ``fn(observation, action_mask) -> actions``, which plays outside jit.

    Args: fn: gets the observation of the seats to move, float32 [batch, *observation_shape], and what is legal, bool
    [batch, actions]; returns a legal action for each, integers [batch]. The batch changes from call to call.
    name: what reports call it; default: the function's own name.
    Raises: TypeError: fn cannot be called with two arguments.
    """
    if not (callable(fn) and _takes_two(fn)):
        raise TypeError(f"from_callable needs a function (observation, action_mask) -> actions, not {fn!r}")
    return CallableAgent(fn, name or getattr(fn, "__name__", type(fn).__name__))


def _takes_two(fn: Callable[..., Any]) -> bool:
    try:
        inspect.signature(fn).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # some of Python's own functions do not say what they take
        return True
    return True
