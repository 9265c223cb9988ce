"""One learner against any levels in gymnax's interface, for trainers that live inside one ``jit``.

    from audamir_envs.bridges import gymnax

    env, params = gymnax.make(env_id, opponent="normal")
    observation, state = env.reset(key, params)
    observation, state, reward, terminated, truncated, info = env.step(key, state, action, params)

The interface is that of gymnax 1.0, auto-reset included; gymnax need not be installed. What an episode is, is said in
``episodes``: opponents play inside the step. ``jax.vmap(env.step, in_axes=(0, 0, 0, None))`` steps many games; lanes
do not depend on each other, and opponents, resets and new maps cost what the lanes cost that need them.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.agents.outside import plays_inside
from audamir_envs.batching import with_batch_rule
from audamir_envs.bridges import spaces
from audamir_envs.bridges.episodes import Episode, Report, Table
from audamir_envs.bridges.lanes import on_all, on_some
from audamir_envs.bridges.setting import environment_of, split_words
from audamir_envs.bridges.table import table_for
from audamir_envs.core import Array, Environment, Pytree

_SPACES = "gymnax.environments.spaces"
_RESET_GROUP = 8  # lanes reset together
_GROUPS = 8  # parts of the batch that are played one after another, so that few waiting lanes cost little


class GymnaxState(Pytree):
    """What is carried from step to step; ``action_mask`` is what a masked policy reads."""

    episode: Episode
    action_mask: Array  # bool [actions]: what is legal now
    time: Array  # int32 []: the learner's actions in this episode


class GymnaxParams(Pytree):
    """gymnax's parameters. Options of the game belong to ``make``, since shapes depend on them."""

    max_steps_in_episode: Any  # int32 []: the learner's actions after which an episode is truncated


class GymnaxEnv:
    """A game from a learner's seat as a gymnax environment."""

    def __init__(
        self,
        game: str | Environment,
        opponent: Any = "normal",
        seat: Any = "random",
        mask_in_observation: bool = False,
        **options: Any,
    ) -> None:
        """Args: game: an id, or an environment (then without options); opponent, seat: see ``table_for``;
        mask_in_observation: observations are flat, float32 [numbers + actions], the mask behind the numbers, for
        trainers that hand nothing but observations to their policy.

        Raises: ValueError naming what is valid, or for an opponent that plays outside JAX; TypeError: no agent.
        """
        self.game = environment_of(game, options)
        table = table_for(self.game, opponent, seat)
        outside = [agent.name for agent in table.agents if not plays_inside(agent)]
        if outside:
            raise ValueError(f"opponent {outside[0]!r} plays outside JAX, so no jitted trainer can play against it")
        self.opponent, self.seat = opponent, seat
        self.mask_in_observation = mask_in_observation
        self.default_params = GymnaxParams(max_steps_in_episode=self.game.max_steps)
        self._lanes = _Lanes(table)

    @property
    def name(self) -> str:
        """The environment's id."""
        return self.game.id

    @property
    def num_actions(self) -> int:
        """How many actions there are, legal or not."""
        return self.game.num_actions

    def action_space(self, params: Any = None) -> Any:
        """gymnax's ``Discrete``, or one of the same shape where gymnax is not installed."""
        del params
        return spaces.discrete(_SPACES, self.game.num_actions)

    def observation_space(self, params: Any = None) -> Any:
        """gymnax's ``Box`` of float32, or one of the same shape."""
        del params
        flat = (spaces.flat_size(self.game) + self.game.num_actions,)
        return spaces.box(_SPACES, self.game, flat if self.mask_in_observation else self.game.observation_shape)

    @functools.partial(jax.jit, static_argnums=0)
    def reset(self, key: Array, params: Any = None) -> tuple[Array, GymnaxState]:
        """A new episode, played up to the learner's first turn: (observation float32, state). Consumes key."""
        del params
        episode, report = self._lanes.start(_words(key))
        return self._observed(report), _state(episode, report, jnp.int32(0))

    @functools.partial(jax.jit, static_argnums=0)
    def step(
        self, key: Array, state: GymnaxState, action: Any, params: Any = None
    ) -> tuple[Array, GymnaxState, Array, Array, Array, dict[str, Any]]:
        """The learner's action, the opponents' answers, and a new episode where that ended one. Consumes key.

        Returns: observation (of the new episode after an end), state, reward float32 [], terminated, truncated bool [],
        info: ``final_observation``, ``terminated``, ``truncated`` as gymnax has them; ``action_mask`` bool [actions]
        for the next action; ``seat``, ``illegal`` and what ``Environment.info`` says, of the episode that was played.
        """
        limit = jnp.asarray((params or self.default_params).max_steps_in_episode, jnp.int32)
        acted, renewal = _words(key).reshape(2, 2)
        action = jnp.asarray(action, jnp.int32)
        time = state.time + 1
        episode, final, now, truncated = self._lanes.step(state.episode, action, acted, renewal, time >= limit)
        over = final.terminated | truncated
        info = final.info | {
            "final_observation": self._observed(final),
            "terminated": final.terminated,
            "truncated": truncated,
            "action_mask": now.action_mask,
            "seat": final.seat,
            "illegal": final.illegal,
        }
        following = _state(episode, now, jnp.where(over, 0, time))
        return self._observed(now), following, final.reward, final.terminated, truncated, info

    def action_mask(self, state: GymnaxState) -> Array:
        """bool [actions]: what is legal now."""
        return state.action_mask

    def get_obs(self, state: GymnaxState, params: Any = None, key: Any = None) -> Array:
        """float32: what the learner sees."""
        del params, key
        return self._observed(self._lanes.table.report(state.episode, jnp.bool_(True))[1])

    def _observed(self, report: Report) -> Array:
        observation = report.observation.astype(jnp.float32)
        if not self.mask_in_observation:
            return observation
        return jnp.concatenate([observation.reshape(-1), report.action_mask.astype(jnp.float32)])

    def __reduce__(self) -> Any:
        return (GymnaxEnv, (self.game, self.opponent, self.seat, self.mask_in_observation))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GymnaxEnv) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())  # trainers copy their settings, and jit knows an environment by its hash

    def _identity(self) -> tuple[Any, ...]:
        return (self._lanes.table, self.mask_in_observation)

    def __repr__(self) -> str:
        return f"GymnaxEnv({self.game!r}, opponent={self.opponent!r}, seat={self.seat!r})"


