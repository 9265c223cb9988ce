"""Programs as agents, by the Universal Game Interface: text ``ugi:./program``, an engine behind two pipes.

UGI (kz04px/cutegames) is chess's UCI for any game. We say ``position fen`` with the position in our notation and
``go``; the engine answers ``bestmove`` with a move in our notation. Where it declares options of our names (``env``,
and those of the environment), it is told their values. ``audamir ugi`` is the other side: our levels as an engine.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from typing import IO, Any

import numpy as np

from audamir_envs import streams
from audamir_envs.agents.callable import rows_of
from audamir_envs.agents.outside import OutsideAgent
from audamir_envs.core import Environment, State
from audamir_envs.texts import quoted

PREFIX = "ugi:"
_STARTS = 3  # failed starts in a row after which a match cannot go on
_LINES = 10_000  # unread lines after which an engine has to wait
_LIVING: weakref.WeakSet[_Engine] = weakref.WeakSet()


class EngineError(ValueError):
    """What an engine did wrong, in one line that names it."""


class UgiAgent(OutsideAgent):
    """An engine as an agent. It is started at its first decision and ended with the agent; ``faults`` counts."""

    def __init__(
        self,
        command: str,
        *,
        movetime: int = 1000,
        nodes: int = 0,
        depth: int = 0,
        margin: int = 5000,
        start: int = 10_000,
        fault: str = "error",
    ) -> None:
        """Args: command: the program and its arguments, as in a shell; movetime: milliseconds a move; nodes, depth:
        what it is told instead, where given; margin: milliseconds that it may be late (with nodes or depth: all that
        it has); start: milliseconds until it must be ready; fault: what a crash, silence, slowness and an illegal move
        do: ``"error"`` ends the match with one line, ``"lost"`` loses the game, and the engine is started anew.

        Raises: ValueError: a setting or a command that is not valid, a program that is not there.
        """
        for name, value in {"movetime": movetime, "margin": margin, "start": start}.items():
            _check(name, value, 1)
        for name, value in {"nodes": nodes, "depth": depth}.items():
            _check(name, value, 0)
        if fault not in ("error", "lost"):
            raise ValueError(f"fault={quoted(fault)} is not valid: use error or lost")
        try:
            self.words = shlex.split(command, posix=os.name == "posix")
        except ValueError as error:
            raise ValueError(f"{PREFIX}{quoted(command)} is no command: {error}") from None
        if not self.words or shutil.which(self.words[0]) is None:
            raise ValueError(
                f"{PREFIX}{quoted(command)}: there is no program {quoted(self.words[0] if self.words else '')}"
            )
        self.name = f"{PREFIX}{command}"
        self.forfeits = fault == "lost"
        self.faults = 0
        self._go = f"go nodes {nodes}" if nodes else f"go depth {depth}" if depth else f"go movetime {movetime}"
        self._limit = (margin + (0 if nodes or depth else movetime)) / 1000
        self._start, self._failed = start / 1000, 0
        self._engine: _Engine | None = None

    def act_states(self, env: Environment, states: State) -> np.ndarray:
        """int32 [batch]: its moves; -1 where it failed and is to lose by that. Raises: EngineError where it is not."""
        return np.array([self._decide(env, state) for state in rows_of(states)], np.int32)

    def close(self) -> None:
        """Ends the engine; it would be started again."""
        if self._engine is not None:
            self._engine.end()
            self._engine = None

    def _decide(self, env: Environment, state: State) -> int:
        position = env.to_text(state)
        try:
            engine = self._started(env)
            engine.send(f"position fen {position}")
            engine.send(self._go)
            answer = engine.expect("bestmove", self._limit)
            return _action(env, state, answer)
        except EngineError as error:
            self.close()
            self.faults += 1
            if not self.forfeits or self._failed >= _STARTS:
                raise EngineError(f"agent {quoted(self.name)} {error}, in {quoted(position, 400)}") from None
            return -1
        except BaseException:  # Ctrl-C: nobody waits for the answer any more
            self.close()
            raise

    def _started(self, env: Environment) -> _Engine:
        """The engine, ready for a game of this environment. Raises: EngineError."""
        setting = {"env": env.id, **{name: str(value) for name, value in env.options.items()}}
        if self._engine is not None and self._engine.setting == setting:
            return self._engine
        self.close()
        self._failed += 1
        self._engine = _Engine(self.words, setting)
        self._engine.send("ugi")
        declared = self._engine.options(self._start)
        for name in setting.keys() & declared:
            self._engine.send(f"setoption name {name} value {setting[name]}")
        self._engine.send("isready")
        self._engine.expect("readyok", self._start)
        self._engine.send("uginewgame")
        self._failed = 0
        return self._engine

    def __repr__(self) -> str:
        return f"UgiAgent({self.name!r})"


class _Engine:
    """A program in a process group of its own, its lines read by a thread."""

    def __init__(self, words: list[str], setting: dict[str, str]) -> None:
        """Raises: EngineError: it cannot be run."""
        self.setting = setting
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - what stderr gets, as long as it lives
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,  # Ctrl-C is ours, and its children end with it
            )
        except OSError as error:
            self._said.close()
            raise EngineError(f"cannot be started: {error.strerror}") from None
        self._lines: queue.Queue[str | None] = queue.Queue(_LINES)
        self._over = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        _LIVING.add(self)

    def send(self, line: str) -> None:
        """Raises: EngineError: it has ended."""
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(line.encode() + b"\n")
            stream.flush()
        except (OSError, ValueError):
            raise EngineError(self._ended()) from None

    def expect(self, word: str, seconds: float) -> str:
        """What follows ``word`` at the beginning of a line, other lines being passed over. Raises: EngineError."""
        end = time.monotonic() + seconds
        while True:
            line = self._next(end, f"gave no {word} within {seconds:g} s")
            first, _, rest = line.strip().partition(" ")
            if first == word:
                return rest.strip()

    def options(self, seconds: float) -> set[str]:
        """The options that it declares before ``ugiok``. Raises: EngineError."""
        end, names = time.monotonic() + seconds, set()
        while (line := self._next(end, f"gave no ugiok within {seconds:g} s").strip()) != "ugiok":
            found = re.match(r"option name (\S+)", line)
            if found:
                names.add(found[1])
        return names

    def end(self) -> None:
        """Ends the process and all that it has started, whatever they do."""
        self._over = True
        _LIVING.discard(self)
        with contextlib.suppress(OSError, ValueError):
            if self._process.poll() is None:
                self.send("quit")
        with contextlib.suppress(EngineError, OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        self._kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._reader.join(1)  # nobody writes any more
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()
        self._said.close()

    def _kill(self) -> None:
        with contextlib.suppress(OSError):  # its group outlives it where it has left children
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _next(self, end: float, late: str) -> str:
        try:
            line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise EngineError(late) from None
        if line is None:
            raise EngineError(self._ended())
        return line

    def _ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - 2000))
        last = self._said.read().decode(errors="replace").strip().splitlines()
        return f"has ended {how}" + (f" ({quoted(last[-1])})" if last else "")

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(2**16):
                if not line.startswith(b"info"):
                    self._put(line.decode(errors="replace"))
        self._put(None)

    def _put(self, line: str | None) -> None:
        while not self._over:
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=0.5)
                return


def close_all() -> None:
    """Ends all engines of this process."""
    for engine in list(_LIVING):
        engine.end()


streams.at_end(close_all)


def from_ugi(text: str) -> UgiAgent:
    """The agent of ``ugi:COMMAND`` or ``ugi:COMMAND:setting=value,...``. Raises: ValueError naming what is valid."""
    names = "movetime|nodes|depth|margin|start|fault"
    found = re.fullmatch(rf"(.*?)(?::((?:{names})=[^:]*))?", text.removeprefix(PREFIX), re.DOTALL)
    assert found is not None
    settings: dict[str, Any] = {}
    for part in (found[2] or "").split(",") if found[2] else ():
        name, _, value = part.partition("=")
        if name not in names.split("|"):
            raise ValueError(f"agent {quoted(text)} has no setting {quoted(name)}: use {names.replace('|', ', ')}")
        settings[name] = int(value) if value.isdecimal() and len(value) < 10 else value
    return UgiAgent(found[1], **settings)


def _check(name: str, value: Any, least: int) -> None:
    if type(value) is not int or not least <= value <= 10**9:
        raise ValueError(f"{name}={quoted(value)} is not valid: use an integer from {least} to {10**9}")


def _action(env: Environment, state: State, answer: str) -> int:
    """The action of what follows ``bestmove``. Raises: EngineError."""
    for text in dict.fromkeys((answer, answer.partition(" ")[0])):  # ``bestmove e5 ponder c3`` too
        with contextlib.suppress(ValueError):
            action = env.text_to_action(text)
            if state.legal_action_mask[action]:
                return action
    raise EngineError(f"played the illegal move {quoted(answer)}")
