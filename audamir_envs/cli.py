"""The command ``audamir``.

Its own commands are modules of ``audamir_envs.commands``. Other distributions add commands by entry points of the
group ``audamir.commands``: the name is the command, and the object is a function ``main(arguments)`` that gets the
words behind the command's name, ``--help`` among them, returns an exit code or None, and raises ValueError or OSError
for what the user can mend, which is printed in one line.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any, NoReturn

COMMANDS = {
    "list": "environments, their options and agents",
    "play": "play against agents in the terminal",
    "evaluate": "let agents play each other and report the score",
    "view": "write a recorded game as a page that works from disk",
    "serve": "open the page to play, replay and look into games",
    "ladder": "rate all levels of an environment",
    "solve": "solve a small game exactly",
    "bench": "measure speed, beside that of other suites",
}
GROUP = "audamir.commands"
EXTRAS = {  # what installs the package
    "tensorboardX": "train",
    "matplotlib": "train",
    "optax": "train",
    "pgx": "pgx",
    "starlette": "web",
    "uvicorn": "web",
}

BAD_INPUT, FAILURE, INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line (default: the process's own) and returns its exit code.

    0: done; 1: something failed that is not the user's doing; 2: bad input; 130: interrupted. Errors are one line on
    stderr; with AUDAMIR_TRACEBACK=1 in the environment the exception is raised instead.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _dispatch(words)
        sys.stdout.flush()  # here, so that a closed pipe is noticed while it can be handled
        return code
    except SystemExit as error:  # argparse: --help or bad arguments
        return error.code if isinstance(error.code, int) else BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output (head, say) has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("AUDAMIR_TRACEBACK") == "1":
            raise
        expected = isinstance(error, (ValueError, OSError, ModuleNotFoundError))
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, OSError) and error.filename and error.strerror:  # without the number in Python's own text
            text = f"{error.filename}: {error.strerror}"
        if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
            text = f"this needs {error.name}: pip install {error.name}, or audamir-envs[{EXTRAS[error.name]}]"
        kind = "" if expected else f"{type(error).__name__}: "
        hint = "" if expected else " (AUDAMIR_TRACEBACK=1 shows where)"
        print(f"audamir: error: {kind}{text}{hint}", file=sys.stderr)
        return BAD_INPUT if expected else FAILURE


def _dispatch(words: list[str]) -> int:
    plugins = {} if words and words[0] in COMMANDS else {point.name: point for point in _entry_points()}
    if words and words[0] in plugins:
        return plugins[words[0]].load()(words[1:]) or 0
    parser = Parser(
        prog="audamir",
        description="Three territory games for reinforcement learning.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for name, summary in COMMANDS.items():
        if words[:1] == [name]:
            module: Any = importlib.import_module(f"audamir_envs.commands.{name}")
            command = commands.add_parser(
                name,
                help=summary,
                description=module.__doc__,
                epilog=f"example:\n  {module.EXAMPLE}",
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
    return known.run(known) or 0


EPILOG = """\
example:
  audamir evaluate colony-v0 strong normal --games 100

Each command has its own --help. Options of an environment are given by -o NAME=VALUE (audamir list ENV shows them)."""


class Parser(argparse.ArgumentParser):
    """Errors in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Prints the line and exits with 2."""
        self.exit(BAD_INPUT, f"{self.prog}: error: {' '.join(message.split())} (see {self.prog} --help)\n")


def _entry_points() -> list[metadata.EntryPoint]:
    return sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)


def _summary(point: metadata.EntryPoint) -> str:
    """The first line of the command's docstring, or where it comes from: a broken one must not break our help."""
    try:
        text = (inspect.getdoc(point.load()) or "").partition("\n")[0].rstrip(".")
    except Exception:
        text = ""
    text = text or f"from {point.dist.name if point.dist else point.module}"
    return (text[0].lower() + text[1:]).replace("%", "%%")


def _version() -> str:
    from audamir_envs import __version__

    return f"audamir-envs {__version__}"


if __name__ == "__main__":
    sys.exit(main())