def make(game: str | Environment, opponent: Any = "normal", **settings: Any) -> tuple[GymnaxEnv, GymnaxParams]:
    """The environment and its default parameters, as ``gymnax.make`` gives them; see ``GymnaxEnv``."""
    env = GymnaxEnv(game, opponent, **settings)
    return env, env.default_params


class _Lanes:
    """The step of one table, whose batch is worked out together: only lanes where somebody waits cost anything."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.start = with_batch_rule(_alone(self._start), self._start)
        self.step = with_batch_rule(_alone(self._step), self._step)

    def _start(self, words: Array) -> tuple[Episode, Report]:
        """Args: words: uint32 [lanes, 4]."""
        begun = jax.vmap(self.table.start)(words[:, :2])
        return self._told(self._settled(begun.replace(key=words[:, 2:])), True)

    def _step(
        self, episodes: Episode, actions: Array, acted: Array, renewal: Array, late: Array
    ) -> tuple[Episode, Report, Report, Array]:
        """Args: acted, renewal: uint32 [lanes, 2], of the dice and opponents before an end and after it; late: bool
        [lanes]: the episode is truncated now if it goes on.

        Returns: the episodes to go on with, the report of those played, that for the next action, and truncated.
        """
        table = self.table
        allowed = ~jax.vmap(table.finished)(episodes)
        played = self._settled(jax.vmap(table.play)(episodes.replace(key=acted), actions, allowed))
        told, final = self._told(played, False)
        truncated = final.truncated | (late & ~final.terminated)
        done = final.terminated | truncated

        def begin(rows: Episode, numbers: Array) -> Episode:
            words = renewal[numbers]
            begun = jax.vmap(table.start)(words)
            return begun.replace(key=jax.vmap(split_words)(words)[0])

        episodes, now = self._told(self._settled(on_all(done, told, begin, _RESET_GROUP)), True)
        return episodes, final, now, truncated

    def _told(self, episodes: Episode, fresh: bool) -> tuple[Episode, Report]:
        return jax.vmap(self.table.report, in_axes=(0, None))(episodes, jnp.bool_(fresh))

    def _settled(self, episodes: Episode) -> Episode:
        """The episodes after the turns of all opponents who are to move."""
        table = self.table
        lanes = episodes.seat.shape[0]
        group = max(min(lanes, 8), -(-lanes // _GROUPS))

        def move(rows: Episode, numbers: Array) -> Episode:
            words, keys = jax.vmap(split_words)(rows.key)
            states = jax.vmap(table.complete)(rows.state)
            actions = [jax.vmap(agent.act)(states, keys).astype(jnp.int32) for agent in table.agents]
            which = jax.vmap(table.opponent)(rows)
            chosen = functools.reduce(
                lambda chosen, number: jnp.where(which == number, actions[number], chosen),
                range(1, len(actions)),
                actions[0],
            )
            return jax.vmap(table.play)(rows.replace(key=words), chosen, jax.vmap(table.waiting)(rows))

        def waiting(episodes: Episode) -> Array:
            return jax.vmap(table.waiting)(episodes)

        return jax.lax.while_loop(
            lambda episodes: jnp.any(waiting(episodes)),
            lambda episodes: on_some(waiting(episodes), episodes, move, group)[0],
            episodes,
        )


def _alone(many: Any) -> Any:
    """A function of batches for a single lane."""

    def one(*arguments: Any) -> Any:
        results = many(*jax.tree.map(lambda leaf: leaf[None], arguments))
        return jax.tree.map(lambda leaf: leaf[0], results)

    return one


def _words(key: Array) -> Array:
    """uint32 [4] of a key of any kind. Consumes key."""
    return jax.random.bits(key, (4,), jnp.uint32)


def _state(episode: Episode, report: Report, time: Array) -> GymnaxState:
    return GymnaxState(episode=episode, action_mask=report.action_mask, time=time)
