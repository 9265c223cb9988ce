"""The command ``audamir``.

Its own commands are modules of ``audamir_envs.commands``. Other distributions add commands by entry points of the
group ``audamir.commands``: the name is the command, and the object is a function ``main(arguments)`` that gets the
words behind the command's name, ``--help`` among them, returns an exit code or None, and raises ValueError or OSError
for what the user can mend, which is printed in one line.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NoReturn

from audamir_envs import streams

COMMANDS = {
    "list": "environments, their options and agents",
    "play": "play against agents in the terminal",
    "evaluate": "let agents play each other and report the score",
    "analyze": "say what an agent thinks of a position or of a record",
    "view": "write a recorded game as a page that works from disk",
    "serve": "open the page to play, replay and look into games",
    "ladder": "rate all levels of an environment",
    "replay": "watch recorded games again, or verify them",
    "dataset": "make columns for learning from recorded games",
    "generate": "play games and make columns for learning of them",
    "openings": "make a book of even positions to start games from",
    "solve": "solve a small game exactly",
    "ugi": "play a level as an engine of the Universal Game Interface",
    "bench": "measure speed, beside that of other suites",
}
GROUP = "audamir.commands"
NO_CACHE = "--no-cache"
EXTRAS = {  # what installs the package
    "pyarrow": "datasets",
    "minari": "datasets",
    "tensorboardX": "train",
    "matplotlib": "train",
    "optax": "train",
    "pgx": "pgx",
    "starlette": "web",
    "uvicorn": "web",
}

BAD_INPUT, FAILURE, INTERRUPTED = 2, 1, 130
_MOST = 2000  # characters of an error


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line (default: the process's own) and returns its exit code.

    0: done; 1: something failed that is not the user's doing; 2: bad input; 130: interrupted. Errors are one line on
    stderr; with AUDAMIR_TRACEBACK=1 in the environment the traceback is printed instead (raised, where arguments are
    given).
    """
    if arguments is not None:
        return _guarded(lambda: _dispatch(list(arguments)))
    return process(lambda: _dispatch(sys.argv[1:], process=True))


def process(run: Callable[[], int | None]) -> int:
    """The whole of a process: what ``main`` promises of exit codes and errors, whatever ``run`` does.

    Standard streams that are closed or cannot print a character, Ctrl-C at any moment and a reader that leaves are seen
    to. ``run`` returns an exit code or None.
    """
    interrupts = streams.Interrupts()
    interrupts.watch()
    streams.prepare()
    try:
        code = _guarded(run, interrupts)
    except Exception:  # AUDAMIR_TRACEBACK=1
        traceback.print_exc()
        code = FAILURE
    streams.finish()
    if (
        interrupts.seen
    ):  # native threads may be at work still, and Python's own end would pull the floor from under them
        streams.leave(code)
    return code


def _guarded(run: Callable[[], int | None], interrupts: streams.Interrupts | None = None) -> int:
    try:
        try:
            code = run() or 0
        except SystemExit as error:  # argparse: --help or bad arguments
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else BAD_INPUT
        if sys.stdout is not None:
            sys.stdout.flush()  # here, so that a closed pipe is noticed while it can be handled
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output (head, say) has left
        if sys.stdout is not None:
            streams.silence(sys.stdout)
        return 0
    except Exception as error:
        if interrupts is not None and interrupts.seen:  # what was interrupted made something else of it
            return INTERRUPTED
        if os.environ.get("AUDAMIR_TRACEBACK") == "1":
            raise
        streams.say(f"audamir: error: {message_of(error)}")
        return BAD_INPUT if _expected(error) else FAILURE


def _expected(error: Exception) -> bool:
    return isinstance(error, (ValueError, OSError, ModuleNotFoundError))


def message_of(error: Exception) -> str:
    """What a command says of an error, in one line."""
    text = " ".join(str(error)[: 2 * _MOST].split()) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:  # without the number in Python's own text
        text = f"{os.fspath(error.filename)}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        text = f"this needs {error.name}: pip install {error.name}, or audamir-envs[{EXTRAS[error.name]}]"
    if len(text) > _MOST:
        text = f"{text[:_MOST]}…"
    return text if _expected(error) else f"{type(error).__name__}: {text} (AUDAMIR_TRACEBACK=1 shows where)"


