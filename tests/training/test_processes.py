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
from counting_run import Counting
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


KINDS = pytest.mark.parametrize(("kind", "settings"), [(AlphaZero, TINY), (PPO, TINY_PPO)], ids=["alphazero", "ppo"])


@KINDS
def test_twenty_kills_lose_nothing_but_time(kind, settings, tmp_path) -> None:
    surroundings = environment(tmp_path / "cache")
    rng = np.random.default_rng(0)
    folder = tmp_path / "killed"
    iterations = []
    for _ in range(20):
        words = command(folder, "--save-minutes", "0.003", "--minutes", "1000", "--log-seconds", "0", of=settings)
        process = subprocess.Popen(words, env=surroundings)
        wait_for_more(folder, iterations)
        time.sleep(float(rng.uniform(0, 1)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        iterations.append(_iteration(folder))
    assert iterations == sorted(iterations)
    assert iterations[-1] > iterations[0]
    # One more sitting that ends by itself, then the same number of iterations without a break.
    subprocess.run(command(folder, "--minutes", "0", of=settings), env=surroundings, check=True)
    check_folder(folder, iterations[-1])
    algorithm = kind(settings, mesh_of(1))
    state = algorithm.start()
    for _ in range(iterations[-1]):
        state, _ = algorithm.iterate(state)
    resumed, _ = storage.load_state(folder / STATE, state)
    jax.tree.map(np.testing.assert_array_equal, resumed, jax.tree.map(np.asarray, state))


def test_thirty_kills_of_a_light_run_lose_nothing(tmp_path) -> None:
    """Kills that fall into saves, metrics and evaluations, since nothing else takes time in such a run."""
    program = (
        "import pathlib, sys; sys.path[:0] = ['tests']; import counting_run; counting_run.sitting(pathlib.Path("
        "sys.argv[1]), counting_run.Counting(), minutes=float(sys.argv[2]), save_minutes=1e-9, evaluate_minutes=1e-4)"
    )
    folder, rng, reached = tmp_path / "run", np.random.default_rng(3), 0
    words = [sys.executable, "-c", program, str(folder)]
    for _ in range(30):
        process = subprocess.Popen([*words, "1000"])
        deadline = time.monotonic() + 300
        while not ((folder / STATE).is_file() and _counted(folder) > reached):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(float(rng.uniform(0, 0.5)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert _counted(folder) > reached
        reached = _counted(folder)
    subprocess.run([*words, "0"], check=True)
    lines = [(line["kind"], line["iteration"]) for line in metrics.read(folder)]
    assert [number for kind, number in lines if kind == "train"] == list(range(1, _counted(folder) + 1))
    evaluated = [number for kind, number in lines if kind == "evaluation"]
    assert evaluated == sorted(set(evaluated))
    assert len(evaluated) > 10
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    algorithm, state = Counting(), Counting().start()
    for _ in range(_counted(folder)):
        state, _ = algorithm.iterate(state)
    resumed, _ = storage.load_state(folder / STATE, state)
    jax.tree.map(np.testing.assert_array_equal, resumed, state)


def _counted(folder) -> int:
    return int(read_tensors(folder / STATE)[0]["['n']"])


def wait_for_more(folder, iterations: list[int]) -> None:
    """Until the folder's state is newer than those."""
    deadline = time.monotonic() + 600
    while not ((folder / STATE).is_file() and _iteration(folder) > (iterations[-1] if iterations else 0)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def check_folder(folder, iteration: int) -> None:
    """No line twice, none missing, none later than the state; no temporary."""
    told: list[str] = []
    lines = [line["iteration"] for line in metrics.read(folder, told.append)]
    assert lines == list(range(1, iteration + 1))
    assert told == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def _iteration(folder) -> int:
    return int(read_tensors(folder / STATE)[0][".iteration"])


def environment(cache, **more: str) -> dict[str, str]:
    """One device a process, and compiled programs kept between them."""
    kept = {"JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    return dict(os.environ, XLA_FLAGS="", **kept, **more)


def two(folder, cache, *more: str, of=TINY) -> list[subprocess.Popen]:
    """Two processes of one run."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    joined = ["--distributed", "--coordinator", f"127.0.0.1:{port}", "--processes", "2"]
    return [
        subprocess.Popen(
            command(folder, *more, *joined, "--process", str(number), of=of),
            env=environment(cache / str(number)),
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@KINDS
def test_two_processes_agree_with_one(kind, settings, tmp_path, cache) -> None:
    del kind
    more = ["--log-seconds", "0", "--iterations", "5", "--evaluate-minutes", "0"]
    both = two(tmp_path / "two", cache, *more, of=settings)
    assert [process.wait(timeout=600) for process in both] == [0, 0]
    words = command(tmp_path / "one", *more, of=settings)
    subprocess.run(words, env=environment(cache / "0"), check=True, timeout=600)
    one, together = (metrics.read(tmp_path / name) for name in ("one", "two"))
    assert len(one) == 5
    compared = one[0].keys() - {"play_over_network", "seconds", "positions_per_second"}
    assert {"games", "policy_entropy", "policy_loss", "value_loss", "gradient_norm"} <= compared
    for first, second in zip(one, together, strict=True):
        for name in compared:
            assert second[name] == pytest.approx(first[name], rel=2e-3, abs=1e-4), name


@pytest.mark.parametrize("number", [0, 1])
def test_a_signal_to_one_process_saves_and_ends_both(number: int, tmp_path, cache) -> None:
    both = two(tmp_path / "run", cache, "--minutes", "1000", "--save-minutes", "0.003")
    wait_for_more(tmp_path / "run", [])
    both[number].send_signal(signal.SIGTERM)
    assert [process.wait(timeout=60) for process in both] == [143, 143]


@KINDS
def test_kills_of_either_process_end_both_and_lose_nothing(kind, settings, tmp_path, cache) -> None:
    del kind
    folder, iterations = tmp_path / "run", []
    more = ["--minutes", "1000", "--save-minutes", "0.003", "--log-seconds", "0"]
    rng = np.random.default_rng(1)
    for kill in range(6):
        both = two(folder, cache, *more, of=settings)
        wait_for_more(folder, iterations)
        time.sleep(float(rng.uniform(0, 1)))
        both[kill % 2].send_signal(signal.SIGKILL)
        began = time.monotonic()
        other = both[1 - kill % 2]
        error = other.communicate(timeout=60)[1]
        assert other.returncode == 1
        assert time.monotonic() - began < 20
        assert error.splitlines()[-1].startswith(f"audamir: error: process {kill % 2} was lost; the run's folder holds")
        assert "Traceback" not in error
        iterations.append(_iteration(folder))
    assert iterations == sorted(set(iterations))
    for process in two(folder, cache, "--minutes", "0", of=settings):
        assert process.wait(timeout=300) == 0
    check_folder(folder, iterations[-1])


def test_a_locked_folder_ends_both_with_the_same_line(tmp_path, cache) -> None:
    with storage.alone(tmp_path / "run"):
        both = two(tmp_path / "run", cache, "--minutes", "1000")
        began = time.monotonic()
        errors = [process.communicate(timeout=300)[1] for process in both]
        assert time.monotonic() - began < 120
    assert [process.returncode for process in both] == [2, 2]
    assert all("another process trains in" in error for error in errors)
    assert all("Traceback" not in error for error in errors)


def test_kills_of_an_export_leave_nothing_that_the_next_refuses(tmp_path, cache) -> None:
    folder, target = tmp_path / "run", tmp_path / "level"
    surroundings = environment(cache / "0")
    subprocess.run(command(folder, "--iterations", "4", "--evaluate-minutes", "0"), env=surroundings, check=True)
    export = [sys.executable, "-m", "audamir_training", "export", str(folder), str(target)]
    began = time.monotonic()
    subprocess.run([*export, "--last"], env=surroundings, check=True)
    whole = time.monotonic() - began
    rng = np.random.default_rng(2)
    for _ in range(10):
        process = subprocess.Popen([*export, "--last"], env=surroundings, stderr=subprocess.PIPE)
        time.sleep(float(rng.uniform(0.5, 1.1)) * whole)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    subprocess.run([*export, "--last"], env=surroundings, check=True)
    assert sorted(path.name for path in target.iterdir()) == ["card.md", "zero.safetensors"]
