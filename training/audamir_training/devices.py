"""The mesh of devices that a run is spread over, and what several processes must agree on."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh

AXIS = "data"


def connect(coordinator: str | None, processes: int | None, process: int | None) -> None:
    """Joins the processes of a distributed run; what is None comes from the cluster's environment (Slurm, say).

    To be called before anything else touches a device. Raises: ValueError: numbers that do not fit, or nobody there.
    """
    if processes is not None and processes < 1:
        raise ValueError(f"--processes {processes} is not valid: use a number from 1 on")
    if process is not None and not 0 <= process < (processes or process + 1):
        raise ValueError(f"--process {process} is not valid: use a number from 0 to --processes less 1")
    try:
        jax.distributed.initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as error:
        at = f" at {coordinator}" if coordinator else ""
        raise ValueError(f"the processes{at} did not come together: {' '.join(str(error).split())[:300]}") from None


def mesh() -> Mesh:
    """All devices of all processes in one row."""
    return Mesh(np.array(jax.devices()), (AXIS,))


def is_writer() -> bool:
    """Whether this process writes the run's files."""
    return jax.process_index() == 0


def from_first(values: np.ndarray) -> np.ndarray:
    """The first process's array on every process."""
    return np.asarray(multihost_utils.broadcast_one_to_all(values))


def gathered(values: tuple[float, ...]) -> np.ndarray:
    """float64 [processes, values]: every process's numbers on every process, so that all take the same decisions."""
    if jax.process_count() == 1:
        return np.array([values], np.float64)
    # As words of 32 bits, since without x64 JAX would round.
    words = np.array(values, np.float64).view(np.uint32)
    return np.asarray(multihost_utils.process_allgather(words)).view(np.float64)


def on_host(tree: Any) -> Any:
    """The whole tree as NumPy arrays, on every process."""
    if jax.process_count() == 1:
        return jax.tree.map(np.asarray, tree)
    return multihost_utils.process_allgather(tree, tiled=True)
