"""Compiled programs kept on disk, so that the second start of anything is quick.

JAX can keep what it compiles in a folder, but writes there without care for others: a reader may see half a file, and
nothing is ever removed. So every process works in a private folder that begins as links to the common one, and what it
has added becomes common, whole files only, when it ends. Folders of processes that were killed are taken over by the
next. The common folder has a bound; what has not been used for longest goes first.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
import zlib
from pathlib import Path

from audamir_envs import streams

try:
    import fcntl
except ImportError:  # Windows, where a living process's folder cannot be told from a dead one's
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 2**29
_SUFFIX = "-cache"  # of JAX's files
_PRIVATE = ".process-"
_YOUNG = 10.0  # seconds before its last file in which a killed process may have left half a one


class Store:
    """A common folder of compiled programs, and this process's private one beside it."""

    def __init__(self, common: Path, most_bytes: int) -> None:
        """Raises: OSError: the folder cannot be made, is another user's, or holds no links."""
        common.mkdir(parents=True, exist_ok=True, mode=0o700)
        if hasattr(os, "geteuid") and common.stat().st_uid != os.geteuid():
            raise PermissionError(f"{common} is another user's: its programs would run as ours")
        self.common, self.most_bytes, self.process = common, most_bytes, os.getpid()
        self.private = Path(tempfile.mkdtemp(prefix=_PRIVATE, dir=common))
        self._lock = os.open(self.private / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            os.link(self.private / "lock", self.private / "lock2")  # no links: no store
            self._take_over()
            self.known: set[str] = set()
            self.exchange()
        except OSError:
            os.close(self._lock)
            shutil.rmtree(self.private, ignore_errors=True)
            raise

    def exchange(self) -> None:
        """Gives what this process has compiled to the others, and takes what they have given. Compile nothing then."""
        _publish(self.private, self.common, self.known)
        for name in _entries(self.common) - self.known:
            with contextlib.suppress(OSError):  # removed in the meantime
                os.link(self.common / name, self.private / name)
        self.known = _entries(self.private)

    def close(self) -> None:
        """Gives what is new, removes the private folder, and keeps the common one within its bound."""
        if os.getpid() != self.process:  # a fork's end is not ours
            return
        with contextlib.suppress(OSError):
            _publish(self.private, self.common, self.known)
            os.close(self._lock)
            shutil.rmtree(self.private, ignore_errors=True)
            _trim(self.common.parent, self.most_bytes)

    def _take_over(self) -> None:
        """Keeps what killed processes have compiled and removes their folders."""
        for folder in self.common.glob(f"{_PRIVATE}*"):
            if folder == self.private or fcntl is None:
                continue
            with contextlib.suppress(OSError):
                lock = os.open(folder / "lock", os.O_RDWR)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    times = {name: (folder / name).stat().st_mtime for name in _entries(folder)}
                    newest = max(times.values(), default=0)
                    _publish(folder, self.common, {name for name, at in times.items() if at > newest - _YOUNG})
                    shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(lock)


_STORE: list[Store] = []  # this process's, once it has one


def enable_compilation_cache(folder: str | os.PathLike[str] | None = None, most_bytes: int = MOST_BYTES) -> Path | None:
    """Keeps the programs that JAX compiles from now on, and takes those that were kept; the command line does so too.

    Call it once, at the start of a script. Programs are kept for each version of JAX and each kind of processor apart.

    Args:
        folder: where; default: the environment variable ``AUDAMIR_CACHE``, or the user's cache folder. Only its owner
            may be able to write there, since what lies there is run.
        most_bytes: when the process ends what has not been used for longest is removed until this is kept.

    Returns: the folder in use, or None where nothing can be kept (a home that may not be written, say). Where JAX has
    a folder already (``JAX_COMPILATION_CACHE_DIR``) this changes nothing and returns that.
    """
    import jax

    if _STORE:
        return _STORE[0].common
    own = jax.config.values.get("jax_compilation_cache_dir")
    if own:
        return Path(own)
    try:
        store = Store(cache_folder(folder) / "programs" / _kind(), most_bytes)
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None
    _STORE.append(store)
    streams.at_end(close)
    jax.config.update("jax_compilation_cache_dir", str(store.private))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
    return store.common


def exchange() -> None:
    """Shares what this process has compiled so far, and takes what others have, instead of at its end."""
    for store in _STORE:
        with contextlib.suppress(OSError):
            store.exchange()


def close() -> None:
    """Gives what this process has compiled to others, for the last time."""
    while _STORE:
        _STORE.pop().close()


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Where things are kept that can be made again. Raises: RuntimeError: the user has no home."""
    import platformdirs

    chosen = folder or os.environ.get("AUDAMIR_CACHE") or platformdirs.user_cache_dir("audamir-envs", appauthor=False)
    return Path(chosen).expanduser().absolute()


def _kind() -> str:
    """A name for what a program depends on beside what JAX puts into its names: a home may be several machines'."""
    import jaxlib.version

    features = ""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    machine = f"{platform.system()} {platform.machine()} {features or platform.processor()}"
    return f"jaxlib-{jaxlib.version.__version__}-{zlib.crc32(machine.encode()):08x}"


def _entries(folder: Path) -> set[str]:
    with os.scandir(folder) as entries:
        return {entry.name for entry in entries if entry.name.endswith(_SUFFIX)}


def _publish(private: Path, common: Path, known: set[str]) -> None:
    for name in _entries(private) - known:
        with contextlib.suppress(OSError):  # another process was first
            os.link(private / name, common / name)


def _trim(programs: Path, most_bytes: int) -> None:
    """Removes files until ``most_bytes`` are left, of all kinds together."""
    found = []
    for path in programs.glob(f"*/*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            facts = path.stat()
            # Where the system does not write down the last use, the oldest go first.
            found.append((max(facts.st_atime, facts.st_mtime), facts.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= most_bytes:
            break
        path.unlink(missing_ok=True)
        total -= size
