"""Several processes of one run watch each other: what one of them fails of, or that it is gone, ends all of them.

JAX would notice a lost process only after a minute or more, and then abort. Here each process holds a connection to
the first one. A process that ends says so before; a connection that closes without a word, or is silent for too long,
is a process that was lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

SILENCE = 10.0  # seconds without a word after which a process counts as lost
_EVERY = 2.0  # seconds between two signs of life
_CARD = 512  # bytes in which the first process says where it listens


class Watch:
    """The connections of one process, served by a thread of its own."""

    def __init__(self, number: int, peers: dict[socket.socket, int], end: Callable[[int, str], None]) -> None:
        """Args: number: of this process; peers: by connection, the process behind it; end: called with an exit code
        and a line when another process failed or is gone, from the thread."""
        self._number, self._peers, self._end = number, peers, end
        self._all = tuple(peers)
        self._heard = dict.fromkeys(peers, time.monotonic())
        self._rest = dict.fromkeys(peers, b"")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="watch")
        self._thread.start()

    def failed(self, code: int, text: str) -> None:
        """Tells the others that this process ends with an error."""
        self._over.set()
        self._send({"failed": code, "text": text, "process": self._number})
        self._close()

    def done(self) -> None:
        """Tells the others that this process has done its part."""
        self._over.set()
        self._send({"done": self._number})
        self._close()

    def _serve(self) -> None:
        sent = 0.0
        while not self._over.is_set():
            if time.monotonic() - sent > _EVERY:
                sent = time.monotonic()
                self._send({"alive": self._number})
            try:
                readable, _, _ = select.select(list(self._peers), [], [], 0.2)
            except (OSError, ValueError):  # closed by this process meanwhile
                return
            for peer in readable:
                self._read(peer)
            for peer, number in list(self._peers.items()):
                if time.monotonic() - self._heard[peer] > SILENCE:
                    self._lost(number)

    def _read(self, peer: socket.socket) -> None:
        try:
            content = peer.recv(4096)
        except OSError:
            content = b""
        if not content:
            number = self._peers.pop(peer, None)
            if number is not None and not self._over.is_set():
                self._lost(number)
            return
        self._heard[peer] = time.monotonic()
        *lines, self._rest[peer] = (self._rest[peer] + content).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "done" in said:
                self._peers.pop(peer, None)
            elif "failed" in said:
                self._peers.pop(peer, None)
                self._ended(said["failed"], f"process {said['process']} ended: {said['text']}")

    def _lost(self, number: int) -> None:
        self._ended(1, f"process {number} was lost; the run's folder holds the state as it was last saved")

    def _ended(self, code: int, text: str) -> None:
        """Passes on to the others what ends this process too."""
        if self._over.is_set():
            return
        self._over.set()
        self._send({"failed": code, "text": text, "process": self._number})
        self._end(code, text)

    def _send(self, words: dict) -> None:
        for peer in list(self._peers):
            with contextlib.suppress(OSError):
                peer.sendall(json.dumps(words).encode() + b"\n")

    def _close(self) -> None:
        if threading.current_thread() is not self._thread:
            self._thread.join(2)
        for peer in self._all:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_WR)
            peer.close()


def listen() -> tuple[socket.socket, dict]:
    """The first process's open door, and the card that says where it is: host names to try, a port, a password."""
    door = socket.create_server(("", 0), backlog=1024)
    hosts = list(dict.fromkeys((socket.gethostname(), socket.getfqdn(), "127.0.0.1")))
    return door, {"hosts": hosts, "port": door.getsockname()[1], "word": secrets.token_hex(8)}


def receive(door: socket.socket, card: dict, others: int, seconds: float = 60.0) -> dict[socket.socket, int]:
    """The connections of all other processes. Raises: TimeoutError."""
    peers: dict[socket.socket, int] = {}
    door.settimeout(seconds)
    while len(peers) < others:
        peer, _ = door.accept()
        peer.settimeout(SILENCE)
        try:
            with peer.makefile() as words:
                word, number = words.readline().split()
            known = word == card["word"] and 0 < int(number) <= others
        except (OSError, ValueError):
            known, number = False, ""
        if known:
            peers[peer] = int(number)
        else:
            peer.close()
    door.close()
    return peers


def call(card: dict, number: int, coordinator: str | None = None) -> dict[socket.socket, int]:
    """The connection to the first process. Raises: ConnectionError naming what was tried."""
    hosts = [coordinator.rpartition(":")[0].strip("[]")] if coordinator else []
    hosts = list(dict.fromkeys(hosts + card["hosts"]))
    for host in hosts:
        try:
            peer = socket.create_connection((host, card["port"]), SILENCE)
            peer.sendall(f"{card['word']} {number}\n".encode())
        except OSError:
            continue
        return {peer: 0}
    raise ConnectionError(f"process {number} cannot reach the first one at {', '.join(hosts)}, port {card['port']}")


@contextlib.contextmanager
def together(coordinator: str | None, busy: threading.Lock) -> Iterator[None]:
    """While it lasts, what ends one process of the run ends all, with one line and an exit code.

    Args: coordinator: its address, if known; busy: held while the state is written, which is waited for.
    Raises: what the body raises, after the others were told.
    """
    import jax

    from audamir_training import devices

    number, count = jax.process_index(), jax.process_count()
    if count == 1:
        yield
        return
    door, card = listen() if number == 0 else (None, {})
    told = np.frombuffer(json.dumps(card).encode()[:_CARD].ljust(_CARD), np.uint8)
    card = json.loads(bytes(devices.from_first(told)))
    peers = receive(door, card, count - 1) if door else call(card, number, coordinator)

    def end(code: int, text: str) -> None:
        busy.acquire(timeout=SILENCE)
        print(f"audamir: error: {text}", file=sys.stderr, flush=True)
        os._exit(code)

    watch = Watch(number, peers, end)
    try:
        yield
    except BaseException as error:
        expected = isinstance(error, (ValueError, OSError, KeyboardInterrupt))
        if not expected:  # a broken connection of JAX's, most likely: the watch knows better what it means
            time.sleep(SILENCE + 2)
        code = 130 if isinstance(error, KeyboardInterrupt) else 2 if expected else 1
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        watch.failed(code, " ".join(why.split()) or type(error).__name__)
        # JAX would wait for the others when Python ends; they are gone.
        timer = threading.Timer(5.0, os._exit, (code,))
        timer.daemon = True
        timer.start()
        raise
    watch.done()
