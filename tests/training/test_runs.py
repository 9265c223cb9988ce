"""Runs: saving, resuming, refusing, stopping."""

import dataclasses
import errno
import json
import os
import signal
import time

import jax
import numpy as np
import pytest
from audamir_training import metrics, storage
from audamir_training.display import Display, figure
from audamir_training.runs import BEST, LEARNER, STATE, Run, mean
from audamir_training.settings import RunSettings
from counting_run import Counting, sitting
from tiny_run import TINY

from audamir_envs.learned.tensors import CheckpointError


def test_a_run_ends_with_its_minutes_and_says_so(tmp_path) -> None:
    _, code = sitting(tmp_path, Counting(), evaluate_minutes=1e-9, iterations=5)
    assert code == 0
    facts = storage.read_facts(tmp_path / STATE)
    assert facts["algorithm"] == "alphazero"
    assert facts["settings"] == dataclasses.asdict(TINY)
    assert facts["progress"]["best_score"] == 0.75
    lines = metrics.read(tmp_path)
    assert [line["iteration"] for line in lines if line["kind"] == "train"] == [1, 2, 3, 4, 5]
    assert lines[-1]["kind"] == "evaluation"
    assert lines[-1]["score"] == 0.75
    best = json.loads((tmp_path / BEST).read_text())
    assert best["budget"]["positions"] > 0
    assert best["results"][0]["opponent"] == "random"


def test_a_signal_saves_and_the_next_sitting_goes_on_as_if_nothing_had_been(tmp_path) -> None:
    _, code = sitting(tmp_path / "a", Counting(interrupt_at=3))
    assert code == 128 + signal.SIGTERM
    sitting(tmp_path / "a", Counting(), iterations=6)
    sitting(tmp_path / "b", Counting(), iterations=6)
    like = Counting().start()
    (first, _), (second, _) = (storage.load_state(tmp_path / name / STATE, like) for name in "ab")
    jax.tree.map(np.testing.assert_array_equal, first, second)
    iterations = [line["iteration"] for line in metrics.read(tmp_path / "a")]
    assert iterations == sorted(set(iterations))


def test_a_run_starts_from_the_learner_of_another(tmp_path) -> None:
    sitting(tmp_path / "a", Counting(), iterations=4)
    sitting(tmp_path / "b", Counting(), origin=tmp_path / "a" / LEARNER, iterations=6)
    sitting(tmp_path / "c", Counting(), iterations=6)
    like = Counting().start()
    (first, _), (second, _) = (storage.load_state(tmp_path / name / STATE, like) for name in "bc")
    jax.tree.map(np.testing.assert_array_equal, first, second)


def test_a_learner_that_was_trained_for_longer_than_the_minutes_is_refused(tmp_path) -> None:
    sitting(tmp_path / "a", Counting(), iterations=4)
    facts = storage.read_facts(tmp_path / "a" / LEARNER)
    facts["progress"]["seconds"] = 600.0
    learner = tmp_path / LEARNER
    storage.save_state(learner, Counting().start(), facts)
    with pytest.raises(ValueError, match=r"minutes=10 are over: .* was trained for 10\.0 already"):
        sitting(tmp_path / "b", Counting(), origin=learner, minutes=10.0)
    sitting(tmp_path / "b", Counting(), origin=learner, minutes=10.1, iterations=5)
    assert (tmp_path / "b" / STATE).is_file()


def test_a_run_that_is_over_says_so(tmp_path, capsys) -> None:
    for _ in range(2):
        settings = RunSettings(minutes=1.0, iterations=2, evaluate_minutes=0.0)
        Run(Counting(), settings, tmp_path, Display("test", 1.0), {"env": "x"}).go()
    assert capsys.readouterr().out.count("nothing was left to train") == 1


def test_lines_after_the_last_save_are_written_anew(tmp_path) -> None:
    sitting(tmp_path, Counting(), iterations=3)
    with (tmp_path / metrics.FILE).open("a") as file:
        file.write(json.dumps({"kind": "train", "iteration": 4, "loss": 9.0, "positions": 40}) + "\n" + '{"kind": "tr')
    sitting(tmp_path, Counting(), iterations=5)
    lines = metrics.read(tmp_path)
    assert [line["iteration"] for line in lines] == [1, 2, 3, 4, 5]
    assert lines[3]["loss"] == pytest.approx(0.25)


def test_minutes_count_all_sittings(tmp_path) -> None:
    run, _ = sitting(tmp_path, Counting(interrupt_at=2))
    run.progress.seconds = 59.9
    run._clock = time.monotonic()
    run._save(Counting().start())
    _, code = sitting(tmp_path, Counting(), minutes=1.0)
    assert code == 0
    assert 60 <= storage.read_facts(tmp_path / STATE)["progress"]["seconds"] < 70


@pytest.mark.skipif(storage.fcntl is None, reason="this system has no locks of that kind")
def test_two_processes_cannot_train_in_one_folder(tmp_path) -> None:
    sitting(tmp_path, Counting(), iterations=2)
    before = (tmp_path / STATE).read_bytes()
    with (
        storage.alone(tmp_path),
        pytest.raises(ValueError, match=r"another process trains in .*, or use another --out"),
    ):
        sitting(tmp_path, Counting(), iterations=5)
    assert (tmp_path / STATE).read_bytes() == before
    assert [line["iteration"] for line in metrics.read(tmp_path)] == [1, 2]
    sitting(tmp_path, Counting(), iterations=3)  # it is free again
    assert (tmp_path / STATE).read_bytes() != before


