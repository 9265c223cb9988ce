"""Exact alpha-beta for many Colony games at once, each lane of an array walking its own tree.

A tree walk cannot be written as one array operation, but thousands of walks in step can: every lane keeps a small stack
of nodes as bit words, and one pass of the loop lets each lane make one move on its deepest open node. Lanes are workers
on a queue of tasks, a task being one root move of one game, so a game with a hard position is finished by many lanes
and none waits for the slowest. Tasks are ordered by rank (every game's most promising move first) and later ones are
cut by the best value that the game has reached so far.

The value is the difference in pieces, and much more where the game has ended, the sooner the better. The last ply is
not walked at all: its best move gains twice the enemies beside the landing cell, and one more for a copy, which
bit-parallel counters give for all cells together; ends of the game on that last ply are not looked for.

Sets of cells are uint32 [..., 2, lanes] here (``cells.Cells`` with both words in one array), so that an operation on
both words is one instruction of the compiled program, and lanes lie side by side in memory.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.batching import varying_like
from audamir_envs.colony.cells import BOARD, RING, SIZE, step_of, words
from audamir_envs.colony.rules import JUMPS, KINDS, ORIGIN, PASS, Position
from audamir_envs.core import Array, Pytree
from audamir_envs.hexboard import DIRECTIONS
from audamir_envs.sampling import sample_legal

WIN, DELAY = 1000, 64
"""A won game is worth its lead in pieces and WIN, less DELAY (more than any lead) for each ply until then."""

MAX_MOVES = int((ORIGIN >= 0).sum()) // 2 + SIZE
"""A bound on legal moves: a pair of cells two apart allows one jump at most, and a cell one copy."""

# More lanes than these gain nothing on a CPU: their words would leave its caches, and small kernels would be split
# among its threads.
_FEW_LANES, _MANY_LANES = 32, 256
_NOTHING = np.int32(-(1 << 20))  # below every value

_HALVES = np.array([0xFFFF0000, 0x0000FFFF], np.uint32)


def _keep(tree: Any) -> Any:
    """The same values, computed once.

    The compiler for CPUs fuses elementwise code into every user of a value, and so computes a value with many users as
    many times, which multiplies through the stages of a search to a factor of hundreds. A reduction it does not repeat,
    and this one (of both halves of each word, by "or") it cannot simplify away. ``lax.optimization_barrier`` is dropped
    by that compiler before it fuses.
    """

    def kept(leaf: Array) -> Array:
        halves = jnp.asarray(_HALVES.view(leaf.dtype)).reshape((2,) + (1,) * leaf.ndim)
        return jax.lax.reduce(leaf[None] & halves, leaf.dtype.type(0), jax.lax.bitwise_or, (0,))

    return jax.tree.map(kept, tree)


class Node(Pytree):
    """A position in a tree, with what is left to try from it. Sets are uint32 [2, lanes]."""

    own: Array  # pieces of the side to move here
    enemy: Array
    empty: Array
    copies: Array  # targets of copies not tried yet
    jumps: Array  # targets of jumps of which no origin was tried yet
    origins: Array  # origins not tried yet of jumps to ``target``
    target: Array  # one cell, or none
    ones: Array  # the numbers of enemies that touch each cell, in binary
    twos: Array
    fours: Array


class Facts(Pytree):
    """What a position is worth as it stands. Arrays are [lanes]."""

    over: Array  # int32: 1 where the game has ended, 0 elsewhere
    lead: (
        Array  # int32: pieces of the side to move minus the other's; where ended with the claim and what a win is worth
    )
    gain: Array  # int32: the most pieces that one move can gain, 0 where only a pass is possible


def _any(cells: Array) -> Array:
    return (cells[..., 0, :] | cells[..., 1, :]) != jnp.uint32(0)


def _count(cells: Array) -> Array:
    return jax.lax.population_count(cells).astype(jnp.int32).sum(-2, dtype=jnp.int32)


def _select(condition: Array, chosen: Array, other: Array) -> Array:
    return jnp.where(condition[..., None, :], chosen, other)


def _select_tree(condition: Array, chosen: Node, other: Node) -> Node:
    return jax.tree.map(lambda a, b: _select(condition, a, b), chosen, other)


def _lowest(cells: Array) -> Array:
    """The first cell of a set alone, or none."""
    single = cells & (~cells + jnp.uint32(1))
    return jnp.stack(
        [single[..., 0, :], jnp.where(single[..., 0, :] != jnp.uint32(0), jnp.uint32(0), single[..., 1, :])], -2
    )


class _Turns:
    """Tables that move a set by several offsets, a pair of opposite ones a row: forwards and backwards on the ring."""

    def __init__(self, offsets: tuple[tuple[int, int], ...]) -> None:
        forwards = [offset for offset in offsets if step_of(offset) > 0]
        k = np.array([step_of(offset) for offset in forwards], np.uint32)
        self.k = k[:, None, None]
        self.carry_forwards = np.stack([29 - k, 32 - k], 1)[:, :, None]  # into the first word, into the second
        self.carry_backwards = self.carry_forwards[:, ::-1]
        self.stay_forwards = self._staying(forwards)
        self.stay_backwards = self._staying([(-dq, -dr) for dq, dr in forwards])

    @staticmethod
    def _staying(offsets: list[tuple[int, int]]) -> np.ndarray:
        """uint32 [offsets, 2, 1]: the cells from which each offset stays on the board."""
        return np.stack(words(BOARD.offset_table(tuple(offsets)).T >= 0), 1)[:, :, None]

    def __call__(self, cells: Array) -> tuple[Array, Array]:
        """uint32 [offsets / 2, 2, lanes] twice: the set moved by the offsets of each kind."""
        on_ring = jnp.array([[[0xFFFFFFFF], [(1 << 29) - 1]]], jnp.uint32)
        ahead, back = cells[None] & self.stay_forwards, cells[None] & self.stay_backwards
        ahead = (ahead << self.k) | (jnp.flip(ahead, 1) >> self.carry_forwards)
        back = (back >> self.k) | (jnp.flip(back, 1) << self.carry_backwards)
        return ahead & on_ring, back & on_ring


_STEPS, _JUMPS = _Turns(DIRECTIONS), _Turns(JUMPS)


def _union_of_moved(cells: Array, turns: _Turns) -> Array:
    ahead, back = turns(cells)
    return jax.lax.reduce(ahead | back, np.uint32(0), jax.lax.bitwise_or, (0,))


def _count_touching(cells: Array) -> tuple[Array, Array, Array]:
    """For every cell of the board how many of the set touch it, in binary: three sets, ones, twos and fours."""
    moved = _keep(jnp.stack(_STEPS(cells)))  # [2, 3, 2, lanes]
    a, b, c = moved[:, 0], moved[:, 1], moved[:, 2]
    (ones, other), (carry, other_carry) = _keep((a ^ b ^ c, (a & b) | (c & (a | b))))
    both = ones & other
    twos = carry ^ other_carry ^ both
    fours = (carry & other_carry) | (both & (carry | other_carry))
    return _keep((ones ^ other, twos, fours))


def _richest(cells: Array, planes: tuple[Array, Array, Array]) -> Array:
    """Those of the cells with the largest number in binary (ones, twos, fours)."""
    for plane in reversed(planes):
        richer = cells & plane
        cells = _select(_any(richer), richer, cells)
    return cells


def _largest(cells: Array, planes: tuple[Array, Array, Array]) -> Array:
    """int32 [lanes]: the largest number in binary over the cells, 0 for none."""
    number = jnp.zeros(cells.shape[-1], jnp.int32)
    for value, plane in zip((4, 2, 1), reversed(planes), strict=True):
        richer = cells & plane
        found = _any(richer)
        cells = _select(found, richer, cells)
        number = number + jnp.where(found, jnp.int32(value), jnp.int32(0))
    return number


def _open(
    sides: tuple[Array, Array, Array], turns_left: Array, claim_empty: Array, ply: Array | int
) -> tuple[Node, Facts]:
    """The node of a position (own, enemy, empty) that lies ``ply`` moves below the root, and its facts."""
    own, enemy, empty = sides
    planes = _count_touching(enemy)
    copies, jumps = _union_of_moved(own, _STEPS) & empty, _union_of_moved(own, _JUMPS) & empty
    enemy_moves = (planes[0] | planes[1] | planes[2] | _union_of_moved(enemy, _JUMPS)) & empty
    none = jnp.zeros_like(own)
    node = Node(own, enemy, empty, copies, jumps, none, none, *planes)
    can_move, enemy_can_move = _any(copies | jumps), _any(enemy_moves)
    own_count, enemy_count = _count(own), _count(enemy)
    claim = jnp.where(claim_empty, can_move.astype(jnp.int32) - enemy_can_move.astype(jnp.int32), jnp.int32(0))
    over = ~(can_move | enemy_can_move) | (own_count == 0) | (enemy_count == 0) | (claim != 0) | (turns_left <= 0)
    lead = own_count - enemy_count + jnp.where(over, claim * _count(empty), jnp.int32(0))
    lead = lead + jnp.where(over, jnp.sign(lead) * (WIN - DELAY * ply), jnp.int32(0))
    by_copy = 2 * _largest(copies, planes) + _any(copies).astype(jnp.int32)
    return node, _keep(Facts(over.astype(jnp.int32), lead, jnp.maximum(by_copy, 2 * _largest(jumps, planes))))


def _ring_number(cell: Array) -> Array:
    """int32 [lanes]: the ring number of the only cell of a set, 64 for none."""
    low, high = cell[..., 0, :], cell[..., 1, :]
    in_low = jax.lax.population_count(low - jnp.uint32(1))
    in_high = jax.lax.population_count(high - jnp.uint32(1)) + jnp.uint32(32)
    return jnp.where(low != jnp.uint32(0), in_low, in_high).astype(jnp.int32)


def _surroundings_table() -> np.ndarray:
    """uint32 [2, 2, 65]: by ring number the sets at distance 1 and at distance 2, both words; none for number 64."""
    table = np.zeros((2, 2, 65), np.uint32)
    for row, offsets in enumerate((DIRECTIONS, JUMPS)):
        reached = np.zeros((SIZE, SIZE), np.bool_)
        for cell, cells in enumerate(BOARD.offset_table(offsets)):
            reached[cell, cells[cells >= 0]] = True
        table[row][:, RING] = words(reached)
    return table


def _action_table() -> np.ndarray:
    """int32 [65, 65]: the action of ring numbers landing and left (64: none); 793, a pass, where there is none."""
    table = np.full((65, 65), PASS, np.int32)
    for target in range(SIZE):
        table[RING[target], 64] = target * KINDS
        for jump, origin in enumerate(ORIGIN[target]):
            if origin >= 0:
                table[RING[target], RING[origin]] = target * KINDS + 1 + jump
    return table


_SURROUNDINGS = _surroundings_table()
_ACTIONS = _action_table()


class Move(Pytree):
    """What a move changes, uint32 [2, lanes] each; all empty for a pass."""

    landing: Array
    left: Array  # the cell that a jump leaves


def _next_move(node: Node) -> tuple[Node, Move]:
    """Takes the best untried move from a node: moves come in order of what they gain at once, copies first.

    Where nothing is left to try (as where nothing was possible) the move is a pass.
    """
    going_on = _any(node.origins)
    best = _keep(_richest(node.copies | node.jumps, (node.ones, node.twos, node.fours)))
    copies = best & node.copies
    copying = _any(copies) & ~going_on
    landing = _keep(_select(going_on, node.target, _lowest(_select(copying, copies, best))))
    ring = jnp.asarray(_SURROUNDINGS[1])[:, _ring_number(landing)]
    none = jnp.zeros_like(landing)
    origins = _select(going_on, node.origins, _select(copying, none, ring & node.own))
    left = _keep(_lowest(origins))
    after = node.replace(
        copies=node.copies & ~_select(copying, landing, none),
        jumps=node.jumps & ~_select(copying, none, landing),
        origins=origins & ~left,
        target=landing,
    )
    return _keep((after, Move(landing, left)))


def _exhausted(node: Node) -> Array:
    return ~_any(node.copies | node.jumps | node.origins)


def _play(node: Node, move: Move) -> tuple[Array, Array, Array]:
    """Own, enemy and empty cells after a move, from the other side."""
    near = jnp.asarray(_SURROUNDINGS[0])[:, _ring_number(move.landing)]
    turned = node.enemy & near
    own = node.enemy & ~turned
    enemy = (node.own & ~move.left) | move.landing | turned
    return _keep((own, enemy, (node.empty & ~move.landing) | move.left))


class Moves(Pytree):
    """The moves of every root, best first: what the tasks are."""

    table: Move  # uint32 [MAX_MOVES, 2, games]
    count: Array  # int32 [games]


def _root_moves(roots: Node, wanted: Array) -> Moves:
    """Lists the moves of the roots, none of those that are not wanted (bool [games])."""
    games = wanted.shape[0]
    blank = jnp.zeros((MAX_MOVES, 2, games), jnp.uint32)

    def list_next(carry: tuple[Node, Moves, Array, Array]) -> tuple[Node, Moves, Array, Array]:
        node, moves, rank, open_ = carry
        node, move = _next_move(node)
        table = jax.tree.map(lambda rows, row: rows.at[rank].set(row), moves.table, move)
        return node, Moves(table, moves.count + open_.astype(jnp.int32)), rank + 1, open_ & ~_exhausted(node)

    start = (roots, Moves(Move(blank, blank), jnp.zeros(games, jnp.int32)), jnp.int32(0), wanted)
    start = varying_like(start, (roots, wanted))
    return jax.lax.while_loop(lambda carry: carry[3].any(), list_next, start)[1]


class Lanes(Pytree):
    """The workers. Arrays are [lanes]."""

    stack: tuple[Node, ...]  # the node after the root move, and those below it that moves are made on
    best: tuple[Array, ...]  # int32: the best value found at each node of the stack, from the side to move there
    depth: Array  # int32: the index of the deepest open node; -1: the task is done
    turns_left: Array  # int32: at the node after the root move
    claim_empty: Array  # bool
    alpha: Array  # int32: what the root move must exceed to matter, from the root's side
    game: Array  # int32
    rank: Array  # int32: of the root move; MAX_MOVES where the lane has had no task


def _advance(lanes: Lanes) -> Lanes:
    """One move on the deepest open node of every lane that has work."""
    levels = len(lanes.stack)
    node, best = lanes.stack[0], lanes.best[0]
    for level in range(1, levels):
        node = _select_tree(lanes.depth == level, lanes.stack[level], node)
        best = jnp.where(lanes.depth == level, lanes.best[level], best)
    node, move = _next_move(_keep(node))
    child, facts = _open(_play(node, move), lanes.turns_left - lanes.depth - 1, lanes.claim_empty, lanes.depth + 2)
    last = lanes.depth == levels - 1
    over = facts.over != 0
    known = last | over
    value = facts.lead + jnp.where(over, jnp.int32(0), facts.gain)
    best = jnp.where(known, jnp.maximum(best, -value), best)
    down = (lanes.depth >= 0) & ~known
    stack, bests = list(lanes.stack), list(lanes.best)
    for level in range(levels):
        here, opened = lanes.depth == level, down & (lanes.depth == level - 1)
        stack[level] = _select_tree(here, node, stack[level])
        bests[level] = jnp.where(here, best, bests[level])
        if level:
            stack[level] = _select_tree(opened, child, stack[level])
            bests[level] = jnp.where(opened, _NOTHING, bests[level])
    stack, bests = _keep((stack, bests))
    depth = lanes.depth + down.astype(jnp.int32)
    # Close what is finished, the deepest first: its value then counts at the node above, which may be finished by it.
    for level in reversed(range(levels)):
        fresh = down & (lanes.depth == level - 1)
        finished = _exhausted(stack[level]) | (bests[level] >= _bound(bests, level, lanes.alpha))
        closing = (depth == level) & ~fresh & finished
        if level:
            bests[level - 1] = jnp.where(closing, jnp.maximum(bests[level - 1], -bests[level]), bests[level - 1])
        depth = depth - closing.astype(jnp.int32)
    return lanes.replace(stack=tuple(stack), best=tuple(bests), depth=depth)


def _bound(best: list[Array], level: int, alpha: Array) -> Array:
    """int32 [lanes]: the value from which on a node no longer matters to the root (beta)."""
    bound = -alpha if level % 2 == 0 else jnp.full(alpha.shape, -_NOTHING)
    for above in range(level - 1, -1, -2):
        bound = jnp.minimum(bound, -best[above])
    return bound


class Search(Pytree):
    """All that the loop over tasks carries."""

    lanes: Lanes
    queued: Array  # int32 []: tasks handed out so far, in the order rank * games + game
    values: Array  # int32 [MAX_MOVES, games]: of root moves, exact where they reach ``best``, else below it
    best: Array  # int32 [games]


def _hand_out(search: Search, roots: Node, moves: Moves, turns_left: Array, claim_empty: Array) -> Search:
    """Gives every idle lane the next task."""
    games = turns_left.shape[0]
    lanes = search.lanes
    idle = lanes.depth < 0
    task = search.queued + jnp.cumsum(idle, dtype=jnp.int32) - 1
    rank, game = jnp.minimum(task // games, jnp.int32(MAX_MOVES - 1)), task % games
    given = idle & (rank < moves.count[game])
    move = jax.tree.map(lambda table: table[rank, :, game].T, moves.table)
    root = jax.tree.map(lambda leaf: leaf[:, game], roots)
    child, facts = _open(_play(root, move), turns_left[game] - 1, claim_empty[game], 1)
    over = facts.over != 0
    game = jnp.where(given, game, lanes.game)
    new = Lanes(
        stack=(_select_tree(given, child, lanes.stack[0]), *lanes.stack[1:]),
        # A game that ends by the root move is a task done at once: its value is entered, and no node opened.
        best=(jnp.where(given, jnp.where(over, facts.lead, _NOTHING), lanes.best[0]), *lanes.best[1:]),
        depth=jnp.where(given & ~over, jnp.int32(0), lanes.depth),
        turns_left=jnp.where(given, turns_left[game] - 1, lanes.turns_left),
        claim_empty=jnp.where(given, claim_empty[game], lanes.claim_empty),
        alpha=search.best[game] - 1,
        game=game,
        rank=jnp.where(given, rank, jnp.where(idle, jnp.int32(MAX_MOVES), lanes.rank)),
    )
    return search.replace(lanes=new, queued=search.queued + idle.sum(dtype=jnp.int32))


def _collect(search: Search) -> Search:
    """Enters the values of the tasks that are done."""
    lanes = search.lanes
    done = lanes.depth < 0
    rank = jnp.where(done, lanes.rank, jnp.int32(MAX_MOVES))  # beyond the table: dropped
    value = -lanes.best[0]
    return search.replace(
        values=search.values.at[rank, lanes.game].set(value, mode="drop"),
        best=search.best.at[lanes.game].max(jnp.where(rank < MAX_MOVES, value, _NOTHING)),
    )


def best_moves(positions: Position, wanted: Array, keys: Array, depth: int, lanes: int | None = None) -> Array:
    """int32 [games]: for each position a move that full-width search to ``depth`` plies finds best, ties at random.

    Args: positions: a batch of unfinished games; wanted: bool [games], where False nothing is searched and the answer
    is a pass; keys: [games], consumed by the choice among equals; depth: 3 or more; lanes: how many trees are walked in
    step.
    Raises: ValueError: a smaller depth.
    """
    actions, equal, _ = searched(positions, wanted, depth, lanes)
    chosen = jax.vmap(sample_legal)(keys, equal.T)
    action = actions[chosen, jnp.arange(chosen.shape[0], dtype=jnp.int32)]
    return jnp.where(wanted, action, jnp.int32(PASS))


def searched(positions: Position, wanted: Array, depth: int, lanes: int | None = None) -> tuple[Array, Array, Array]:
    """What full-width search finds: the moves of each position, which are best, and their value. Arguments as above.

    Returns: int32 [MAX_MOVES, games]: actions; bool [MAX_MOVES, games]: which of them are moves, and the best; int32
    [games]: the value for the mover (see the module's docstring). All without meaning where nothing is wanted.
    """
    if depth < 3:
        raise ValueError(f"depth={depth} is not valid: use 3 or more")
    games = positions.turn.shape[0]
    workers = lanes or min(max(games, _FEW_LANES), _MANY_LANES)
    turns_left = positions.max_turns - positions.turn
    sides = [jnp.stack([cells.lo, cells.hi]) for cells in (positions.own, positions.enemy, positions.empty)]
    roots, _ = _open((sides[0], sides[1], sides[2]), turns_left, positions.claim_empty, 0)
    moves = _root_moves(roots, wanted)
    blank = jax.tree.map(lambda leaf: jnp.zeros((2, workers), leaf.dtype), roots)
    zeros = jnp.zeros(workers, jnp.int32)
    start = Search(
        lanes=Lanes(
            stack=(blank,) * (depth - 2),
            best=(zeros,) * (depth - 2),
            depth=zeros - 1,
            turns_left=zeros,
            claim_empty=zeros != 0,
            alpha=zeros,
            game=zeros,
            rank=zeros + MAX_MOVES,
        ),
        queued=jnp.int32(0),
        values=jnp.full((MAX_MOVES, games), _NOTHING),
        best=jnp.full(games, _NOTHING),
    )
    tasks = moves.count.max() * games
    # Moves that lanes make between two looks at the queue: fewer than the usual task needs, or lanes would stand idle.
    chunk = 2 * 4 ** (depth - 3)

    def going_on(search: Search) -> Array:
        return (search.queued < tasks) | (search.lanes.depth >= 0).any()

    def round_(search: Search) -> Search:
        search = _hand_out(search, roots, moves, turns_left, positions.claim_empty)
        lanes = jax.lax.fori_loop(0, chunk, lambda _, lanes: _advance(lanes), search.lanes)
        return _collect(search.replace(lanes=lanes))

    found = jax.lax.while_loop(going_on, round_, varying_like(start, (roots, wanted)))
    equal = (found.values == found.best[None]) & wanted[None]
    actions = jnp.asarray(_ACTIONS)[_ring_number(moves.table.landing), _ring_number(moves.table.left)]
    return actions, equal, found.best
