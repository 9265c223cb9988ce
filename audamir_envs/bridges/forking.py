"""Processes that were forked after JAX ran: JAX waits for ever there, without a word, for threads that are no more."""

from __future__ import annotations

import os

import jax

_forked_after_jax = False


def refuse_if_forked() -> None:
    """Raises: RuntimeError: JAX ran in the process that this one was forked from."""
    if _forked_after_jax:
        raise RuntimeError(
            "this process was forked after JAX had run, so JAX would hang in it: start processes by 'spawn' or "
            "'forkserver' (AsyncVectorEnv(..., context='spawn'), SubprocVecEnv(..., start_method='spawn'))"
        )


def _note_fork() -> None:
    global _forked_after_jax
    # Private, so that a JAX without it is one where nothing is refused.
    bridge = getattr(getattr(jax, "_src", None), "xla_bridge", None)
    initialized = getattr(bridge, "backends_are_initialized", None)
    _forked_after_jax = _forked_after_jax or (initialized is not None and initialized())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
