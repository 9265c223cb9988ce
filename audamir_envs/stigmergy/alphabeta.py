"""The search of ``lookahead.search``, with alpha-beta cuts: the same choice among all moves, several times sooner.

A tree walk cannot be written as one array operation, but many walks in step can. Every lane walks one tree after
another, a tree being what follows one move of one position; a pass of the loop lets each lane look at one position of
its tree. Moves that cannot become the best one any more are left, and count as no more than is known of them.

Arrays have the lanes as last axis, as in ``lookahead``.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.batching import varying_like
from audamir_envs.core import Array, Pytree
from audamir_envs.hexboard import side_of_grid
from audamir_envs.stigmergy import lookahead, rules, worth
from audamir_envs.stigmergy.lookahead import ILLEGAL, WIN

_LANES = 64  # more would not fit the processor's caches
_PASSES = 8  # between two looks at the queue of trees
_NOTHING = np.int32(-(1 << 22))  # below every value
_IDLE, _AT_ROOT = -2, -1  # depths of a lane without a tree, and of one that has not looked at its tree's first position


class _Node(Pytree):
    """A position on the way down, and its moves that are looked at."""

    position: rules.Position
    rows: Array  # int32 [width, lanes]: the moves as rows of ``move_values``, the best first
    values: Array  # int32 [width, lanes]: what they seem to be worth
    tried: Array  # int32 [lanes]: how many of them have been looked at
    best: Array  # int32 [lanes]: the value of the best of these, for the side to move here


class _Lanes(Pytree):
    """What the lanes are doing."""

    stack: tuple[_Node, ...]  # after the tree's move, after one answer, ...
    depth: Array  # int32 [lanes]: of the last node; or _IDLE, _AT_ROOT
    child: rules.Position  # the position to look at: after the last node's last move
    value: Array  # int32 [lanes]: what that move seemed to be worth
    alpha: Array  # int32 [lanes]: what the tree's move must be worth to matter
    tree: Array  # int32 [lanes]: rank * positions + position


class _Search(Pytree):
    lanes: _Lanes
    queued: Array  # int32 []: trees handed out
    results: Array  # int32 [ranks, positions]: of the moves at the root, exact where they can be chosen
    best: Array  # int32 [positions]


def search(positions: rules.Position, static: Array, table: worth.Worth, widths: tuple[int, ...], noise: int) -> Array:
    """int32 [grid + 1, batch]: as ``lookahead.search`` with these widths (two or more).

    Only of moves that lie ``noise`` or more below the best it finds no more than that they do.
    """
    batch = static.shape[0]
    actions = jnp.asarray(lookahead.actions_of_rows(side_of_grid(positions.stones.shape[0])))
    values = lookahead.move_values(positions, static, table)
    rows, chosen = lookahead.best_rows(values, widths[0])
    ranks = rows.shape[0]
    first = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), positions)
    after = jax.lax.map(lambda action: jax.vmap(rules.play)(first, action), actions[rows])
    after = jax.tree.map(lambda leaf: leaf.reshape(ranks * batch, *leaf.shape[2:]), after)  # by tree
    decided = jnp.abs(chosen) >= WIN // 2
    trees = ranks * batch
    lanes = min(_LANES, trees)

    def hand_out(search: _Search) -> _Search:
        """Enters the results of the trees that are done, and gives their lanes the next ones."""
        found = search.lanes
        done = found.depth == _IDLE
        tree = jnp.where(done, found.tree, trees)
        rank, position = tree // batch, tree % batch
        result = -found.stack[0].best
        results = search.results.at[rank, position].set(result, mode="drop")
        best = search.best.at[position].max(jnp.where(tree < trees, result, _NOTHING))
        tree = search.queued + jnp.cumsum(done, dtype=jnp.int32) - 1
        given = done & (tree < trees)
        tree = jnp.where(given, tree, jnp.where(done, trees, found.tree))
        index = jnp.minimum(tree, trees - 1)
        begins = given & ~decided.reshape(-1)[index]
        child = lookahead.batch_last(jax.tree.map(lambda leaf: leaf[index], after))
        new = found.replace(
            child=_select(begins, child, found.child),
            value=jnp.where(begins, chosen.reshape(-1)[index], found.value),
            depth=jnp.where(begins, jnp.int32(_AT_ROOT), found.depth),
            tree=jnp.where(begins | ~done, tree, jnp.int32(trees)),
            alpha=best[index % batch] - noise,
        )
        return _Search(new, search.queued + jnp.sum(done, dtype=jnp.int32), results, best)

    def going_on(search: _Search) -> Array:
        return (search.queued < trees) | jnp.any(search.lanes.depth != _IDLE) | jnp.any(search.lanes.tree < trees)

    def passes(search: _Search) -> _Search:
        step = functools.partial(_pass, table, widths[1:], actions)
        return hand_out(search.replace(lanes=jax.lax.fori_loop(0, _PASSES, lambda _, lanes: step(lanes), search.lanes)))

    none = jax.tree.map(lambda leaf: jnp.zeros((*leaf.shape[1:], lanes), leaf.dtype), after)
    zeros = jnp.zeros(lanes, jnp.int32)
    width = max(widths[1:])
    node = _Node(none, jnp.zeros((width, lanes), jnp.int32), jnp.zeros((width, lanes), jnp.int32), zeros, zeros)
    start = _Search(
        lanes=_Lanes((node,) * (len(widths) - 1), zeros + _IDLE, none, zeros, zeros, zeros + trees),
        queued=jnp.int32(0),
        results=jnp.where(decided, chosen, ILLEGAL),
        best=jnp.max(jnp.where(decided, chosen, _NOTHING), axis=0),
    )
    results = jax.lax.while_loop(going_on, passes, hand_out(varying_like(start, positions))).results
    places = jnp.arange(values.shape[0], dtype=jnp.int32)[:, None]
    searched = jnp.full_like(values, ILLEGAL)
    for row, result in zip(rows, results, strict=True):
        searched = jnp.where(places == row[None], result[None], searched)
    return searched


def _select(condition: Array, chosen: Any, other: Any) -> Any:
    """Lane by lane, for trees of arrays [..., lanes]."""
    return jax.tree.map(lambda a, b: jnp.where(condition.reshape((1,) * (a.ndim - 1) + (-1,)), a, b), chosen, other)


def _pass(table: worth.Worth, widths: tuple[int, ...], actions: Array, lanes: _Lanes) -> _Lanes:
    """Looks at the child of every lane, goes down or up, and makes the next move."""
    levels = len(widths)
    rows, values = lookahead.best_rows(lookahead.move_values(lanes.child, -lanes.value, table), max(widths))
    decided = jnp.abs(lanes.value) >= WIN // 2
    known = decided | (lanes.depth == levels - 1)
    value = jnp.where(decided, lanes.value, -values[0])
    down = ~known & (lanes.depth != _IDLE)
    depth = lanes.depth + down.astype(jnp.int32)
    nothing = jnp.full_like(value, _NOTHING)
    opened = _Node(lanes.child, rows, values, jnp.zeros_like(value), nothing)
    stack = list(lanes.stack)
    for level in range(levels):
        here = known & (lanes.depth == level)
        best = jnp.where(here, jnp.maximum(stack[level].best, value), stack[level].best)
        stack[level] = _select(down & (depth == level), opened, stack[level].replace(best=best))
    # Up, the deepest level first: its value then counts at the level above, which may be finished by it.
    for level in reversed(range(levels)):
        finished = (stack[level].tried >= widths[level]) | (stack[level].best >= _bound(stack, level, lanes.alpha))
        closing = (depth == level) & ~down & finished
        if level:
            above = stack[level - 1]
            best = jnp.where(closing, jnp.maximum(above.best, -stack[level].best), above.best)
            stack[level - 1] = above.replace(best=best)
        depth = jnp.where(closing, jnp.int32(level - 1 if level else _IDLE), depth)

    position, tried, rows, values = (
        functools.reduce(lambda a, b: _select(depth == b[0], b[1], a), list(enumerate(each))[1:], each[0])
        for each in zip(*((node.position, node.tried, node.rows, node.values) for node in stack), strict=True)
    )
    number = jnp.arange(rows.shape[0], dtype=jnp.int32)[:, None] == tried[None]
    row = jnp.sum(jnp.where(number, rows, 0), axis=0, dtype=jnp.int32)
    value = jnp.sum(jnp.where(number, values, 0), axis=0, dtype=jnp.int32)
    first = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), position)
    child = lookahead.batch_last(jax.vmap(rules.play)(first, actions[row]))
    stack = [node.replace(tried=node.tried + (depth == level).astype(jnp.int32)) for level, node in enumerate(stack)]
    return lanes.replace(stack=tuple(stack), depth=depth, child=child, value=value)


def _bound(stack: list[_Node], level: int, alpha: Array) -> Array:
    """int32 [lanes]: the value from which on a node no longer matters to the root."""
    bound = -alpha if level % 2 == 0 else jnp.full_like(alpha, -_NOTHING)
    for above in range(level - 1, -1, -2):
        bound = jnp.minimum(bound, -stack[above].best)
    return bound
