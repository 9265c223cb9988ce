"""Programs are timed in balanced turns, and ratios are taken within a repetition."""

from audamir_envs.benchmark import timing


def test_every_program_runs_warm_and_in_balanced_order():
    calls = []
    programs = {name: (lambda name=name: calls.append(name), 10) for name in "abc"}
    timings = timing.time_in_turns(programs, 8)
    turns = ["".join(calls[first : first + 3]) for first in range(0, len(calls), 3)]
    assert turns[0] == "abc"
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(turns) == 9
    assert len(set(turns[1:])) > 2
    assert all(len(t.seconds) == 8 and t.units == 10 for t in timings.values())


def test_rate_spread_and_ratio():
    slow = timing.Timing((2.0, 4.0, 8.0), units=8)
    fast = timing.Timing((1.0, 1.0, 1.0), units=8)
    assert slow.rate == 2.0
    assert slow.spread == (1.0, 4.0)
    assert timing.ratio(fast, slow) == 4.0
