"""Who sits where: every entrant equally often in every seat."""

from __future__ import annotations

import numpy as np


def rotated(entrants: int, games: int, seed: int, mirrored: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Seats of as many entrants as players: entrant numbers int32 [games, players], and starts int32 [games].

    Each run of ``players`` games seats its entrants in one circle and turns it by a seat a game, so that in complete
    runs everybody sits equally often in every seat. More than two entrants sit in a new random circle each run.
    ``mirrored`` gives all games of a run one start, otherwise every game has its own.
    """
    random = np.random.default_rng([seed, 1])
    runs = -(-games // entrants)
    circles = np.tile(np.arange(entrants), (runs, 1))
    circles[:, 1:] = random.permuted(circles[:, 1:], axis=1)
    seat, turn = np.arange(entrants), np.arange(entrants)
    seats = circles[:, (seat[None] - turn[:, None]) % entrants].reshape(-1, entrants)
    number = np.arange(games)
    return seats[:games].astype(np.int32), (number // entrants if mirrored else number).astype(np.int32)


def round_robin(agents: int, games: int, mirrored: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of agents, ``games`` games each, seats swapped from game to game: as ``rotated`` returns it."""
    pairs = [(a, b) for a in range(agents) for b in range(a + 1, agents)]
    rows = [(a, b) if game % 2 == 0 else (b, a) for a, b in pairs for game in range(games)]
    number = np.arange(len(rows))
    if mirrored:  # pairs of games; a pair of agents with an odd number of games ends with a start of its own
        game, pair = number % games, number // games
        number = pair * -(-games // 2) + game // 2
    return np.array(rows, np.int32), number.astype(np.int32)


def tables(agents: int, players: int, games: int, seed: int, mirrored: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Tables of ``players`` seats for any number of agents, ``games`` games an agent or a few more.

    Random orders of the agents, one behind the other, are dealt into tables, and each table plays once in each of its
    rotations. An agent may meet itself only where there are fewer agents than seats.
    """
    random = np.random.default_rng([seed, 2])
    count = -(-agents * games // (players * players))  # of tables: each gives `players` games with `players` seats
    count = -(-count // agents) * agents  # so that the orders are dealt out completely
    rows: list[list[int]] = []
    queue: list[int] = []
    for _ in range(count):
        table: list[int] = []
        while len(table) < players:
            if not queue:
                queue = list(random.permutation(agents))
            # The next agent that is not at this table yet, if there is one.
            place = next((i for i, agent in enumerate(queue) if agent not in table), None)
            if place is None and len(set(table)) < agents:
                queue += list(random.permutation(agents))
                continue
            table.append(queue.pop(place or 0))
        rows += [table[-turn:] + table[:-turn] if turn else table for turn in range(players)]
    number = np.arange(len(rows))
    return np.array(rows, np.int32), (number // players if mirrored else number).astype(np.int32)