def _dispatch(words: list[str], process: bool = False) -> int:
    cached = process and NO_CACHE not in words and not {"-h", "--help"} & set(words)
    words = [word for word in words if word != NO_CACHE]
    plugins = {} if words and words[0] in COMMANDS else {point.name: point for point in _entry_points()}
    if words and words[0] in plugins:
        with streams.waiting("starting"):
            command = plugins[words[0]].load()
            _keep_programs(cached)
        return command(words[1:]) or 0
    parser = Parser(
        prog="audamir",
        description="Territory games for reinforcement learning.",
        epilog=EPILOG.replace("{env}", _first_id()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for name, summary in COMMANDS.items():
        if words[:1] == [name]:
            with streams.waiting("starting"):
                module: Any = importlib.import_module(f"audamir_envs.commands.{name}")
            command = commands.add_parser(
                name,
                help=summary,
                description=module.__doc__,
                epilog=f"example:\n  {example_of(module)}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            module.add_arguments(command)
            command.set_defaults(run=module.run)
        else:
            commands.add_parser(name, help=summary)
    for name, point in plugins.items():
        commands.add_parser(name, help=_summary(point))
    if not words:
        parser.print_help(sys.stderr)
        return BAD_INPUT
    known, left = parser.parse_known_args(words)
    # argparse closes a list of words at the first flag, but agents may stand behind one.
    if left and (any(word.startswith("-") for word in left) or not hasattr(known, "agents")):
        commands.choices[known.command].error(f"unrecognized arguments: {' '.join(left)}")
    if left:
        known.agents = [*known.agents, *left]
    with streams.waiting("starting"):
        _keep_programs(cached and known.command != "list")  # which compiles nothing
    return known.run(known) or 0


def _keep_programs(cached: bool) -> None:
    if cached:
        from audamir_envs.compilation import enable_compilation_cache

        enable_compilation_cache()


def example_of(command: Any) -> str:
    """The worked example of a command's module."""
    example = command.EXAMPLE
    return str(example() if callable(example) else example).replace("{env}", _first_id())


def _first_id() -> str:
    from audamir_envs import registry

    return registry.ids()[0]


EPILOG = """\
example:
  audamir evaluate {env} strong normal --games 100

Each command has its own --help. Options of an environment are given by -o NAME=VALUE (audamir list ENV shows them).
Compiled programs are kept in the user's cache folder (or AUDAMIR_CACHE), so that the second start is quick; --no-cache,
anywhere on the line, neither takes nor keeps any. AUDAMIR_TRACEBACK=1 shows where an error comes from."""


class Parser(argparse.ArgumentParser):
    """Errors in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Prints the line and exits with 2."""
        line = " ".join(message[: 2 * _MOST].split())
        line = line if len(line) <= _MOST else f"{line[:_MOST]}…"
        self.exit(BAD_INPUT, f"{self.prog}: error: {line} (see {self.prog} --help)\n")


def _entry_points() -> list[metadata.EntryPoint]:
    return sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)


def _summary(point: metadata.EntryPoint) -> str:
    """The first line of the command's docstring, or where it comes from: a broken one must not break our help."""
    try:
        text = (_docstring(point) or "").partition("\n")[0].rstrip(".")
    except Exception:
        text = ""
    text = text or f"from {point.dist.name if point.dist else point.module}"
    return (text[0].lower() + text[1:]).replace("%", "%%")


def _docstring(point: metadata.EntryPoint) -> str | None:
    """A function's docstring, from its source where its module is not loaded yet: that may take seconds."""
    if point.module not in sys.modules:
        spec = importlib.util.find_spec(point.module)
        source = spec.loader.get_source(point.module) if spec and hasattr(spec.loader, "get_source") else None  # type: ignore[union-attr]
        for node in ast.parse(source or "").body:
            if isinstance(node, ast.FunctionDef) and node.name == point.attr:
                return ast.get_docstring(node)
    return inspect.getdoc(point.load())


def _version() -> str:
    from audamir_envs import __version__

    return f"audamir-envs {__version__}"


if __name__ == "__main__":
    sys.exit(main())
