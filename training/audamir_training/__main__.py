"""``python -m audamir_training train ...``: the commands where ``audamir`` is not on the path."""

from __future__ import annotations

import os
import sys

# Python puts the working folder first; a file there must not stand in for a package that we import.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]


def run() -> int:
    """The command that the first word names. Raises: as the command."""
    from audamir_training import commands, exploiting

    known = {"train": commands.train, "plot": commands.plot, "export": commands.export}
    known["exploit"] = exploiting.exploit
    words = sys.argv[1:]
    if not words or words[0] not in known:
        raise ValueError(f"use one of {', '.join(known)}")
    return known[words[0]](words[1:])


if __name__ == "__main__":
    from audamir_envs.cli import process

    sys.exit(process(run))