def test_a_damaged_state_is_an_error_and_stays(tmp_path) -> None:
    sitting(tmp_path, Counting(), iterations=3)
    whole = (tmp_path / STATE).read_bytes()
    for broken in (whole[:-5], whole[:-1] + bytes([whole[-1] ^ 1]), b"", b"nonsense" * 50):
        (tmp_path / STATE).write_bytes(broken)
        with pytest.raises(CheckpointError, match="damaged"):
            sitting(tmp_path, Counting(), iterations=5)
        assert (tmp_path / STATE).read_bytes() == broken


def test_a_foreign_state_is_an_error_and_stays(tmp_path) -> None:
    storage.save_state(tmp_path / STATE, {"other": np.zeros(3)}, {"progress": {}})
    before = (tmp_path / STATE).read_bytes()
    with pytest.raises(CheckpointError, match="another program: it has no"):
        sitting(tmp_path, Counting())
    storage.save_state(tmp_path / STATE, {"n": np.int32(0), "weights": np.zeros(4, np.float32)}, {"progress": {}})
    with pytest.raises(CheckpointError, match=r"weights.*\(4,\).*not float32 \(3,\)"):
        sitting(tmp_path, Counting())
    assert before != b""


def test_a_state_that_does_not_fit_tells_game_and_settings(tmp_path) -> None:
    sitting(tmp_path, Counting(), iterations=1)
    facts = storage.read_facts(tmp_path / STATE)
    wide = {"n": np.int32(0), "weights": np.zeros(4, np.float32)}
    storage.save_state(tmp_path / STATE, wide, facts | {"settings": facts["settings"] | {"channels": 8}})
    with pytest.raises(CheckpointError, match=r"weights.*\(4,\).*; it was made with channels 8, not 4$"):
        sitting(tmp_path, Counting())
    for state in (wide, Counting().start()):
        storage.save_state(tmp_path / STATE, state, facts | {"env": "y"})
        with pytest.raises(CheckpointError, match=r"state\.safetensors is of y, not of x"):
            sitting(tmp_path, Counting())


def test_a_full_disk_is_an_error_and_the_last_state_stays(tmp_path, monkeypatch) -> None:
    sitting(tmp_path, Counting(), iterations=3)
    before = (tmp_path / STATE).read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot go on in .*No space left on device; the last saved state is whole"):
        sitting(tmp_path, Counting(), iterations=5)
    monkeypatch.undo()
    assert (tmp_path / STATE).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    sitting(tmp_path, Counting(), iterations=5)


def test_a_finished_run_is_not_evaluated_again(tmp_path) -> None:
    for _ in range(3):
        sitting(tmp_path, Counting(), evaluate_minutes=1e6, iterations=3)
    lines = [line for line in metrics.read(tmp_path) if line["kind"] == "evaluation"]
    assert [line["iteration"] for line in lines] == [3]


def test_an_evaluation_before_a_kill_counts_once(tmp_path, monkeypatch) -> None:
    sitting(tmp_path, Counting(), iterations=3)

    def killed(run, state):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "_save", killed)
    with pytest.raises(KeyboardInterrupt):
        sitting(tmp_path, Counting(), evaluate_minutes=1e-9, iterations=5)
    monkeypatch.undo()
    assert metrics.read(tmp_path)[-1]["kind"] == "evaluation"
    sitting(tmp_path, Counting(), evaluate_minutes=1e6, iterations=5)
    lines = [(line["kind"], line["iteration"]) for line in metrics.read(tmp_path)]
    assert lines == [*[("train", number) for number in range(1, 6)], ("evaluation", 5)]


def test_a_terminal_that_closes_saves_unless_it_is_ignored(tmp_path) -> None:
    _, code = sitting(tmp_path / "a", Counting(interrupt_at=3, number=signal.SIGHUP))
    assert code == 128 + signal.SIGHUP
    assert storage.load_state(tmp_path / "a" / STATE, Counting().start())[0]["n"] == 3
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        _, code = sitting(tmp_path / "b", Counting(interrupt_at=3, number=signal.SIGHUP), iterations=5)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert code == 0


def test_compiling_does_not_count(tmp_path) -> None:
    class Slow(Counting):
        compiled = 0.0

        def iterate(self, state):
            if not self.compiled:
                time.sleep(0.5)
                self.compiled = 0.5
            return super().iterate(state)

        def compile_seconds(self):
            return self.compiled

    sitting(tmp_path, Slow(), iterations=3)
    assert storage.read_facts(tmp_path / STATE)["progress"]["seconds"] < 0.45


def test_a_run_without_a_gradient_step_says_so(tmp_path, capsys) -> None:
    class Idle(Counting):
        def gradient_steps(self, state):
            return 0

    settings = RunSettings(minutes=1.0, iterations=2, evaluate_minutes=0.0)
    Run(Idle(), settings, tmp_path, Display("test", 1.0), {"env": "x"}).go()
    assert "no gradient step was made yet, so nothing was learned" in capsys.readouterr().out


def test_leftovers_of_killed_processes_go_at_the_next_start(tmp_path) -> None:
    names = [".audamir-0123456789ab.tmp", ".learner.safetensors.a_cdefg8", ".metrics.jsonl.abcdefgh"]
    for name in names:
        (tmp_path / name).write_text("half")
    sitting(tmp_path, Counting(), iterations=1)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_full_disk_before_the_first_save_says_that_nothing_was_saved(tmp_path, monkeypatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device; nothing was saved yet"):
        sitting(tmp_path, Counting(), iterations=5)


def test_what_was_not_measured_is_no_number() -> None:
    assert mean([float("nan"), 1.0, 3.0]) == 2.0
    assert mean([float("nan")]) is None
    assert figure(None, ".2f") == "-"
    assert figure(0.5, ".2f") == "0.50"
