"""Files of a run with one byte changed, or cut short: what is read is what was written, or one line names the file.

The random seed is another one each time, and printed; AUDAMIR_FUZZ_SEED repeats a run.
"""

import contextlib
import io
import os
import secrets

import numpy as np
import pytest
from audamir_training import algorithms, metrics, storage
from audamir_training.runs import LEARNER, STATE, Progress
from counting_run import Counting, sitting
from tiny_run import TINY

from audamir_envs.learned.tensors import CheckpointError

FEW, ALL = (60, 20), (1000, 200)  # single bytes changed, and truncations
counts = pytest.mark.parametrize("count", [FEW, pytest.param(ALL, marks=pytest.mark.slow)], ids=["few", "all"])


def damaged(content: bytes, count: tuple[int, int], also: int = 0):
    """Copies of a file's content, each damaged once. Args: also: the first bytes get as many changes once more."""
    seed = int(os.environ.get("AUDAMIR_FUZZ_SEED", secrets.randbits(32)))
    print(f"AUDAMIR_FUZZ_SEED={seed}")
    rng = np.random.default_rng(seed)
    changes, cuts = count
    places = list(rng.integers(0, len(content), changes)) + (list(rng.integers(0, also, changes)) if also else [])
    for place in places:
        yield content[:place] + bytes([content[place] ^ int(rng.integers(1, 256))]) + content[place + 1 :]
    for length in rng.integers(0, len(content), cuts):
        yield content[:length]


def everything(path):
    """What a run or an export takes from a state's file."""
    state, facts = storage.load_state(path, Counting().start())
    assert facts.get("env") == "x"
    settings = storage.settings_of(path, facts)
    return state, facts, settings, storage.read_fields(path, Progress, facts.get("progress"))


def tried(path):
    """(everything, "") or (None, the one line that refuses the file)."""
    try:
        return everything(path), ""
    except CheckpointError as error:
        return None, str(error)


@counts
@pytest.mark.parametrize("name", [STATE, LEARNER])
def test_a_damaged_state_is_told(tmp_path, name: str, count: tuple[int, int]) -> None:
    sitting(tmp_path, Counting(), iterations=3)
    path = tmp_path / name
    whole = path.read_bytes()
    right = everything(path)
    refused = 0
    for content in damaged(whole, count, also=int.from_bytes(whole[:8], "little")):
        path.write_bytes(content)
        found, complaint = tried(path)
        if found is None:
            refused += 1
            assert str(path) in complaint
            assert "\n" not in complaint
        else:
            np.testing.assert_equal(found[0], right[0])
            assert found[1:] == right[1:]
    assert refused > sum(count) / 2


@counts
def test_a_damaged_line_of_metrics_is_told_and_no_other_is_lost(tmp_path, count: tuple[int, int]) -> None:
    sitting(tmp_path, Counting(), iterations=8, evaluate_minutes=1e-9)
    path = tmp_path / metrics.FILE
    whole = path.read_bytes()
    right = metrics.read(tmp_path)
    assert len(right) > 8
    for content in damaged(whole, count):
        path.write_bytes(content)
        told: list[str] = []
        found = metrics.read(tmp_path, told.append)
        assert all(line in right for line in found)
        assert len(right) - len(found) <= 2 or len(content) < len(whole)  # a line's end joins two
        if found != right:
            # Cut at the end of a line it is a file as it once was.
            cut = whole.startswith(content) and b"\n" in (
                b"\n" * (not content),
                content[-1:],
                whole[len(content) :][:1],
            )
            assert cut or (str(path) in told[0] and len(told) == 1)


def test_lines_that_are_gone_are_told_when_a_run_goes_on(tmp_path) -> None:
    sitting(tmp_path, Counting(), iterations=4)
    path = tmp_path / metrics.FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    with contextlib.redirect_stderr(io.StringIO()) as said:
        sitting(tmp_path, Counting(), iterations=5)
    assert f"{path} has lost 2 of 4 lines" in said.getvalue().replace("\n", " ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": 3}, "algorithm '3' is not known"),
        ({"settings": []}, r"settings \[\] are no JSON object"),
        ({"settings": {"env": "x", "colour": 1}}, "setting 'colour' is not known to AlphaZero"),
        ({"settings": {"env": 1}}, "env=1 is no text"),
        ({"settings": {"lanes": -1}}, "lanes=-1 is not valid"),
        ({"settings": {"lanes": "8"}}, "lanes=8 is not valid"),
        ({"progress": []}, "it has progress"),
        ({"progress": {"seconds": "1"}}, "its seconds is '1'"),
        ({"progress": {"lines": 1.5}}, "its lines is 1.5"),
        ({"progress": {"best_iteration": -7}}, "its best_iteration is -7"),
    ],
)
def test_facts_that_no_run_wrote_are_refused_by_name(tmp_path, change: dict, message: str) -> None:
    path = tmp_path / STATE
    storage.save_state(
        path, Counting().start(), {"env": "x", "algorithm": "alphazero", "settings": {}, "progress": {}} | change
    )
    with pytest.raises(CheckpointError, match=message) as told:
        everything(path)
    assert str(path) in str(told.value)


def test_settings_are_read_as_they_were_written() -> None:
    import dataclasses

    values = dataclasses.asdict(TINY)
    assert algorithms.read_settings("alphazero", values) == TINY
    del values["pool_share"], values["fork_share"]  # a state of an older version
    assert algorithms.read_settings("alphazero", values) == TINY
