"""Writes games of this documentation as pages to step through: ``docs/replays/*.html``, as ``audamir view`` does.

``python docs/replays.py readme``    the games of the README's pictures to their end, analysed by ``zero``
``python docs/replays.py findings``  the games of ``stigmergy-findings.md``, with what was measured of each position
"""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
import stigmergy_findings
import stigmergy_findings_report
from pictures import GAMES

import audamir_envs
from audamir_envs import files
from audamir_envs.agents.loading import load_agent_text
from audamir_envs.web import recorded
from audamir_envs.web.games import Games, read_table
from audamir_envs.web.thinking import Levels
from audamir_envs.web.view import document

DOCS = pathlib.Path(__file__).parent
FOLDER = DOCS / "replays"
ANALYST = "zero"


def played(env_id: str, options: dict[str, Any], agents: Sequence[str], plies: int, seed: int = 0) -> dict[str, Any]:
    """A game as the page knows it (``read_table``); its first plies are those that ``pictures.picture`` plays."""
    env = audamir_envs.make(env_id, **options)
    loaded = {text: jax.jit(load_agent_text(env, text).act) for text in agents}
    step, chance_of = jax.jit(env.step_with_chance), jax.jit(env.chance_of)
    start, *keys = jax.random.split(jax.random.key(seed), 2 * plies + 1)
    state = jax.jit(env.init)(start)
    first, actions, chances = env.to_text(state), [], []
    while not bool(state.terminated | state.truncated):
        ply = len(actions)
        if ply < plies:
            decide, dice = keys[2 * ply : 2 * ply + 2]
        else:
            decide, dice = jax.random.split(jax.random.fold_in(jax.random.key(seed), ply))
        action = int(loaded[agents[int(state.current_player)]](state, decide))
        chance = np.asarray(chance_of(state, np.int32(action), dice))
        actions.append(action)
        if env.stochastic:
            chances.append(env.chance_to_text(action, chance))
        state = step(state, np.int32(action), chance)
    return {"env": env_id, "options": options, "start": first, "actions": actions, "chance": chances}


def page(game: dict[str, Any], players: Sequence[str], title: str, evaluations: Any = None) -> str:
    """The document of a game. Args: evaluations: as ``recorded.written`` wants them; None: ``ANALYST``'s."""
    games, levels, table = Games(), Levels(), read_table(game)
    if evaluations is None:
        found = levels.evaluate(games.engine(table), games.states(table), ANALYST)
        evaluations = [one | {"agent": ANALYST} for one in found]
    header, line = recorded.written(games, levels, table, list(players), evaluations).splitlines()
    return document(recorded.read_lines(header, line), title)


def readme() -> Iterator[tuple[str, str]]:
    """(file name, document) of each game of the README."""
    for env_id, options, agents, plies in GAMES:
        name = env_id.partition("-")[0]
        title = f"{name.capitalize()}: {agents[0]} against {'three ' if len(agents) > 2 else ''}{agents[1]}"
        yield f"{name}.html", page(played(env_id, options, agents, plies), agents, title)


def findings() -> Iterator[tuple[str, str]]:
    """(file name, document) of each game of Stigmergy's findings."""
    chosen = stigmergy_findings.parser().parse_args(["page"])
    results = stigmergy_findings.Store(chosen.json, stigmergy_findings.checksum_of(chosen.level)).results()
    for entry in stigmergy_findings_report.game_entries(results):
        side, komi = entry["side"], entry["komi"]
        env = audamir_envs.make("stigmergy-v0", side=side, komi=komi)
        agent = f"zero:simulations={entry['simulations']}"
        evaluations = []
        for ply in entry["plies"]:
            moves = [[ply["move"], [], 0, 0, ply["weight"], None, None]]
            if ply["other"] is not None:
                moves.append([ply["other"], [], 0, 0, ply["other_weight"], None, None])
            evaluations.append({"agent": agent, "value": [ply["value"], -ply["value"]], "moves": moves, "line": []})
        evaluations.append({"value": [entry["result"], -entry["result"]]})
        actions = [env.text_to_action(ply["move"]) for ply in entry["plies"]]
        game = {"env": env.id, "options": {"side": side, "komi": komi}, "actions": actions}
        yield f"stigmergy-side{side}.html", page(game, [agent] * 2, f"Stigmergy, side {side}, komi {komi}", evaluations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", choices=("readme", "findings"), help="default: both")
    which = parser.parse_args().which
    for games in {"readme": (readme,), "findings": (findings,), None: (readme, findings)}[which]:
        for name, text in games():
            files.write_text(FOLDER / name, text)
            print(FOLDER / name)
