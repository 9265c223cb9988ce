"""Writes levels and states of earlier versions anew: ``python -m audamir_envs.learned.upgrade FILE ...``."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Sequence

from audamir_envs import registry
from audamir_envs.learned import checkpoints
from audamir_envs.learned.networks import without_komi_head
from audamir_envs.learned.tensors import CheckpointError, read_json, read_tensors, write_tensors

_NEWEST = {"audamir-level-1": "audamir-level-2", "audamir-run-1": "audamir-run-2"}


def upgrade(path: str | os.PathLike[str]) -> bool:
    """Writes a file of an earlier version as this version does; False if it is none. Raises: OSError, CheckpointError.

    The checksum then covers the header too, and a network whose game has no pie loses the head for one: it plays the
    same without.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays, header = read_tensors(path)
    if header.get("format") not in _NEWEST:
        return False
    header["format"] = _NEWEST[header["format"]]
    network = read_json(path, "network", header["network"]) if "network" in header else None
    env_id = header["env"] if network else read_json(path, "facts", header["facts"])["env"]
    pie = getattr(getattr(registry.learning(env_id), "network", None), "pie", True)
    if not pie:
        arrays = without_komi_head(arrays)
    if network and network["architecture"] == "hex-1":
        del network["architecture"]
        network |= {"further": ["pass"], "head": "komi" if pie else "cells", "architecture": "hex-2"}
        header["network"] = json.dumps(network)
    del header["checksum"]
    write_tensors(path, arrays, header)
    if network:
        checkpoints.read_level(path, env_id)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """The program."""
    parser = argparse.ArgumentParser(prog="python -m audamir_envs.learned.upgrade", description=__doc__)
    parser.add_argument("files", metavar="FILE", nargs="+")
    for path in parser.parse_args(arguments).files:
        try:
            print(f"{path}: {'written anew' if upgrade(path) else 'is up to date'}")
        except (OSError, CheckpointError) as error:
            parser.error(str(error))


if __name__ == "__main__":
    main()
