"""Those whom a learner plays against: any agent of the arena that can be asked from inside a compiled program."""

from __future__ import annotations

import re
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import Agent, BatchAgent
from audamir_envs.agents.callable import CallableAgent
from audamir_envs.agents.loading import load_agent_text
from audamir_envs.agents.outside import plays_inside
from audamir_envs.core import Array, Environment, State


class Asked(BatchAgent):
    """A NumPy policy that a program calls back. It sees the positions of all lanes, whoever moves there.

    An error inside a program would be told by JAX in its own words, and again when Python ends: ``fault`` keeps it, and
    the games go on anyhow until somebody looks there (``raise_faults``).
    """

    def __init__(self, policy: CallableAgent) -> None:
        self.policy, self.name = policy, policy.name
        self.fault: Exception | None = None

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]."""
        del key
        shape = jax.ShapeDtypeStruct(states.current_player.shape, jnp.int32)
        return jax.pure_callback(self._ask, shape, states.observation, states.legal_action_mask)

    def _ask(self, observation: Array, action_mask: Array) -> np.ndarray:
        mask = np.asarray(action_mask)
        try:
            if self.fault is None:
                return self.policy.act_numpy(np.asarray(observation), mask)
        except Exception as error:  # whatever a policy of somebody else raises
            self.fault = error
        return np.argmax(mask, axis=1).astype(np.int32)


def raise_faults(agents: Iterable[Agent]) -> None:
    """Raises what a NumPy policy among them has raised, or was refused for: ValueError, or any error of its own."""
    for agent in agents:
        fault = getattr(agent, "fault", None)
        if fault is not None:
            raise fault


def split(texts: str) -> list[str]:
    """The agents of a setting that separates them by commas; ``setting=value`` belongs to the one before it.

    >>> split("weak,zero:simulations=8,considered=4,normal@4")
    ['weak', 'zero:simulations=8,considered=4', 'normal@4']
    """
    found: list[str] = []
    for part in filter(None, texts.split(",")):
        if found and ":" in found[-1] and re.match(r"\w+=", part):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def load(env_or_id: Environment | str, text: str) -> Agent:
    """The agent of a text, as everywhere on the command line.

    Raises: ValueError: as ``load_agent_text``, and for an agent that no program can ask; FileNotFoundError, OSError.
    """
    agent = load_agent_text(env_or_id, text)
    if plays_inside(agent):
        return agent
    if isinstance(agent, CallableAgent) and agent.positions is None:
        return Asked(agent)
    raise ValueError(f"agent {text!r:.80} plays outside JAX, so nobody can train against it: use a level or a policy")


def act(agent: Agent, states: State, keys: Array) -> Array:
    """int32 [games]: an agent's moves. What was learned or is asked decides for all at once. Consumes keys [games]."""
    if isinstance(agent, Asked) or getattr(agent, "checksum", None) is not None:
        return agent.act_batch(states, keys[0])  # type: ignore[attr-defined]
    return jax.vmap(agent.act)(states, keys)


def check(env: Environment, agent: Agent) -> None:
    """Raises: ValueError for an agent whose moves JAX cannot compile, or that plays another game."""
    game = getattr(agent, "env_id", "")
    if game not in ("", env.id):
        raise ValueError(f"agent {agent.name!r} plays {game}, not {env.id}")
    keys = jax.random.split(jax.random.key(0), 2)
    try:
        jax.eval_shape(lambda keys: act(agent, jax.vmap(env.init)(keys), keys), keys)
    except Exception as error:  # whatever an agent of somebody else raises
        why = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise ValueError(f"agent {agent.name!r} cannot be compiled, so nobody can train against it: {why}") from error
