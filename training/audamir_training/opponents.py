"""Those whom a learner plays against: any agent of the arena that can be asked from inside a compiled program."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import Agent, BatchAgent
from audamir_envs.agents.callable import CallableAgent
from audamir_envs.agents.loading import load_agent_text
from audamir_envs.agents.outside import plays_inside
from audamir_envs.core import Array, Environment, State


class Asked(BatchAgent):
    """A NumPy policy that a program calls back. It sees the positions of all lanes, whoever moves there."""

    def __init__(self, policy: CallableAgent) -> None:
        self.policy, self.name = policy, policy.name

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Raises, when the program runs: ValueError, of which JAX makes an error of its own."""
        del key
        shape = jax.ShapeDtypeStruct(states.current_player.shape, jnp.int32)
        return jax.pure_callback(self._ask, shape, states.observation, states.legal_action_mask)

    def _ask(self, observation: Array, action_mask: Array) -> np.ndarray:
        return self.policy.act_numpy(np.asarray(observation), np.asarray(action_mask))


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


def policys_error(error: Exception) -> ValueError | None:
    """What a NumPy policy was refused for while a program ran, from JAX's error."""
    found = re.findall(r"ValueError: (agent .*)", str(error))
    return ValueError(found[-1]) if found else None
