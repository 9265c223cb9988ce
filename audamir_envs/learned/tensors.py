"""Arrays with a header on disk: safetensors files that are written whole or not at all, and read without pickle.

What a file says of itself is worth as much as its arrays, so one checksum covers both: names, types, shapes and bytes
of the arrays, and every field of the header. Files of earlier versions have one over the arrays alone; they are read
with a warning.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from audamir_envs import files

_KIND = "sha256:"  # of the checksum; before, there was none and it was a CRC
_LONGEST = 2**22  # characters of a field, far more than any has


class CheckpointError(ValueError):
    """A file that is no level or state, is damaged, or belongs to another game or version."""


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Writes arrays and a header of strings atomically, with a checksum over all of it.

    Raises: OSError when it cannot be written; what was there before stays.
    """
    # safetensors writes the memory behind an array, in whatever order it lies there.
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    files.write_bytes(path, save(arrays, {**metadata, "checksum": _checksum(arrays, metadata)}))


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the header, ``checksum`` being one of its fields.

    Warns: UserWarning: a file of an earlier version, whose checksum covers the arrays alone.
    Raises: OSError; CheckpointError for a file that is damaged, has no checksum or is of no use.
    """
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder: name the .safetensors file in it")
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not Path(path).is_file():  # a pipe or a device, which reading might wait for
        raise CheckpointError(f"{path} is no regular file")
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = dict(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(f"{path} is damaged or no safetensors file ({reason})") from None
    found = metadata.get("checksum")
    if found is None:
        raise CheckpointError(f"{path} is damaged or no file of this suite: its header has no checksum")
    old = not found.startswith(_KIND)
    if found != (_checksum_of_arrays(arrays) if old else _checksum(arrays, metadata)):
        raise CheckpointError(f"{path} is damaged: its contents do not match their checksum")
    if old:
        warnings.warn(
            f"{path} was written by an earlier version: its checksum does not cover its header; "
            f"python -m audamir_envs.learned.upgrade {path} writes it anew",
            stacklevel=2,
        )
    return arrays, metadata


def _checksum(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    fields = sorted((name, text) for name, text in metadata.items() if name != "checksum")
    shapes = [(name, arrays[name].dtype.str, arrays[name].shape) for name in sorted(arrays)]
    digest.update(json.dumps([fields, shapes]).encode())  # with the lengths in it that keep the bytes below apart
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).view(np.uint8).reshape(-1).data)
    return _KIND + digest.hexdigest()


def _checksum_of_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    value = 0
    for name in sorted(arrays):
        value = zlib.crc32(name.encode(), value)
        value = zlib.crc32(np.ascontiguousarray(arrays[name]).view(np.uint8).reshape(-1).data, value)
    return f"{value:08x}"


def read_json(path: str | os.PathLike[str], name: str, text: str) -> Any:
    """The value of a field of a header. Raises: CheckpointError that names file and field, for whatever is no JSON."""
    if len(text) <= _LONGEST:
        try:
            return json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            pass
    raise CheckpointError(f"{path} is damaged: {name} in its header is no JSON")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


Check = Callable[[Any], bool]


def check_facts(path: str | os.PathLike[str], facts: Any, checks: Mapping[str, Check], where: str = "header") -> None:
    """Refuses facts of a file that are not what the program reads from them.

    Args: facts: what should be a mapping; checks: for each name that must be there, whether its value is valid.
    Raises: CheckpointError naming the file and the fact.
    """
    if not isinstance(facts, dict):
        raise CheckpointError(f"{path} is damaged: its {where} is no table of facts")
    missing = sorted(checks.keys() - facts.keys())
    if missing:
        raise CheckpointError(f"{path} is damaged: its {where} lacks {', '.join(missing)}")
    for name, check in checks.items():
        if not check(facts[name]):
            shown = repr(facts[name])
            shown = shown if len(shown) <= 80 else f"{shown[:80]}... ({len(shown)} characters)"
            raise CheckpointError(f"{path} is damaged: {name} in its {where} cannot be {shown}")


def is_text(value: Any) -> bool:
    """Whether a fact is a string."""
    return isinstance(value, str)


def is_table(value: Any) -> bool:
    """Whether a fact is a mapping of names."""
    return isinstance(value, dict)


def is_number(low: float = -math.inf, high: float = math.inf) -> Check:
    """A check for finite numbers in a range."""
    return lambda value: type(value) in (int, float) and math.isfinite(value) and low <= value <= high


def is_whole(low: int, high: int = 2**53) -> Check:
    """A check for integers in a range."""
    return lambda value: type(value) is int and low <= value <= high


def flatten(tree: Any) -> dict[str, np.ndarray]:
    """A tree of dicts (of parameters, say) as arrays named by their path, ``block/kernel``."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {"/".join(str(key.key) for key in path): np.asarray(leaf) for path, leaf in leaves}


def unflatten(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The tree of arrays named by their path."""
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *folders, last = name.split("/")
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
        node[last] = array
    return tree
