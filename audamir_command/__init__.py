"""Starts ``audamir``: Ctrl-C ends it quietly from the first moment on, while what is behind it is still imported."""

from __future__ import annotations

import os
import signal


def main() -> int:
    """Runs the process's own command line and returns its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a parent may want it ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # nothing has been begun that could be lost
    from audamir_envs.cli import main as run

    return run()
