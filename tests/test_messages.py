"""What is quoted of other people's input."""

import numpy as np
import pytest

from audamir_envs.messages import quoted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("short", "'short'"),
        ("x" * 80, repr("x" * 80)),
        ("x" * 81, "'" + "x" * 80 + "…' (81 characters)"),
        ("it's" * 10_000, '"' + "it's" * 20 + '…" (40,000 characters)'),
        (b"x" * 1000, "b'" + "x" * 80 + "…' (1,000 bytes)"),
        (3, "3"),
        (None, "None"),
        (list(range(1000)), repr(list(range(1000)))[:80] + "… (1,000 entries)"),
    ],
)
def test_it_is_cut(value, text):
    assert quoted(value) == text


def test_it_is_short_whatever_comes():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    for value in (Broken(), 10**5000, np.zeros(10**6), "\udcff" * 1000, "\0" * 1000):
        assert len(quoted(value)) < 900
        assert "\n" not in quoted(np.zeros(3))
