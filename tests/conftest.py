"""Every test runs under strict dtype promotion, without implicit rank promotion, on two CPU devices."""

import os
import shutil
import signal
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("MPLBACKEND", "Agg")

import jax
import pytest

from audamir_envs import compilation

jax.config.update("jax_numpy_dtype_promotion", "strict")

_OWN: list[str] = []  # the folder of compiled programs, in the process that has made it


def pytest_configure(config: pytest.Config) -> None:
    """Makes compilations quick in the default run, where most programs run for less time than they compile.

    XLA reads its flags at the first use of a device, which comes later. Tests whose programs run for long ask for what
    users get, by ``compiler_options=FULL`` of ``effort``; with ``-m slow`` or ``-m ""`` all programs get it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: programs under test inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if all(word in config.option.markexpr for word in ("not slow", "not frameworks")):
        os.environ["XLA_FLAGS"] += " --xla_backend_optimization_level=0"
    if "AUDAMIR_CACHE" not in os.environ:  # the workers and the programs that tests start inherit it
        _OWN.append(tempfile.mkdtemp(prefix="audamir-tests-"))
        os.environ["AUDAMIR_CACHE"] = _OWN[0]
    compilation.enable_compilation_cache()  # what one worker has compiled the others need not


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
