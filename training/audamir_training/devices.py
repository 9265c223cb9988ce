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

    To be called before anything else touches a device.
    """
    jax.distributed.initialize(coordinator, processes, process)


def mesh() -> Mesh:
    """All devices of all processes in one row."""
    return jax.make_mesh((jax.device_count(),), (AXIS,))


def is_writer() -> bool:
    """Whether this process writes the run's files."""
    return jax.process_index() == 0


def agreed(values: Any) -> Any:
    """The first process's values (a tree of numbers) on every process, so that all take the same decisions."""
    if jax.process_count() == 1:
        return values
    return jax.tree.map(
        lambda leaf: leaf.item(), multihost_utils.broadcast_one_to_all(jax.tree.map(np.asarray, values))
    )


def on_host(tree: Any) -> Any:
    """The whole tree as NumPy arrays, on every process."""
    if jax.process_count() == 1:
        return jax.tree.map(np.asarray, tree)
    return multihost_utils.process_allgather(tree, tiled=True)
