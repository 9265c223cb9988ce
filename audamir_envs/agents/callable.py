"""Policies of other frameworks as agents: any function on NumPy batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from audamir_envs.agents.outside import OutsideAgent, checked
from audamir_envs.core import Array, Environment, State

Policy = Callable[..., Any]


class CallableAgent(OutsideAgent):
    """An agent that plays outside jit; made by ``from_callable``."""

    def __init__(self, fn: Policy, name: str, positions: str | None = None) -> None:
        self.fn = fn
        self.name = name
        self.positions = positions

    def act_states(self, env: Environment, states: State) -> np.ndarray:
        """int32 [batch]: the policy's actions, checked for shape, type and legality. Raises: as ``act_numpy``."""
        if self.positions is None:
            return self.act_numpy(np.asarray(states.observation), np.asarray(states.legal_action_mask))
        mask = np.asarray(states.legal_action_mask)
        told = states if self.positions == "states" else texts_of(env, states)
        return checked(self.name, self.fn(told, mask.copy()), mask)

    def act_numpy(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """int32 [batch]: the policy's actions, checked for shape, type and legality.

        Args: observation: [batch, *observation_shape], handed on as float32; action_mask: bool [batch, actions].
        Raises: ValueError naming the agent, for an answer of another shape or type and for an illegal action.
        """
        # The policy gets copies, so that one that writes into them cannot falsify the check.
        return checked(self.name, self.fn(observation.astype(np.float32), action_mask.copy()), action_mask)

    def act(self, state: State, key: Array) -> Array:
        """int32 []: the policy's action for one concrete state (no tracer: it cannot run inside jit)."""
        if self.positions is not None:
            return super().act(state, key)
        observation = np.asarray(state.observation)[None]
        return self.act_numpy(observation, np.asarray(state.legal_action_mask)[None])[0]  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"from_callable({self.name!r})"


def from_callable(fn: Policy, name: str | None = None, positions: str | None = None) -> CallableAgent:
    """An agent from ``fn(observation, action_mask) -> actions``, which plays outside jit.

    Args: fn: gets the observation of the seats to move, float32 [batch, *observation_shape], and what is legal, bool
    [batch, actions]; returns a legal action for each, integers [batch]. The batch changes from call to call.
    name: what reports call it; default: the function's own name.
    positions: what fn gets in place of the observation: ``"states"``, the states themselves (NumPy arrays, [batch] in
    front of every shape), or ``"texts"``, the positions in the game's notation, list [batch] of str.
    Raises: TypeError: fn cannot be called with two arguments; ValueError: another value of positions.
    """
    if not (callable(fn) and _takes_two(fn)):
        raise TypeError(f"from_callable needs a function (observation, action_mask) -> actions, not {fn!r}")
    if positions not in (None, "states", "texts"):
        raise ValueError(f"positions={positions!r} is not valid: use 'states', 'texts' or None")
    return CallableAgent(fn, name or getattr(fn, "__name__", type(fn).__name__), positions)


def texts_of(env: Environment, states: State) -> list[str]:
    """The positions of a batch on the host in the game's notation, [batch]."""
    return [env.to_text(state) for state in rows_of(states)]


def rows_of(states: State) -> list[State]:
    """The states of a batch on the host one by one."""
    import jax

    leaves, tree = jax.tree.flatten(states)
    arrays = [np.asarray(leaf) for leaf in leaves]
    return [tree.unflatten([array[row] for array in arrays]) for row in range(len(arrays[0]))]


def _takes_two(fn: Callable[..., Any]) -> bool:
    try:
        inspect.signature(fn).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # some of Python's own functions do not say what they take
        return True
    return True
