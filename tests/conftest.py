"""Every test runs under strict dtype promotion, without implicit rank promotion, on two CPU devices."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("MPLBACKEND", "Agg")

import jax
import pytest

from audamir_envs import compilation

jax.config.update("jax_numpy_dtype_promotion", "strict")

_FLAGS = "AUDAMIR_TEST_XLA_FLAGS"
_OWN: list[str] = []  # the folder of compiled programs, in the process that has made it


def pytest_configure(config: pytest.Config) -> None:
    """Makes compilations quick in the default run, where most programs run for less time than they compile.

    XLA reads its flags at the first use of a device, which comes later. Tests whose programs run for long ask for what
    users get, by ``compiler_options=FULL`` of ``effort``; with ``-m slow`` or ``-m ""`` all programs get it.
    """
    # As in a shell's background or under nohup: programs under test would inherit it.
    for name, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(name) is signal.SIG_IGN:
            signal.signal(name, handler)
    if all(word in config.option.markexpr for word in ("not slow", "not frameworks")):
        os.environ["XLA_FLAGS"] += _quick_compilation()
    if "AUDAMIR_CACHE" not in os.environ:  # the workers and the programs that tests start inherit it
        _OWN.append(tempfile.mkdtemp(prefix="audamir-tests-"))
        os.environ["AUDAMIR_CACHE"] = _OWN[0]
    compilation.enable_compilation_cache()  # what one worker has compiled the others need not


def _quick_compilation() -> str:
    """The flags that shorten compiling most (measured: to a half), of those that the installed XLA knows.

    One that it does not know ends the process, and they come and go with its versions: another process tries them.
    """
    if _FLAGS not in os.environ:  # workers inherit what the first process has found
        wanted = (
            " --xla_backend_optimization_level=0",
            " --xla_cpu_parallel_codegen_split_count=1",
            " --xla_cpu_use_fusion_emitters=false",  # their own compiler takes as long as all the rest
        )
        tried = ["".join(wanted), *wanted]
        known = [flags for flags in tried[:1] if _known(flags)] or [flags for flags in tried[1:] if _known(flags)]
        os.environ[_FLAGS] = "".join(known)
    return os.environ[_FLAGS]


def _known(flags: str) -> bool:
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    program = "import jax; jax.jit(lambda x: x + 1)(1.0)"
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True).returncode == 0


def pytest_unconfigure() -> None:
    """Removes what was compiled: another run may be of other code."""
    for folder in _OWN:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True, scope="module")
def _share_programs():
    yield
    compilation.exchange()


@pytest.fixture
def key() -> jax.Array:
    return jax.random.key(0)
