"""Lanes of one jitted program, in which many games between any agents go on at once.

Lanes wait for different agents. At each ply the lanes are sorted by the agent to move, and each agent decides for its
own lanes only, in blocks of fixed size whose number follows the number of lanes: what a ply costs is about what its
decisions cost, however many lanes have finished and however unlike the agents are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import Agent
from audamir_envs.agents.outside import plays_inside
from audamir_envs.core import Array, Environment, Pytree, State
from audamir_envs.sampling import sample_legal

CHUNK = 4  # plies between two looks at what has finished
_FRESH = 8  # games begun together


class Lanes(Pytree):
    """The games being played, [lanes] in front of every shape."""

    states: State
    key: Array  # uint32 [words]: of the game's start; dice are drawn from it and the ply
    game: Array  # int32 []: its place in the list, or -1
    seats: Array  # int32 [players]
    starter: Array  # int32 []
    plies: Array  # int32 []
    done: Array  # bool []
    unfinished: Array  # bool []
    shares: Array  # float32 [players]: of a finished game
    offender: Array  # int32 []: the agent that played an illegal action, or -1
    offence: Array  # int32 []: that action


class Program:
    """The jitted functions of one kind of run."""

    def __init__(
        self,
        env: Environment,
        agents: tuple[Agent, ...],
        blocks: tuple[int, ...],
        size: int,
        opening_plies: int,
        limit: int,
        *,
        book: State | None = None,
        told: bool = False,
    ) -> None:
        """Args: book: states to start from, [positions] in front; None: ``env.init``; told: ``advance`` tells plies."""
        self.env = env
        self.agents = agents
        self.blocks = blocks
        self.size = size
        self.opening_plies = opening_plies
        self.limit = limit
        self.book = book
        self.told = told
        self.hosted = [number for number, agent in enumerate(agents) if not plays_inside(agent)]
        self.begin = jax.jit(self._begin, donate_argnums=0)
        self._chunk = jax.jit(self._advance, donate_argnums=0)
        self._decide = jax.jit(self._decisions)
        self._apply = jax.jit(self._step, donate_argnums=0)

    def empty(self, words: int) -> Lanes:
        """Lanes that hold no game."""
        size, players = self.size, self.env.num_players
        shape = jax.eval_shape(self.env.init, jax.random.key(0))
        fields: dict[str, Any] = {
            "states": jax.tree.map(lambda leaf: np.zeros((size, *leaf.shape), leaf.dtype), shape),
            "key": np.zeros((size, words), np.uint32),
            "game": np.full(size, -1, np.int32),
            "seats": np.zeros((size, players), np.int32),
            "starter": np.zeros(size, np.int32),
            "plies": np.zeros(size, np.int32),
            "done": np.ones(size, np.bool_),
            "unfinished": np.zeros(size, np.bool_),
            "shares": np.zeros((size, players), np.float32),
            "offender": np.full(size, -1, np.int32),
            "offence": np.full(size, -1, np.int32),
        }
        return Lanes(**fields)

    def compile(self, lanes: Lanes, key: Array) -> None:
        """Compiles by running on empty lanes, which plays nothing."""
        idle = self.begin(lanes, lanes.game, lanes.key, lanes.seats, np.zeros(self.size, np.int32))
        jax.block_until_ready(self.advance(idle, key, 0))

    def advance(self, lanes: Lanes, key: Array, ply: int) -> tuple[Lanes, int, tuple[Array, Array] | None]:
        """Plays CHUNK plies; the lanes, the number of decisions, and what was played where that is to be told.

        The latter are actions int32 [CHUNK, lanes] and what chance decided, uint8 [CHUNK, lanes, *chance_shape]; lanes
        that have ended and plies that nobody needed hold anything. Consumes key together with the run's ply.
        """
        if not self.hosted:
            lanes, made, told = self._chunk(lanes, key, np.int32(ply))
            return lanes, int(made), told
        total, plies = 0, []
        for offset in range(CHUNK):
            device_actions, device_actor = self._decide(lanes, key, np.int32(ply + offset))
            actions, actor = np.array(device_actions), np.asarray(device_actor)
            for number in self.hosted:
                rows = np.flatnonzero(actor == number)
                if rows.size:
                    agent: Any = self.agents[number]
                    states = jax.tree.map(lambda leaf, rows=rows: np.asarray(leaf)[rows], lanes.states)
                    actions[rows] = agent.act_states(self.env, states)
            lanes, made, told = self._apply(lanes, actions)
            total += int(made)
            plies.append(told)
        return lanes, total, jax.tree.map(lambda *one: np.stack(one), *plies) if self.told else None

    # What is jitted.

    def _begin(self, lanes: Lanes, game: Array, key: Array, seats: Array, place: Array) -> Lanes:
        """Starts the games numbered ``game`` (int32 [lanes], -1 = leave the lane alone), from places in the book."""
        wanted = game >= 0

        def begin(rows: Array, _: Array, lanes: Lanes) -> Lanes:
            source = jnp.minimum(rows, self.size - 1)
            # A child of the game's key, since what init makes of its key must differ from what the plies make of it.
            if self.book is None:
                states = jax.vmap(lambda words: self.env.init(_child(words, jnp.uint32(0xFFFFFFFF))))(key[source])
            else:
                states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[place[source]], self.book)
            fresh = Lanes(
                states=states,
                key=key[source],
                game=game[source],
                seats=seats[source],
                starter=states.current_player,
                plies=jnp.zeros(rows.shape, jnp.int32),
                done=jnp.zeros(rows.shape, jnp.bool_),
                unfinished=jnp.zeros(rows.shape, jnp.bool_),
                shares=jnp.zeros((*rows.shape, self.env.num_players), jnp.float32),
                offender=jnp.full(rows.shape, -1, jnp.int32),
                offence=jnp.full(rows.shape, -1, jnp.int32),
            )
            return jax.tree.map(lambda old, new: old.at[rows].set(new, mode="drop"), lanes, fresh)

        order = jnp.argsort(~wanted, stable=True).astype(jnp.int32)
        count = jnp.sum(wanted, dtype=jnp.int32)
        return _in_blocks(order, jnp.int32(0), count, min(_FRESH, self.size), begin, lanes)

    def _advance(self, lanes: Lanes, key: Array, ply: Array) -> tuple[Lanes, Array, Any]:
        def body(carry: tuple[Array, Array, Lanes, Any]) -> tuple[Array, Array, Lanes, Any]:
            offset, made, lanes, plies = carry
            actions, _ = self._decisions(lanes, key, ply + offset)
            lanes, count, told = self._step(lanes, actions)
            plies = jax.tree.map(lambda all, one: all.at[offset].set(one), plies, told)
            return offset + 1, made + count, lanes, plies

        def going_on(carry: tuple[Array, Array, Lanes, Any]) -> Array:
            offset, _, lanes, _ = carry
            return (offset < CHUNK) & ~jnp.all(lanes.done)

        plies = None
        if self.told:
            shape = self.env.chance_shape or ()
            plies = jnp.zeros((CHUNK, self.size), jnp.int32), jnp.zeros((CHUNK, self.size, *shape), jnp.uint8)
        _, made, lanes, plies = jax.lax.while_loop(going_on, body, (jnp.int32(0), jnp.int32(0), lanes, plies))
        return lanes, made, plies

    def _decisions(self, lanes: Lanes, key: Array, ply: Array) -> tuple[Array, Array]:
        """Actions int32 [lanes] (0 where no agent of JAX is to move) and the agents to move (none = their number)."""
        key = jax.random.fold_in(key, ply)
        none = jnp.int32(len(self.agents))
        actor = lanes.seats[jnp.arange(self.size, dtype=jnp.int32), lanes.states.current_player]
        actor = jnp.where(lanes.done | (lanes.plies < self.opening_plies), none, actor)
        order = jnp.argsort(actor, stable=True).astype(jnp.int32)
        counts = jnp.bincount(actor, length=len(self.agents)).astype(jnp.int32)
        before = jnp.cumsum(counts, dtype=jnp.int32) - counts
        actions = jnp.zeros(self.size, jnp.int32)
        for number, agent in enumerate(self.agents):
            if number in self.hosted:
                continue

            def decide(rows: Array, done: Array, actions: Array, agent: Any = agent, number: int = number) -> Array:
                # Rows beyond the last lane fill the block: copies of its first, which is always real, said to have
                # ended, so that agents may leave them out.
                filling = rows >= self.size
                source = jnp.where(filling, rows[0], rows)
                chosen = jax.tree.map(lambda leaf: leaf[source], lanes.states)
                chosen = chosen.replace(
                    terminated=chosen.terminated | filling,
                    legal_action_mask=chosen.legal_action_mask | filling[:, None],
                )
                decided = _act(agent, chosen, jax.random.fold_in(key, number * self.size + done))
                return actions.at[rows].set(decided.astype(jnp.int32), mode="drop")

            actions = _in_blocks(order, before[number], counts[number], self.blocks[number], decide, actions)
        return actions, actor

    def _step(self, lanes: Lanes, actions: Array) -> tuple[Lanes, Array, Any]:
        """The lanes after an action each, finished ones as they were, and the number of the agents' decisions.

        Where it is to be told, also the actions and what chance decided.
        """
        active = ~lanes.done
        opening = lanes.plies < self.opening_plies
        before = lanes.states
        keys = jax.vmap(_child)(lanes.key, lanes.plies)
        if self.opening_plies:
            actions = jnp.where(opening, jax.vmap(sample_legal)(keys, before.legal_action_mask), actions)
        row = jnp.arange(self.size, dtype=jnp.int32)
        inside = (actions >= 0) & (actions < self.env.num_actions)
        legal = inside & before.legal_action_mask[row, jnp.where(inside, actions, 0)]
        offence = active & ~legal
        # The opening's choice and the dice must not be one draw.
        dice = jax.vmap(jax.random.fold_in, (0, None))(keys, np.uint32(1)) if self.env.stochastic else None
        told = None
        if self.told:
            chance = jnp.zeros((self.size, 0), jnp.uint8)
            if dice is not None:
                chance = jax.vmap(self.env.chance_of)(before, actions, dice)
            states = jax.vmap(self.env.step_with_chance)(before, actions, chance)
            told = actions, chance
        else:
            states = jax.vmap(self.env.step)(before, actions, dice)
        if self.limit < self.env.max_steps:  # to the rules a game that was cut goes on
            states = jax.tree.map(lambda old, new: _chosen(lanes.done, old, new), before, states)
        plies = lanes.plies + (active & ~offence).astype(jnp.int32)
        over = states.terminated | states.truncated
        cut = active & ~over & (plies >= self.limit)
        ended = active & (over | cut)
        rewards = jnp.where(cut[:, None], jax.vmap(self.env.settle)(states.game), states.rewards)
        players = self.env.num_players
        shares = (rewards * jnp.float32(players - 1) + 1) / jnp.float32(players)
        mover = lanes.seats[row, before.current_player]
        # Where a game was lost by an illegal action, the others share what there is.
        others = jnp.arange(players, dtype=jnp.int32) != before.current_player[:, None]
        shares = jnp.where(offence[:, None], others.astype(jnp.float32) / jnp.float32(players - 1), shares)
        lanes = lanes.replace(
            states=states,
            plies=plies,
            done=lanes.done | ended,
            unfinished=lanes.unfinished | cut,
            shares=jnp.where(ended[:, None], shares, lanes.shares),
            offender=jnp.where(offence, mover, lanes.offender),
            offence=jnp.where(offence, actions, lanes.offence),
        )
        return lanes, jnp.sum(active & ~opening, dtype=jnp.int32), told


def _chosen(condition: Array, yes: Array, no: Array) -> Array:
    """Rows of ``yes`` where a condition (bool [rows]) holds, else of ``no``."""
    return jnp.where(condition.reshape(-1, *[1] * (yes.ndim - 1)), yes, no)


def _child(words: Array, number: Array) -> Array:
    """A key made from another's words (uint32 [words]) and a number."""
    return jax.random.fold_in(jax.random.wrap_key_data(words), number)


def _act(agent: Any, states: State, key: Array) -> Array:
    """int32 [batch]. Consumes key."""
    if hasattr(agent, "act_batch"):
        return agent.act_batch(states, key)
    return jax.vmap(agent.act)(states, jax.random.split(key, states.current_player.shape[0]))


def _in_blocks(order: Array, first: Array, count: Array, block: int, do: Callable[..., Any], carry: Any) -> Any:
    """Calls ``carry = do(rows, rows done before, carry)`` for blocks of ``order[first : first + count]``.

    Rows beyond the count are ``len(order)``, which a scatter with mode="drop" leaves out.
    """
    size = order.shape[0]
    padded = jnp.concatenate([order, jnp.full(block, size, jnp.int32)])
    within = jnp.arange(block, dtype=jnp.int32)

    def body(state: tuple[Array, Any]) -> tuple[Array, Any]:
        done, carry = state
        rows = jax.lax.dynamic_slice(padded, (first + done,), (block,))
        rows = jnp.where(done + within < count, rows, jnp.int32(size))
        return done + block, do(rows, done, carry)

    return jax.lax.while_loop(lambda state: state[0] < count, body, (jnp.int32(0), carry))[1]
