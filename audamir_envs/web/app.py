"""The server of the page: files of ``page/`` by GET, and questions about games by POST, JSON both ways.

Every answer to a question is a JSON object; what is wrong with one is told by 400 and ``{"error": sentence}``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from audamir_envs import registry
from audamir_envs.web import assets, frames, recorded, runs
from audamir_envs.web.games import BadRequest, Games, read_table, sentence
from audamir_envs.web.guard import Guard
from audamir_envs.web.thinking import Levels

_MOST_PLIES = 64  # of one answer
_log = logging.getLogger(__name__)

Question = dict[str, Any]


class Service:
    """The answers, by the last word of their path: ``POST /api/<method>``. Each raises BadRequest."""

    def __init__(self, levels: Levels, run_folders: Sequence[Path] = (), record_files: Sequence[Path] = ()) -> None:
        self.games = Games()
        self.levels = levels
        self.run_folders = tuple(run_folders)
        self.record_files = tuple(record_files)

    def about(self, question: Question) -> Any:
        """Which environments, options and levels there are, and which runs and records were named at the start."""
        del question
        listed = []
        for env_id in registry.working():
            options = [
                {
                    "name": name,
                    "help": option.help,
                    "default": option.default,
                    "values": list(option.values),
                    "low": option.low,
                    "high": option.high,
                }
                for name, option in registry.environment_class(env_id).OPTIONS.items()
                if len(option.values) > 1 or option.low is not None  # what can be chosen without typing a structure
            ]
            listed.append({"id": env_id, "options": options, "agents": self.levels.names(env_id)})
        return {
            "games": listed,
            "runs": [folder.resolve().name for folder in self.run_folders],
            "records": [file.name for file in self.record_files],
        }

    def seats(self, question: Question) -> Any:
        """The names of the seats under some options: what else depends on them is seen when the game begins."""
        env = self.games.engine(read_table(question.get("game"))).env
        return {"seats": [env.player_name(seat) for seat in range(env.num_players)], "most": env.max_steps}

    def ready(self, question: Question) -> Any:
        """Whether an answer needs no compiling: ``rules``; with ``agent`` and ``what`` (act or evaluate) ``agent``."""
        engine = self.games.engine(read_table(question.get("game")))
        told = {"rules": engine.ready}
        if question.get("agent") is not None:
            told["agent"] = self.levels.ready(engine, question["agent"], _one_of(question, "what", "act", "evaluate"))
        return told

    def frames(self, question: Question) -> Any:
        """The pictures of some plies (``plies``, at most 64); of the last position always what can be done there."""
        table = read_table(question.get("game"))
        states = self.games.states(table)
        env = self.games.engine(table).env
        plies = _plies(question, len(states))
        told = frames.frames(env, states, table.actions, plies)
        last = states[-1]
        told["now"] = frames.places(env, last)
        if bool(last.terminated | last.truncated):
            told["facts"] = frames.facts(env, last, _names(question))
        return told

    def position(self, question: Question) -> Any:
        """What can be done in the last position of a game, and its text."""
        table = read_table(question.get("game"))
        return frames.places(self.games.engine(table).env, self.games.states(table)[-1])

    def number(self, question: Question) -> Any:
        """The action of a text."""
        env = self.games.engine(read_table(question.get("game"))).env
        text = question.get("text")
        if not isinstance(text, str) or len(text) > 1000:
            raise BadRequest("text must be an action in the game's notation")
        try:
            return {"action": env.text_to_action(text.strip())}
        except (ValueError, TypeError) as error:
            raise BadRequest(sentence(error)) from None

    def act(self, question: Question) -> Any:
        """The action of an agent in the last position of a game."""
        table = read_table(question.get("game"))
        state = self.games.states(table)[-1]
        return {"action": self.levels.act(self.games.engine(table), table, state, question.get("agent"))}

    def evaluate(self, question: Question) -> Any:
        """What an agent thinks of some plies (``plies``, at most 64): see ``thinking.evaluation``."""
        table = read_table(question.get("game"))
        states = self.games.states(table)
        plies = _plies(question, len(states))
        chosen = [states[ply] for ply in plies]
        found = self.levels.evaluate(self.games.engine(table), chosen, question.get("agent"))
        return {"plies": plies, "evaluations": found}

    def record(self, question: Question) -> Any:
        """A game as the text of a record (``players``: who sits in each seat; ``evaluations``: what is known)."""
        table = read_table(question.get("game"))
        names, evaluations = question.get("players"), question.get("evaluations")
        return {"text": recorded.written(self.games, self.levels, table, names, evaluations)}

    def opened(self, question: Question) -> Any:
        """A recorded game: of two lines (``header``, ``game``), of a file named at the start (``record, place``), or
        the last self-play game of a training run (``run``)."""
        if question.get("run") is not None:
            game = recorded.pick(_chosen(question, "run", self.run_folders) / runs.GAME, 0)
        elif question.get("record") is not None:
            game = recorded.pick(_chosen(question, "record", self.record_files), question.get("place"))
        else:
            game = recorded.read_lines(question.get("header"), question.get("game"))
        return recorded.opened(self.games, game)

    def recorded(self, question: Question) -> Any:
        """The games of a file named at the start (``record``: its place in the list)."""
        return recorded.listed(_chosen(question, "record", self.record_files))

    def run(self, question: Question) -> Any:
        """The numbers of a training run (``run``: its place in the list), its level and its last self-play game."""
        folder = _chosen(question, "run", self.run_folders)
        level = str(folder / runs.LEVEL)
        try:
            played = self.levels.add(level)
        except (ValueError, OSError):  # there is none yet
            played = []
        try:
            told = runs.read(folder) | {"level": [played[0], *self.levels.entry(level)] if played else None}
        except OSError:
            raise BadRequest(f"run {folder.name} has no {runs.METRICS} that can be read") from None
        try:
            return told | {"game": recorded.summary(recorded.pick(folder / runs.GAME, 0))}
        except BadRequest:  # there is none yet
            return told | {"game": None}


def _plies(question: Question, count: int) -> list[int]:
    plies = question.get("plies")
    if not isinstance(plies, list) or not 0 < len(plies) <= _MOST_PLIES:
        raise BadRequest(f"plies must be a list of 1 to {_MOST_PLIES} numbers")
    for ply in plies:
        if not isinstance(ply, int) or isinstance(ply, bool) or not 0 <= ply < count:
            raise BadRequest(f"plies must be numbers from 0 to {count - 1}")
    return plies


def _one_of(question: Question, name: str, *valid: str) -> str:
    if question.get(name) not in valid:
        raise BadRequest(f"{name} must be {' or '.join(valid)}")
    return question[name]


def _chosen(question: Question, name: str, choices: Sequence[Any]) -> Any:
    number = question.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(choices):
        raise BadRequest(f"{name} must be a number below {len(choices)}" if choices else f"no {name} was given")
    return choices[number]


def _names(question: Question) -> tuple[str, ...]:
    names = question.get("opponents", [])
    if not isinstance(names, list) or len(names) > 16 or not all(isinstance(name, str) for name in names):
        raise BadRequest("opponents must be a list of names")
    return tuple(names)


def make_app(port: int, levels: Levels, run_folders: Sequence[Path] = (), record_files: Sequence[Path] = ()) -> Guard:
    """The ASGI application of a server on 127.0.0.1:port."""
    service = Service(levels, run_folders, record_files)
    names = ["about", "seats", "ready", "frames", "position", "number", "act", "evaluate"]
    names += ["record", "opened", "recorded", "run"]
    answers: dict[str, Callable[[Question], Any]] = {name: getattr(service, name) for name in names}

    async def ask(request: Request) -> Response:
        try:
            question = _read(await request.body())
            answer = answers.get(request.path_params["name"])
            if answer is None:
                raise BadRequest(f"there is no such question: use {', '.join(answers)}")
            return _json(await run_in_threadpool(answer, question))
        except BadRequest as error:
            return _json({"error": sentence(error)}, 400)
        except Exception as error:
            _log.exception("an answer failed")
            return _json({"error": f"the server failed: {sentence(error)}"}, 500)

    async def file(request: Request) -> Response:
        found = assets.served(request.path_params.get("name", "index.html"))
        if found is None:
            return _json({"error": "there is no such page"}, 404)
        content, kind = found
        return Response(content, media_type=kind)

    async def refuse(request: Request, error: Exception) -> Response:
        del request
        status = error.status_code if isinstance(error, HTTPException) else 500
        return _json({"error": "there is no such page" if status == 404 else "this is not how to ask"}, status)

    routes = [
        Route("/api/{name}", ask, methods=["POST"]),
        Route("/", file, methods=["GET"]),
        Route("/{name}", file, methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={HTTPException: refuse}), hosts(port))


def hosts(port: int) -> frozenset[str]:
    """What a browser calls a server on this port of this machine."""
    names = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
    return names | {"127.0.0.1", "localhost"} if port == 80 else names


def _read(body: bytes) -> Question:
    try:
        question = json.loads(body)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        raise BadRequest("the request is no JSON") from None
    if not isinstance(question, dict):
        raise BadRequest("the request must be a JSON object")
    return question


def _json(answer: Any, status: int = 200) -> Response:
    # Not JSONResponse, which cannot write a lone surrogate that a request may bring.
    return Response(json.dumps(answer, allow_nan=False), status, media_type="application/json")
