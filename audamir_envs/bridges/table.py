"""Who plays whom: the opponents that a caller names, as the table that the compiled functions are made for."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from audamir_envs.agents.base import Agent
from audamir_envs.agents.loading import load_level_text
from audamir_envs.agents.outside import plays_inside
from audamir_envs.bridges.episodes import Table
from audamir_envs.core import Environment, whole_number


def table_for(env: Environment, opponent: Any, seat: Any) -> Table:
    """The table of an environment, its opponents and the learner's seat.

    Args: opponent: a level (``"normal"``, ``"zero:simulations=32"``), an ``Agent``, one of ``agents.from_callable`` or
    ``agents.from_text``, or a sequence of players - 1 of them, in seat order after the learner; seat: ``"random"`` or a
    number.
    Raises: ValueError naming the valid seats, levels or counts; TypeError: no agent.
    """
    others = env.num_players - 1
    named = [opponent] * others if isinstance(opponent, str) or not isinstance(opponent, Sequence) else list(opponent)
    if len(named) != others:
        raise ValueError(
            f"opponent: {len(named)} opponents do not fit {env.num_players} players: give one, or {others}"
        )
    by_lot = isinstance(seat, str) and seat == "random"
    number = None if by_lot else whole_number(seat)
    if not by_lot and (number is None or not 0 <= number < env.num_players):
        raise ValueError(f"seat={seat!r} is not valid: use 'random' or an integer from 0 to {others}")
    agents: list[Agent] = []
    order = []
    for one in named:
        agent = _agent(env, one)
        place = next((index for index, known in enumerate(agents) if known is agent), len(agents))
        agents[place:] = agents[place:] or [agent]
        order.append(place)
    return Table(env, tuple(agents), tuple(order), number)


def _agent(env: Environment, one: Any) -> Any:
    if isinstance(one, str):
        return _level(env, one)
    if not plays_inside(one) or callable(getattr(one, "act", None)):
        return one
    raise TypeError(f"opponent: {one!r} is no agent: use a level, an object with act(state, key), or from_callable(fn)")


@functools.lru_cache(maxsize=64)
def _level(env: Environment, text: str) -> Agent:
    # One object for all environments with equal options, since the compiled functions are found by their agents.
    return load_level_text(env, text)
