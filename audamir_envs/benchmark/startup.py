"""Seconds to import, to compile and to take the first step, each measured in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

_IMPORT = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
_FIRST_STEP = """
import json, sys, time
import jax, audamir_envs
env = audamir_envs.make(sys.argv[1], **json.loads(sys.argv[2]))
state = jax.jit(env.init)(jax.random.key(0))
action = audamir_envs.sample_legal(jax.random.key(1), state)
jax.block_until_ready((state, action))
start = time.perf_counter()
jax.block_until_ready(jax.jit(env.step)(state, action, jax.random.key(2)))
print(time.perf_counter() - start)
"""


def import_seconds(module: str = "audamir_envs") -> float:
    """Seconds that ``import module`` takes in a new interpreter."""
    return _run(["-c", _IMPORT.format(module=module)])


def first_step_seconds(env_id: str, options: dict[str, Any]) -> float:
    """Seconds from the first call of a jitted step to its result, compilation included."""
    return _run(["-c", _FIRST_STEP, env_id, json.dumps(options)])


def _run(arguments: list[str]) -> float:
    # A compilation cache of the user's would hide what a newcomer waits for.
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout.split()[-1])
