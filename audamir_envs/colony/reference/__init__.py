"""A plain C++ player of Colony on bitboards, compiled only when asked for, to compare the JAX environment with."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import tempfile
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class ReferenceRun:
    """What one run of the reference printed."""

    plies: int
    games: int
    first_mover_wins: int
    draws: int
    seconds: float


def run_reference(plies: int, seed: int = 0) -> ReferenceRun:
    """Compiles the reference and plays random plies on one core. Raises: ValueError: no compiler, or it failed."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise ValueError("the C++ reference needs g++ or clang++ on the PATH")
    source = Path(__file__).with_name("colony.cpp")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "colony")
        build = [compiler, "-std=c++20", "-O3", "-march=native", "-o", program, str(source)]
        built = subprocess.run(build, capture_output=True, text=True)
        if built.returncode:
            raise ValueError(f"the C++ reference did not compile: {built.stderr.strip().splitlines()[0]}")
        done = subprocess.run([program, str(plies), str(seed)], capture_output=True, text=True, check=True)
    played, games, wins, draws, seconds = done.stdout.split()
    return ReferenceRun(int(played), int(games), int(wins), int(draws), float(seconds))
