"""Making opening books: positions of random plies and self-play that a strong search, or a solver, calls even."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs import registry
from audamir_envs.agents.base import act_batch, evaluate_batch
from audamir_envs.arena.openings import Book, Opening
from audamir_envs.core import Environment, State
from audamir_envs.hexboard import hexboard
from audamir_envs.learning import HexInterface
from audamir_envs.sampling import sample_legal

Judge = Callable[[State], tuple[np.ndarray, np.ndarray]]
"""States of a batch -> seat 0's values float [batch], -1 to 1, and margins float [batch] in points, nan: unknown."""


def make(
    env: Environment,
    judge: Judge,
    player: Any,
    *,
    count: int,
    bound: float,
    random_plies: int = 6,
    self_plies: int = 4,
    seed: int = 0,
    batch: int = 64,
    rounds: int = 1000,
    made: dict[str, Any],
    progress: Callable[[int], None] | None = None,
) -> Book:
    """Draws positions until ``count`` even ones are found.

    Each lane plays 1 to ``random_plies`` uniformly random plies and then 0 to ``self_plies`` of ``player``; its
    position is taken if the game goes on, |value| is at most ``bound``, and no taken one is the same up to symmetry.
    Args: rounds: batches after which it gives up; made: what the book says of how it was made; progress: called with
    the number of positions found.
    Raises: ValueError: too few were found.
    """
    found: list[Opening] = []
    known: set[bytes] = set()
    for states in _positions(env, player, random_plies, self_plies, seed, batch, rounds):
        going = ~(np.asarray(states.terminated) | np.asarray(states.truncated))
        names = fingerprints(env, states)
        fresh = np.array([name not in known for name in names]) & going
        known.update(names)  # judged once, whatever comes of it
        _, first = np.unique(names, return_index=True)
        rows = np.flatnonzero(fresh & np.isin(np.arange(batch), first))
        if not rows.size:
            continue
        padded = np.resize(rows, batch)  # one shape, so one program
        values, margins = judge(jax.tree.map(lambda leaf, rows=padded: np.asarray(leaf)[rows], states))
        for place, row in enumerate(rows):
            value, margin = float(values[place]), float(margins[place])
            if abs(value) <= bound and len(found) < count:
                text = env.to_text(jax.tree.map(lambda leaf, row=row: np.asarray(leaf)[row], states))
                found.append(Opening(text, round(value, 4), None if np.isnan(margin) else round(margin, 2)))
        if progress is not None:
            progress(len(found))
        if len(found) == count:
            return Book(env, tuple(found), made)
    raise ValueError(
        f"only {len(found)} of {count} openings with |value| up to {bound} were found: ask for fewer, or allow more"
    )


def _positions(
    env: Environment, player: Any, random_plies: int, self_plies: int, seed: int, batch: int, rounds: int
) -> Iterator[State]:
    key = jax.random.key(seed)

    @jax.jit
    def draw(key: jax.Array) -> State:
        init_key, length_key, key = jax.random.split(key, 3)
        states = jax.vmap(env.init)(jax.random.split(init_key, batch))
        lengths = jax.random.split(length_key)
        random = jax.random.randint(lengths[0], (batch,), 1, random_plies + 1, jnp.int32)
        total = random + jax.random.randint(lengths[1], (batch,), 0, self_plies + 1, jnp.int32)

        def ply(number: jax.Array, states: State) -> State:
            choice, own, dice = jax.random.split(jax.random.fold_in(key, number), 3)
            actions = jnp.where(number < random, sample_legal(choice, states), act_batch(player, states, own))
            after = jax.vmap(env.step)(states, actions, jax.random.split(dice, batch))
            play = number < total
            return jax.tree.map(
                lambda new, old: jnp.where(play.reshape(-1, *[1] * (new.ndim - 1)), new, old), after, states
            )

        return jax.lax.fori_loop(0, random_plies + self_plies, ply, states)

    for number in range(rounds):
        yield draw(jax.random.fold_in(key, number))


def fingerprints(env: Environment, states: State) -> list[bytes]:
    """One text for each state of a batch: equal for what is the same up to the game's symmetries and for the mover."""
    seen = np.asarray(states.observation)
    images = [seen]
    learning = registry.learning(env.id)
    if learning is not None and isinstance(learning.network, HexInterface):
        width, planes = env.observation_shape[0], env.observation_shape[2]
        table = hexboard((width + 1) // 2).grid_symmetries()[list(learning.symmetries)]
        flat = seen.reshape(len(seen), width * width, planes)
        images = [flat[:, np.argsort(row)] for row in table]
    return [min(image[row].tobytes() for image in images) for row in range(len(seen))]


def judge_of(agent: Any) -> Judge:
    """An agent that says what it thinks, as a judge."""

    @functools.partial(jax.jit)
    def think(states: State) -> Any:
        thought = evaluate_batch(agent, states)
        lead = jnp.full(thought.value.shape[:1], jnp.nan) if thought.score is None else thought.score[:, 0]
        return thought.value, lead

    def judge(states: State) -> tuple[np.ndarray, np.ndarray]:
        value, lead = jax.device_get(think(states))
        # With more than two seats even means that nobody is far from the mean.
        worst = np.take_along_axis(value, np.abs(value).argmax(axis=1)[:, None], axis=1)[:, 0]
        return (value[:, 0] if value.shape[1] == 2 else worst), lead

    return judge
