"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError:  # Windows, where a leftover of a killed process cannot be told from a file being written
    fcntl = None  # type: ignore[assignment]


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes the whole file or nothing: into a temporary neighbour first, then renamed. Raises: OSError.

    A link stays one, and what it points to is written. Pipes and devices are written to, since to replace them by a
    file would destroy them.
    """
    try:
        _write(path, content)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error  # a full disk does not say where


def _write(path: str | os.PathLike[str], content: bytes) -> None:
    target = Path(os.path.realpath(path))
    if os.path.exists(path) and not target.is_file():
        with open(path, "wb") as file:  # a folder is refused here
            file.write(content)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target)
    handle, temporary = _temporary(target)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a result is to have the permissions that any new file has.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sweep(path: str | os.PathLike[str]) -> None:
    """Removes what killed processes left of writing this file: temporaries that no process holds. Raises nothing."""
    target = Path(os.path.realpath(path))
    pattern = re.compile(re.escape(f".{target.name}.") + r"[a-z0-9_]{8}\.tmp")  # as mkstemp names them
    try:
        found = [entry.path for entry in os.scandir(target.parent) if pattern.fullmatch(entry.name)]
    except OSError:
        return
    for leftover in found:
        try:
            handle = os.open(leftover, os.O_RDWR)
        except OSError:
            continue
        try:
            if _lock(handle):
                os.unlink(leftover)
        except OSError:
            pass
        finally:
            os.close(handle)


def _temporary(target: Path) -> tuple[int, str]:
    """(handle, path) of a new file beside the target, held by this process so that no other sweeps it away."""
    while True:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        if fcntl is None or not _lock(handle) or os.path.exists(temporary):
            return handle, temporary
        os.close(handle)  # another process took it for a leftover before it was held


def _lock(handle: int) -> bool:
    """Whether this process now holds the open file, until it closes it or dies."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_text(path: str | os.PathLike[str], content: str) -> None:
    """``write_bytes`` of UTF-8 text. Raises: OSError."""
    write_bytes(path, content.encode())
