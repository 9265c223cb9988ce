"""What a process of the command line makes of its surroundings: standard streams, Ctrl-C, other programs' variables."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn, TextIO

_PATIENCE = 1.0  # seconds
_AT_END: list[Callable[[], object]] = []


class Interrupts:
    """Ctrl-C: remembered, since what is interrupted may turn the KeyboardInterrupt into another exception."""

    def __init__(self) -> None:
        self.seen = False

    def watch(self) -> None:
        """Handles SIGINT from now on, unless our parent wants it ignored or we are not in the main thread."""
        if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
            return
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, self._note)
        sys.unraisablehook = self._unraisable

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        raise KeyboardInterrupt

    def _unraisable(self, lost: Any) -> None:
        """A KeyboardInterrupt that Python would lose, in a callback of its garbage collector say, comes again."""
        if isinstance(lost.exc_value, KeyboardInterrupt):
            threading.Timer(0.02, _interrupt_again).start()  # from elsewhere: raised here, it would be lost as well
        else:
            sys.__unraisablehook__(lost)


def _interrupt_again() -> None:
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # wakes it where it waits
    else:
        _thread.interrupt_main()


def prepare() -> None:
    """Makes all three standard streams usable, whatever the parent has closed and whatever the terminal's encoding."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file that is opened would take its place
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - for the whole process
    if sys.stdout is None:
        sys.stdout = _writer(1)
    if sys.stderr is None:
        sys.stderr = _writer(2)
    for stream in (sys.stdin, sys.stdout):  # stderr escapes what it cannot print anyway
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    # A notebook's or a window's backend, which need not be installed here: pictures go to files.
    os.environ["MPLBACKEND"] = "agg"


def _writer(number: int) -> TextIO:
    return open(number, "w", encoding="utf-8", errors="replace", closefd=False)  # for the whole process


def finish() -> None:
    """Flushes for the last time, so that nothing is left which Python's own end could complain of."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            silence(stream)


def leave(code: int) -> NoReturn:
    """Ends the process at once, after what must be done at every end."""
    for do in reversed(_AT_END):
        with contextlib.suppress(Exception):
            do()
    os._exit(code)


def at_end(do: Callable[[], object]) -> None:
    """Has a function called when the process ends, however the command line ends it."""
    _AT_END.append(do)
    atexit.register(do)


def silence(stream: TextIO) -> None:
    """Sends a stream whose reader has left nowhere, what it has buffered included."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, stream.fileno())
        os.close(handle)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Says ``what…`` on a terminal's stderr while its block lasts longer than a second, and takes it away again."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()
    over = threading.Lock()

    def show() -> None:
        with over:
            if not done:
                shown.set()
                _write(f"{what}…" if (sys.stderr.encoding or "").lower().startswith("utf") else f"{what}...")

    done: list[bool] = []
    timer = threading.Timer(_PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with over:
            done.append(True)
        if shown.is_set():
            _write("\r\x1b[K")


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def say(text: str) -> None:
    """A line on stderr, or nothing where there is nobody to read it."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        silence(sys.stderr)
