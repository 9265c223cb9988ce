"""How much effort XLA spends on a program, where a test says so: ``jax.jit(..., compiler_options=FULL)``."""

FULL = {"xla_backend_optimization_level": 3}
"""As for users: for programs that run for longer than they compile. See ``conftest.pytest_configure``."""
