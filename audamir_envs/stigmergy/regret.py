"""How far an agent is from perfect play, on boards that are solved exactly."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import Agent, act_batch
from audamir_envs.agents.loading import load_agent_text
from audamir_envs.agents.outside import plays_inside
from audamir_envs.core import Array, State
from audamir_envs.hexboard import hexboard
from audamir_envs.intervals import t_quantile, wilson
from audamir_envs.stigmergy import notation, rules
from audamir_envs.stigmergy.environment import Stigmergy
from audamir_envs.stigmergy.solver_exact import ExactTable, Stones, check_side, solve
from audamir_envs.stigmergy.solver_tables import colouring
from audamir_envs.texts import quoted

_Item = TypeVar("_Item")
_BATCH = 128  # positions decided together; the last batch is filled up, so that one program serves all


@dataclasses.dataclass(frozen=True)
class Regret:
    """What an agent gives away. Intervals are 95 %, the positions taken as independent."""

    agent: str
    side: int
    komi: int
    play_on: bool  # whether games were played on to the end, against a perfect opponent
    positions: int
    decisions: int  # by the agent: one a position, unless games were played on
    won: int  # positions that perfect play wins for the side to move, which is the agent's
    thrown: int  # of those, how many the agent's action (or game) turned into a loss
    thrown_rate: float  # thrown / won; nan if there are none, as are the interval's ends
    thrown_interval: tuple[float, float]  # Wilson's
    points_dropped: float  # mean over all positions: the margin under perfect play minus the one after the agent's
    points_interval: tuple[float, float]  # Student's t
    perfect: int  # positions without any points dropped
    dropped: tuple[int, ...] = dataclasses.field(repr=False)  # points, for each position
    spare: tuple[int, ...] = dataclasses.field(repr=False)  # points by which perfect play wins (negative: loses) each

    @property
    def most_dropped(self) -> int:
        """The most points dropped in one position."""
        return max(self.dropped)

    def __str__(self) -> str:
        unit = "games" if self.play_on else "decisions"
        low, high = self.thrown_interval
        least, most = self.points_interval
        return (
            f"{self.agent}, side {self.side}, komi {self.komi}: threw away {self.thrown} of {self.won} won {unit} "
            f"({self.thrown_rate:.1%}, 95 % interval {low:.1%} to {high:.1%}), dropped {self.points_dropped:.2f} "
            f"points each ({least:.2f} to {most:.2f}), {self.perfect} of {self.positions} perfect"
        )


def regret(
    agent: Agent | str,
    side: int = 3,
    komi: int = 4,
    positions: int | Iterable[Stones | str] = 1000,
    key: Array | None = None,
    *,
    play_on: bool = False,
    table: ExactTable | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Regret:
    """How often an agent throws away a won game, and how many points it drops against the perfect line.

    Args:
        agent: an agent, or a text that stands for one as on the command line: ``zero:simulations=128``.
        komi: an even integer within ± the number of cells. On side 3 the default is the tightest: Black wins by one.
        positions: how many to sample, see ``sample_positions`` (always the same for the same number), or a list of
            them, as ``Stones`` or texts of the environment, whose komi is replaced by the argument. The agent plays
            the side to move.
        key: for the agent; default ``jax.random.key(0)``. Consumed.
        play_on: False: one decision of the agent in each position. True: the agent plays each game on to its end
            against a perfect opponent, and what counts is the result.
        table, cache: the solved board, or where ``solve`` finds or puts it; otherwise it is solved now.
    Raises: ValueError: another side or komi, no position, a finished one, or an illegal action of the agent.
    """
    check_side(side)
    env = Stigmergy(side=side, komi=komi)
    if env.pie:
        raise ValueError("komi='choose' is not valid here: regret is measured at a fixed komi")
    if isinstance(agent, str):
        agent = load_agent_text(env, agent)
    table = solve(side, cache) if table is None else table
    if table.side != side:
        raise ValueError(f"the table is of side {table.side}, not {side}")
    if isinstance(positions, (int, np.integer)):
        starts = sample_positions(table, komi, int(positions))
    else:
        starts = [_read(table, each) if isinstance(each, str) else each for each in positions]
    if not starts:
        raise ValueError("there is no position to judge the agent by")
    decide = _decider(env, komi, agent)
    remaining: Array = jax.random.key(0) if key is None else key
    draw = random.Random(0)

    lost = np.zeros(len(starts), np.int64)
    decisions = 0
    now = dict(enumerate(starts))  # the games in which the agent is to move
    while now:
        remaining, subkey = jax.random.split(remaining)
        actions = decide(list(now.values()), subkey)
        decisions += len(now)
        following = {}
        for (game, stones), action in zip(now.items(), actions.tolist(), strict=True):
            margins = _for_mover(table, stones)
            if action not in margins:
                raise ValueError(f"agent {agent.name!r} played the illegal action {action} on {stones}")
            lost[game] += max(margins.values()) - margins[action]
            after = _after(stones, action, table) if play_on else None
            if after is not None:
                # A perfect opponent gives nothing back, so the game loses just what the agent gives away.
                after = _after(after, _pick(draw, _best(_for_mover(table, after))), table)
            if after is not None:
                following[game] = after
        now = following

    margins_for_mover = np.array([max(_for_mover(table, start).values()) for start in starts])
    spare = margins_for_mover - np.array([_sign(start) * komi for start in starts])  # odd, positive where won
    won, thrown = int((spare > 0).sum()), int(((spare > 0) & (spare < lost)).sum())
    return Regret(
        agent=agent.name,
        side=side,
        komi=komi,
        play_on=play_on,
        positions=len(starts),
        decisions=decisions,
        won=won,
        thrown=thrown,
        thrown_rate=thrown / won if won else math.nan,
        thrown_interval=wilson(thrown / won, won) if won else (math.nan, math.nan),
        points_dropped=float(lost.mean()),
        points_interval=_mean_interval(lost),
        perfect=int((lost == 0).sum()),
        dropped=tuple(lost.tolist()),
        spare=tuple(spare.tolist()),
    )


def sample_positions(table: ExactTable, komi: int, count: int, seed: int = 0) -> list[Stones]:
    """Different positions whose mover has a won game at this komi and at least one action that throws it away.

    Each comes from a game of its own, in which every action is a best one or any legal one with equal chance; of the
    game's positions that qualify, one is drawn. The same arguments give the same positions on any machine.
    Raises: ValueError: no number, or more than can be found.
    """
    if count < 1:
        raise ValueError(f"positions={count!r} is not valid: use 1 or more")
    draw = random.Random(seed)
    found: dict[object, Stones] = {}
    for _ in range(4 * count + 200):
        chosen = _draw_from_a_game(table, komi, draw)
        if chosen is not None:
            place = colouring(table.board, table.sets, chosen.black, chosen.white)
            found.setdefault((place, chosen.black_to_move, chosen.passed), chosen)
        if len(found) == count:
            return list(found.values())
    raise ValueError(f"only {len(found)} such positions were found on side {table.side}: ask for no more than that")


def _draw_from_a_game(table: ExactTable, komi: int, draw: random.Random) -> Stones | None:
    fit = []
    stones: Stones | None = Stones(0, 0, True, False)
    while stones is not None:
        margins = _for_mover(table, stones)
        if min(margins.values()) < _sign(stones) * komi < max(margins.values()):
            fit.append(stones)
        action = _pick(draw, _best(margins) if draw.random() < 0.5 else list(margins))
        stones = _after(stones, action, table)
    return _pick(draw, fit) if fit else None


def _read(table: ExactTable, text: str) -> Stones:
    position = notation.text_to_position(table.side, False, text)
    if int(position.passes) == 2:
        raise ValueError(f"the game is over in {quoted(text)}: there is no action to judge")
    return table.stones_of(position)


def _sign(stones: Stones) -> int:
    return 1 if stones.black_to_move else -1


def _for_mover(table: ExactTable, stones: Stones) -> dict[int, int]:
    """For each legal action the mover's margin, komi not counted."""
    return {action: _sign(stones) * margin for action, margin in table.action_margins_of(stones).items()}


