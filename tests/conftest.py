"""Every test runs under strict dtype promotion, without implicit rank promotion, on two CPU devices."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("MPLBACKEND", "Agg")

import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")


def pytest_configure(config: pytest.Config) -> None:
    """Makes compilations quick in the default run, where most programs run for less time than they compile.

    XLA reads its flags at the first use of a device, which comes later. Tests whose programs run for long ask for what
    users get, by ``compiler_options=FULL`` of ``effort``; with ``-m slow`` or ``-m ""`` all programs get it.
    """
    if all(word in config.option.markexpr for word in ("not slow", "not frameworks")):
        os.environ["XLA_FLAGS"] += " --xla_backend_optimization_level=0"


@pytest.fixture
def key() -> jax.Array:
    return jax.random.key(0)
