"""All seats of a game in JaxMARL's interface, for self-play by trainers that live inside one ``jit``.

    from audamir_envs.bridges import jaxmarl

    env = jaxmarl.make(env_id, side=4)
    observations, state = env.reset(key)
    observations, state, rewards, dones, infos = env.step(key, state, actions)

The interface is that of JaxMARL 0.2, auto-reset included; JaxMARL need not be installed. As in its Hanabi, agents that
are not to move have one legal action, the last one, which does nothing.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.autoreset import auto_reset
from audamir_envs.bridges import spaces
from audamir_envs.bridges.setting import environment_of
from audamir_envs.core import Array, Environment, State

_SPACES = "jaxmarl.environments.spaces"


class JaxMARLEnv:
    """A game as a JaxMARL environment with the agents ``agent_0``, ..., one for each seat."""

    def __init__(self, game: str | Environment, **options: Any) -> None:
        """Args: game: an id, or an environment (then without options). Raises: ValueError naming what is valid."""
        self.game = environment_of(game, options)
        self.num_agents = self.game.num_players
        self.agents = [f"agent_{seat}" for seat in range(self.num_agents)]
        self.noop = self.game.num_actions
        self._auto = auto_reset(self.game)
        action = spaces.discrete(_SPACES, self.noop + 1)
        seen = spaces.box(_SPACES, self.game, self.game.observation_shape)
        self.action_spaces = dict.fromkeys(self.agents, action)
        self.observation_spaces = dict.fromkeys(self.agents, seen)

    @property
    def name(self) -> str:
        """The environment's id."""
        return self.game.id

    @property
    def agent_classes(self) -> dict[str, list[str]]:
        """All seats are of one kind."""
        return {"players": self.agents}

    def observation_space(self, agent: str) -> Any:
        """JaxMARL's ``Box`` of float32, or one of the same shape where JaxMARL is not installed."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """JaxMARL's ``Discrete`` of the game's actions and the one that does nothing."""
        return self.action_spaces[agent]

    @functools.partial(jax.jit, static_argnums=0)
    def reset(self, key: Array) -> tuple[dict[str, Array], Any]:
        """A new game: what each agent sees, float32 [*observation_shape], and the state. Consumes key."""
        state = self._auto.init(key)
        return self.get_obs(state), state

    @functools.partial(jax.jit, static_argnums=0)
    def step(
        self, key: Array, state: Any, actions: dict[str, Any], reset_state: Any = None
    ) -> tuple[dict[str, Array], Any, dict[str, Array], dict[str, Array], dict[str, Array]]:
        """The action of the agent to move, and a new game (or ``reset_state``) where that ended one. Consumes key.

        An illegal action, or none by the agent to move, ends the game: -1 for it, 1/(agents - 1) for the others.
        Returns: observations (of the new game after an end), state, rewards float32 [], dones bool [] by agent and
        for ``__all__`` (all end together), infos: ``illegal``, ``truncated`` bool [agents].
        """
        chosen = jnp.stack([jnp.asarray(actions[agent], jnp.int32) for agent in self.agents])
        mover = state.current_player
        after = self._auto.step(state, chosen[mover], key)
        done = after.just_reset
        rewards = self._auto.step_rewards(after)
        legal = jnp.append(state.legal_action_mask, False)[jnp.clip(chosen[mover], 0, self.noop)]
        offence = ~(legal & (chosen[mover] >= 0)) & (jnp.arange(self.num_agents, dtype=jnp.int32) == mover)
        if reset_state is not None:
            after = jax.tree.map(lambda new, old: jnp.where(done, new, old), reset_state, after)
        by_agent = {agent: rewards[seat] for seat, agent in enumerate(self.agents)}
        dones = dict.fromkeys([*self.agents, "__all__"], done)
        truncated = jnp.broadcast_to(done & after.final_truncated, (self.num_agents,))
        return self.get_obs(after), after, by_agent, dones, {"illegal": offence, "truncated": truncated}

    def get_obs(self, state: State) -> dict[str, Array]:
        """What each agent sees, float32 [*observation_shape], from its own point of view."""
        seats = jnp.arange(self.num_agents, dtype=jnp.int32)
        seen = jax.vmap(lambda seat: self.game.observe(state, seat))(seats).astype(jnp.float32)
        return {agent: seen[seat] for seat, agent in enumerate(self.agents)}

    def get_avail_actions(self, state: State) -> dict[str, Array]:
        """bool [actions + 1] by agent: what is legal; for those not to move the last action alone."""
        idle = jnp.zeros(self.noop + 1, jnp.bool_).at[self.noop].set(True)
        moves = jnp.append(state.legal_action_mask, False)
        mover = state.current_player
        return {agent: jnp.where(mover == seat, moves, idle) for seat, agent in enumerate(self.agents)}

    def __reduce__(self) -> Any:
        return (JaxMARLEnv, (self.game,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JaxMARLEnv) and self.game == other.game

    def __hash__(self) -> int:
        return hash((JaxMARLEnv, self.game))

    def __repr__(self) -> str:
        return f"JaxMARLEnv({self.game!r})"


def make(game: str | Environment, **options: Any) -> JaxMARLEnv:
    """The environment, as ``jaxmarl.make`` gives it; see ``JaxMARLEnv``."""
    return JaxMARLEnv(game, **options)