def _best(margins: dict[int, int]) -> list[int]:
    most = max(margins.values())
    return [action for action, margin in margins.items() if margin == most]


def _pick(draw: random.Random, items: Sequence[_Item]) -> _Item:
    # Of the random module only random() is promised to stay the same in later versions of Python.
    return items[int(draw.random() * len(items))]


def _after(stones: Stones, action: int, table: ExactTable) -> Stones | None:
    """The position after a legal action, None if it ends the game."""
    if action == table.board.size and stones.passed:
        return None
    return stones.after(action, table.board.size)


def _mean_interval(values: np.ndarray) -> tuple[float, float]:
    """The 95 % t interval of a mean, nan where one value tells nothing of the spread."""
    if len(values) < 2:
        return math.nan, math.nan
    half = t_quantile(len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - half, float(values.mean()) + half


@functools.lru_cache(maxsize=4)  # so that grading the next agent does not compile again
def _states_of(env: Stigmergy) -> Callable[[rules.Position], State]:
    return jax.jit(jax.vmap(env.state_of))


def _decider(env: Stigmergy, komi: int, agent: Agent) -> Callable[[Sequence[Stones], Array], np.ndarray]:
    """A function from positions to the agent's actions, int32 [positions]. Consumes its key."""
    board = hexboard(env.side)
    choose: Any = None
    outside: Any = None if plays_inside(agent) else agent
    if outside is None:
        choose = jax.jit(lambda states, key: act_batch(agent, states, key))

    def batch_of(stones: Sequence[Stones]) -> State:
        count = len(stones)
        cells = np.arange(board.size)
        grid = np.zeros((count, board.width**2), np.uint8)
        for colour, masks in ((rules.BLACK, [s.black for s in stones]), (rules.WHITE, [s.white for s in stones])):
            rows, places = np.nonzero((np.array(masks)[:, None] >> cells) & 1)
            grid[rows, board.grid[places]] = colour
        position = rules.Position(
            stones=jnp.asarray(grid),
            sight=rules.sight_of(jnp.asarray(grid)),
            black_to_move=jnp.array([s.black_to_move for s in stones], jnp.bool_),
            passes=jnp.array([s.passed for s in stones], jnp.uint8),
            komi=jnp.full(count, komi, jnp.int16),
            phase=jnp.full(count, rules.PLAY, jnp.uint8),
            black_seat=jnp.zeros(count, jnp.uint8),
        )
        return _states_of(env)(position)

    def decide(stones: Sequence[Stones], key: Array) -> np.ndarray:
        chosen = []
        for start in range(0, len(stones), _BATCH):
            key, subkey = jax.random.split(key)
            part = list(stones[start : start + _BATCH])
            states = batch_of(part + part[:1] * (_BATCH - len(part)))
            if outside is not None:
                actions = outside.act_states(env, jax.device_get(states))
            else:
                actions = np.asarray(choose(states, subkey))
            chosen.append(actions[: len(part)])
        return np.concatenate(chosen)

    return decide
