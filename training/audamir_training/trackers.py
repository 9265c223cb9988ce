"""Where a run's numbers go beside ``metrics.jsonl``: TensorBoard, and whatever else a user's function reaches."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorboardX import summary
from tensorboardX.crc32c import crc32c
from tensorboardX.proto import event_pb2 as _event_pb2
from tensorboardX.proto import summary_pb2 as _summary_pb2

from audamir_envs import files
from audamir_training.metrics import Tell, scalars

event_pb2: Any = _event_pb2  # their classes are made when they are loaded, which hides them from type checkers
summary_pb2: Any = _summary_pb2

Write = Callable[[int, dict[str, float]], Any]
"""``write(iteration, values)``: values by names such as ``train/policy_loss``."""


class TensorBoard:
    """One file of TensorBoard's, made anew at each start from the run's lines: what a kill cut off is there again."""

    def __init__(self, folder: Path, settings: dict[str, Any], lines: list[dict[str, Any]], seconds: float) -> None:
        """Args: settings: shown as hyperparameters; lines: of the run so far; seconds: that it was trained for.

        Raises: OSError.
        """
        self._began = time.time() - seconds
        folder.mkdir(parents=True, exist_ok=True)
        old = list(folder.glob("events.out.tfevents.*"))
        self._path = folder / f"events.out.tfevents.{int(time.time())}.{os.getpid()}"
        start = event_pb2.SessionLog(status=event_pb2.SessionLog.SessionStatus.Value("START"))
        events = [
            event_pb2.Event(wall_time=self._began, file_version="brain.Event:2"),
            event_pb2.Event(wall_time=self._began, step=0, session_log=start),
        ]
        plain = {name: value for name, value in settings.items() if isinstance(value, (bool, int, float, str))}
        for part in summary.hparams(plain, {}):
            events.append(event_pb2.Event(wall_time=self._began, step=0, summary=part))
        content = b"".join(_record(event.SerializeToString()) for event in events)
        files.write_bytes(self._path, content + b"".join(map(self._encoded, lines)))
        for file in old:
            if file != self._path:
                file.unlink(missing_ok=True)

    def write(self, line: dict[str, Any]) -> None:
        """Adds a line of the run. Raises: OSError."""
        with self._path.open("ab", buffering=0) as file:
            file.write(self._encoded(line))

    def _encoded(self, line: dict[str, Any]) -> bytes:
        values = [summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in scalars(line).items()]
        at = self._began + (line.get("seconds") or 0)
        event = event_pb2.Event(wall_time=at, step=line["iteration"], summary=summary_pb2.Summary(value=values))
        return _record(event.SerializeToString())


class Tracker:
    """A function of the user's that is given the same numbers; if it fails, training goes on without it."""

    def __init__(self, open_tracker: Callable[[str, dict[str, Any]], Write], name: str, tell: Tell) -> None:
        """Args: name: of the function, for messages."""
        self._open, self._name, self._tell = open_tracker, name, tell
        self._write: Write | None = None

    def begin(self, title: str, settings: dict[str, Any]) -> None:
        """Opens it for a run."""
        self._write = self._tried(lambda: self._open(title, settings))

    def write(self, line: dict[str, Any]) -> None:
        """Hands a line's numbers on."""
        write = self._write
        if write is not None:
            self._tried(lambda: write(line["iteration"], scalars(line)))

    def _tried(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            self._write = None
            self._tell(f"{self._name} failed and is left out: {type(error).__name__}: {error}")
            return None


def _record(content: bytes) -> bytes:
    """An entry of TensorBoard's files: length and content, each with its masked checksum."""
    length = struct.pack("<Q", len(content))
    return length + _masked(length) + content + _masked(content)


def _masked(content: bytes) -> bytes:
    check = crc32c(content)
    return struct.pack("<I", (((check >> 15) | (check << 17)) + 0xA282EAD8) & 0xFFFFFFFF)
