"""``python -m audamir_training train ...``: the commands where ``audamir`` is not on the path."""

from __future__ import annotations

import sys

from audamir_training import commands

if __name__ == "__main__":
    known = {"train": commands.train, "plot": commands.plot, "export": commands.export}
    words = sys.argv[1:]
    if not words or words[0] not in known:
        raise SystemExit(f"audamir_training: use one of {', '.join(known)}")
    raise SystemExit(known[words[0]](words[1:]))
