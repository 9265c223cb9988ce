"""A recorded game as one HTML document that works from disk, without a server or a network."""

from __future__ import annotations

from audamir_envs.records import Game
from audamir_envs.web import assets, frames, recorded
from audamir_envs.web.games import Games, read_table

_MOST_MOVES = 12  # of an evaluation


def document(game: Game, title: str | None = None) -> str:
    """The document. Raises: ValueError: a game that cannot be played."""
    games = Games()
    opened = recorded.opened(games, game)
    table = read_table(opened["game"])
    states = games.states(table)
    env = games.engine(table).env
    data = frames.frames(env, states, table.actions, range(len(states)))
    now = frames.places(env, states[0])
    heading = title or f"{env.id}: {' – '.join(opened['players'])}"
    shares = ", ".join(f"{name} {share:g}" for name, share in zip(opened["seats"], opened["shares"], strict=True))
    cut = ", cut and settled on points" if opened["cut"] else ""
    data |= {
        "seats": opened["seats"],
        "players": opened["players"],
        "places": now["places"],
        "colours": now["colours"],
        "chance": now["chance"],
        "about": f"{env.id}, game {opened['number']}, {opened['plies']} plies{cut}. Shares of the win: {shares}.",
        "evaluations": [
            thought and thought | {"moves": thought["moves"][:_MOST_MOVES]} for thought in opened["evaluations"]
        ],
    }
    return assets.one_file(heading, data)
