"""Runs as processes: killed at random moments, and spread over two of them."""

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from audamir_training import metrics, storage
from audamir_training.alphazero import AlphaZero
from audamir_training.ppo import PPO
from audamir_training.runs import STATE
from tiny_ppo import TINY_PPO
from tiny_run import TINY, mesh_of

from audamir_envs.learned.checkpoints import read_tensors

pytestmark = pytest.mark.slow


def command(folder, *more: str, of=TINY) -> list[str]:
    settings = dataclasses.asdict(of)
    env = settings.pop("env")
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    program = [sys.executable, "-m", "audamir_training", "train", env, "--out", str(folder), "--quiet", "--opponents="]
    return [*program, *flags, *more]


@pytest.mark.parametrize(("kind", "settings"), [(AlphaZero, TINY), (PPO, TINY_PPO)], ids=["alphazero", "ppo"])
def test_twenty_kills_lose_nothing_but_time(kind, settings, tmp_path) -> None:
    surroundings = environment(tmp_path / "cache")
    rng = np.random.default_rng(0)
    folder = tmp_path / "killed"
    iterations = []
    for _ in range(20):
        words = command(folder, "--save-minutes", "0.01", "--minutes", "1000", of=settings)
        process = subprocess.Popen(words, env=surroundings)
        before = iterations[-1] if iterations else 0
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            time.sleep(0.2)
            if (folder / STATE).is_file() and _iteration(folder) > before:
                break
        time.sleep(float(rng.uniform(0, 2)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        iterations.append(_iteration(folder))
    assert iterations == sorted(iterations)
    assert iterations[-1] > iterations[0]
    # One more sitting that ends by itself, then the same number of iterations without a break.
    subprocess.run(command(folder, "--minutes", "0", of=settings), env=surroundings, check=True)
    algorithm = kind(settings, mesh_of(1))
    state = algorithm.start()
    for _ in range(iterations[-1]):
        state, _ = algorithm.iterate(state)
    resumed, _ = storage.load_state(folder / STATE, state)
    jax.tree.map(np.testing.assert_array_equal, resumed, jax.tree.map(np.asarray, state))


def _iteration(folder) -> int:
    return int(read_tensors(folder / STATE)[0][".iteration"])


def environment(cache, **more: str) -> dict[str, str]:
    """One device a process, and compiled programs kept between them."""
    return dict(os.environ, XLA_FLAGS="", JAX_COMPILATION_CACHE_DIR=str(cache), **more)


def test_two_processes_agree_with_one(tmp_path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    more = ["--log-seconds", "0", "--iterations", "5", "--evaluate-minutes", "0"]
    joined = ["--distributed", "--coordinator", f"127.0.0.1:{port}", "--processes", "2"]
    both = [
        subprocess.Popen(
            command(tmp_path / "two", *more, *joined, "--process", str(number)),
            env=environment(tmp_path / f"c{number}"),
        )
        for number in range(2)
    ]
    assert [process.wait(timeout=600) for process in both] == [0, 0]
    subprocess.run(command(tmp_path / "one", *more), env=environment(tmp_path / "c0"), check=True, timeout=600)
    one, two = (metrics.read(tmp_path / name) for name in ("one", "two"))
    assert len(one) == 5
    for first, second in zip(one, two, strict=True):
        for name in ("games", "entropy", "policy_loss", "value_loss", "ownership_loss", "gradient_norm"):
            assert second[name] == pytest.approx(first[name], rel=2e-3, abs=1e-4), name
