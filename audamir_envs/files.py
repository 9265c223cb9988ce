"""Writing files: a reader never sees half of one, and what can be written is known before the work that fills it.

A new content is written into a temporary neighbour and renamed. Where a rename would change what the user has made (a
file with several names) or is refused (a file in a folder that may not be written), the file is written in place. Pipes
and devices are written to. A process that is killed leaves its temporary; the next write into that folder removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

try:
    import fcntl
except ImportError:  # Windows, which does not let an open file be removed
    fcntl = None  # type: ignore[assignment]

_PREFIX, _SUFFIX = ".audamir-", ".tmp"  # a name of fixed length: a target's own name may be as long as names can be

AnyPath = str | os.PathLike[str]


def write_bytes(path: AnyPath, content: bytes) -> None:
    """Writes the whole file or nothing. Folders that are missing are made.

    A link stays one, and what it points to is written; an existing file keeps its mode, and its other names. Pipes,
    devices and our own standard streams are written to.
    Raises: OSError with the path that was asked for.
    """
    with _named(path):
        _write(path, content)


def write_text(path: AnyPath, content: str) -> None:
    """``write_bytes`` of UTF-8 text; what UTF-8 cannot hold (names of files in no encoding) is replaced by ``?``.

    Raises: OSError.
    """
    write_bytes(path, content.encode("utf-8", "replace"))


def write_result(path: AnyPath, content: bytes | str) -> None:
    """``write_bytes`` of what took long to make: where that fails, it is written beside under another name.

    Raises: OSError that says what failed and where the content is now.
    """
    content = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        write_bytes(path, content)
    except OSError as error:
        kept = None if _is_stream(path) else _keep(path, content)
        if kept is None:
            raise
        why = error.strerror or str(error)
        raise OSError(f"{os.fspath(path)}: {why}; the result is in {kept}") from error


def check_writable(path: AnyPath | None) -> None:
    """Refuses a file that ``write_bytes`` could not write, before hours are spent on what it is to hold.

    Raises: OSError with the path; ValueError: a path that is empty or can be no path.
    """
    if path is None:
        return
    text = os.fspath(path)
    if not text:
        raise ValueError("the path of a file to write is empty")
    if "\0" in text:
        raise ValueError("the path of a file to write holds a NUL character")
    with _named(path):
        if os.path.isdir(path) or text.endswith(os.sep):
            raise IsADirectoryError(f"{text} is a folder, not a file")
        target = _target(path)
        if _own_stream(path) is not None:
            return
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if _in_place(path):
            return
        folder, missing = os.path.dirname(target), os.path.basename(target)
        while not os.path.lexists(folder):
            folder, missing = os.path.split(folder)
            _lstat(os.path.join(folder, missing))  # refuses names that are too long, wherever there is a folder
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is no folder")
        _lstat(os.path.join(folder, os.path.basename(target)))
        handle, temporary = _temporary(folder)
        os.close(handle)
        os.unlink(temporary)


def sweep(path: AnyPath) -> None:
    """Removes what killed writers left in a file's folder; the temporaries of living ones stay. Raises nothing."""
    folder = os.path.dirname(os.path.realpath(path))
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                _remove_if_dead(entry.path)


def _write(path: AnyPath, content: bytes) -> None:
    stream = _own_stream(path)
    if stream is not None:  # to replace the file behind it would lose what else is printed
        stream.flush()
        _write_all(stream.fileno(), content)
        return
    if _is_stream(path):
        with open(path, "wb") as file:
            file.write(content)
        return
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if os.path.exists(path) and not os.access(path, os.W_OK):  # renaming would replace what is meant to stay
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    target = Path(_target(path))
    if _in_place(path):
        _overwrite(target, content)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target)
    handle, temporary = _temporary(target.parent)
    try:
        # The file stays open, and so locked, until it has its name: nobody takes it for a dead writer's.
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            _dress(temporary, target)
            if os.name == "posix":
                os.replace(temporary, target)
        if os.name != "posix":  # Windows renames no open file
            os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _temporary(folder: AnyPath) -> tuple[int, str]:
    """A new file there, open and locked: the handle and its path. Raises: OSError."""
    while True:
        path = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(6)}{_SUFFIX}")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        except FileExistsError:
            continue
        if fcntl is None:
            return handle, path
        with contextlib.suppress(OSError):  # a file system without locks: _remove_if_dead leaves such files alone
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # another process cleaned up between our two calls


def _remove_if_dead(path: str) -> None:
    with contextlib.suppress(OSError):
        if fcntl is None:
            os.unlink(path)  # refused while it is open
            return
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(handle)


def _dress(temporary: str, target: Path) -> None:
    """Gives the temporary the mode, and where we may the owner, of what it replaces, or those of any new file."""
    try:
        old = os.stat(target)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        return
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):
            os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, stat.S_IMODE(old.st_mode))


def _in_place(path: AnyPath) -> bool:
    """Whether an existing file must be written where it is: renaming would break its other names, or is refused."""
    if not os.path.isfile(path) or not os.access(path, os.W_OK):
        return False
    target = os.path.realpath(path)
    return os.stat(target).st_nlink > 1 or not os.access(os.path.dirname(target), os.W_OK | os.X_OK)


def _overwrite(target: Path, content: bytes) -> None:
    """Writes into the file itself, once there is room for the new content: a full disk leaves the old one."""
    with open(target, "r+b", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if len(content) > size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, len(content))
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    os.ftruncate(file.fileno(), size)
                    raise
        _write_all(file.fileno(), content)
        file.truncate(len(content))
        os.fsync(file.fileno())


def _write_all(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]


def _target(path: AnyPath) -> str:
    """What a path means in the end. Raises: OSError: links that go round in a circle."""
    target = os.path.realpath(path)
    if os.path.islink(target):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def _is_stream(path: AnyPath) -> bool:
    """Whether there is a pipe, a socket or a device."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _own_stream(path: AnyPath) -> TextIO | None:
    """Our own standard output or error where the path is the regular file that it goes to (``/dev/stdout``)."""
    try:
        there = os.stat(path)
    except OSError:
        return None
    if stat.S_ISREG(there.st_mode):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                if os.path.samestat(os.fstat(stream.fileno()), there):
                    return stream
    return None


def _keep(path: AnyPath, content: bytes) -> str | None:
    """Writes the content beside the path, in the working folder or among temporary files; says where."""
    ending = os.path.splitext(os.fspath(path))[1]
    ending = ending if len(ending) <= 12 and "\0" not in ending else ""
    name = f"audamir-result-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}{ending}"
    for folder in (os.path.dirname(os.path.realpath(path)), os.getcwd(), tempfile.gettempdir()):
        kept = os.path.join(folder, name)
        try:
            _write(kept, content)
        except (OSError, ValueError):
            continue
        return kept
    return None


def _lstat(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.lstat(path)


@contextlib.contextmanager
def _named(path: AnyPath) -> Iterator[None]:
    """Errors name the path that was asked for: a full disk does not say where, and a temporary's name tells nobody."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
