"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


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
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
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


def write_text(path: str | os.PathLike[str], content: str) -> None:
    """``write_bytes`` of UTF-8 text. Raises: OSError."""
    write_bytes(path, content.encode())
