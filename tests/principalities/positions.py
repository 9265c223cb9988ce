"""Positions for tests: made by hand, or at random and harder than play would bring them."""

import json

import jax
import jax.numpy as jnp
import numpy as np
from principalities.referee import hexagons

from audamir_envs.core import State
from audamir_envs.principalities.environment import Principalities


def environment(players: int, neighbours: list[list[int]] | None = None, **options) -> Principalities:
    """On a rectangle of 4 by 8 hexagons, or a given map."""
    return Principalities(players=players, map=hexagons(4, 8) if neighbours is None else neighbours, **options)


def position(owner, dice, players=2, to_move=0, neighbours=None, **fields) -> dict:
    """A position's dictionary with every field; the map is a line of tiles if none is given."""
    tiles = len(owner)
    line = [[n for n in (t - 1, t + 1) if 0 <= n < tiles] for t in range(tiles)]
    filled = {
        "neighbours": line if neighbours is None else neighbours,
        "owner": list(owner),
        "dice": list(dice),
        "reserve": [0] * players,
        "to_move": to_move,
        "round": 1,
        "start_seat": to_move,
        "quiet_turns": 0,
        "attacked": False,
        "offered": False,
        "votes": [None] * players,
    }
    return filled | fields


def random_position(random: np.random.Generator, players: int, neighbours: list[list[int]], max_rounds: int) -> dict:
    """Any owners and dice, full tiles and reserves too, near the thresholds of rounds, quiet turns, votes, victory."""
    tiles = len(neighbours)
    seats = random.permutation(players)[: random.choice([2, random.integers(2, players + 1)])]
    to_move = int(seats[0])
    owner = random.choice(seats, tiles) if random.random() < 0.75 else np.full(tiles, to_move)
    owner[random.choice(tiles, len(seats), replace=False)] = seats
    low = int(random.choice([1, 1, 7]))
    votes = [None] * players
    offered = bool(random.random() < 0.4)
    if offered and random.random() < 0.7:
        ahead = [(to_move - k) % players for k in range(1, players)]
        ahead = [seat for seat in ahead if seat in seats]
        for seat in ahead[: random.integers(0, len(ahead) + 1)]:
            votes[seat] = True
    elif offered:
        votes[to_move] = False
    return position(
        owner.tolist(),
        random.integers(low, 9, tiles).tolist(),
        players,
        to_move,
        neighbours,
        reserve=random.choice([0, 3, 60, 64], players).tolist(),
        round=int(random.choice([1, 2, 29, 30, 255, max_rounds - 1, max_rounds])),
        start_seat=int(random.integers(players)),
        quiet_turns=int(random.choice([0, 1, 4 * len(seats) - 2, 4 * len(seats) - 1])),
        attacked=bool(random.random() < 0.3),
        offered=offered,
        votes=votes,
    )


def states(env: Principalities, positions: list[dict]) -> State:
    """A batch of states."""
    each = jax.device_get([env.from_text(json.dumps(p)) for p in positions])
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *each)
