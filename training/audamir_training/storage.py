"""The state of a run on disk: every array, bit by bit, and a header; whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ModuleNotFoundError:  # Windows, where nothing keeps a second process out
    fcntl = None  # type: ignore[assignment]

import jax
import numpy as np

from audamir_envs.learned.networks import without_komi_head
from audamir_envs.learned.tensors import CheckpointError, read_tensors, write_tensors
from audamir_training.algorithms import read_settings

FORMAT, EARLIER = "audamir-run-2", ("audamir-run-1",)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps other processes out of a run's folder, for two would undo each other's work; a killed one lets go.

    Raises: ValueError: another process is in there; OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        if fcntl:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"another process trains in {folder}: wait until it has ended, or use another --out"
                ) from None
            except OSError:
                pass  # a file system without locks: training is worth more than being kept apart
        yield


def save_state(path: str | os.PathLike[str], state: Any, facts: dict[str, Any]) -> None:
    """Writes a tree of arrays and JSON-able facts. Raises: OSError; what was there before stays."""
    header = {"format": FORMAT, "facts": json.dumps(facts)}
    write_tensors(path, {name: np.asarray(leaf) for name, leaf in _named(state)}, header)


def read_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The facts alone. Raises: FileNotFoundError, CheckpointError."""
    return _facts(path, read_tensors(path)[1])


def load_state(path: str | os.PathLike[str], like: Any, newer: tuple[str, ...] = ()) -> tuple[Any, dict[str, Any]]:
    """The tree, with the structure, shapes and dtypes of ``like``, as NumPy arrays; and the facts.

    Args: newer: beginnings of the names of leaves that a state of an older version may lack: ``like`` has them then.
    Raises: FileNotFoundError; CheckpointError naming what does not fit.
    """
    arrays, header = read_tensors(path)
    facts = _facts(path, header)
    if header["format"] in EARLIER and not any("komi_sharpness" in name for name, _ in _named(like)):
        arrays = without_komi_head(arrays)
    leaves = []
    for name, leaf in _named(like):
        if name not in arrays and name.startswith(newer):
            leaves.append(np.asarray(leaf))
            continue
        if name not in arrays:
            raise CheckpointError(f"{path} is the state of another program: it has no {name}")
        found = arrays.pop(name)
        if (found.shape, found.dtype) != (leaf.shape, leaf.dtype):
            raise CheckpointError(
                f"{path} is the state of another program: {name} is {found.dtype} {found.shape}, "
                f"not {leaf.dtype} {leaf.shape}"
            )
        leaves.append(found)
    if arrays:
        raise CheckpointError(f"{path} is the state of another program: {next(iter(arrays))} is not known here")
    return jax.tree.unflatten(jax.tree.structure(like), leaves), facts


def settings_of(path: str | os.PathLike[str], facts: dict[str, Any]) -> Any:
    """The algorithm's settings as a state has them. Raises: CheckpointError for what no run can have written."""
    try:
        return read_settings(facts.get("algorithm"), facts.get("settings"))
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged or of another version: {error}") from None


def read_fields(path: str | os.PathLike[str], kind: type, values: Any) -> Any:
    """A dataclass of numbers from the facts of a file. Raises: CheckpointError for other types, names or ranges."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if not isinstance(values, dict) or not values.keys() <= fields.keys():
        raise CheckpointError(f"{path} is damaged or of another version: it has {kind.__name__.lower()} {values!r:.80}")
    for name, value in values.items():
        whole = isinstance(fields[name].default, int)
        right = type(value) is int if whole else type(value) in (int, float)
        if not right or not -1 <= value < 2**53:
            raise CheckpointError(f"{path} is damaged: its {name} is {value!r:.80}")
    return kind(**values)


def _facts(path: str | os.PathLike[str], header: dict[str, str]) -> dict[str, Any]:
    if header.get("format") not in (FORMAT, *EARLIER):
        raise CheckpointError(f"{path} is no state of a run: its format is {header.get('format')!r}, not {FORMAT!r}")
    try:
        facts = json.loads(header.get("facts", ""))
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} is damaged: its facts are no JSON") from None
    if not isinstance(facts, dict):
        raise CheckpointError(f"{path} is damaged: its facts are no JSON object")
    return facts


def _named(tree: Any) -> list[tuple[str, Any]]:
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]
