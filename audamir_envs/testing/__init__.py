"""For tests of games, of this package's and of others': what holds of every game, and a game registered for a while.

In a module of tests, with the options under which the game is to be tried::

    from audamir_envs.testing import bridges, functional

    CASES = [("copse-v0", {"side": side}) for side in (2, 3, 4)]

    class TestFunctional(functional.Functional):
        cases = CASES

    class TestKeys(functional.Keys):
        cases = CASES[:1]

    class TestPettingZoo(bridges.PettingZoo):
        cases = CASES[:1]

    class TestGymnasium(bridges.Gymnasium):
        cases = CASES[:1]

``audamir_training.testing.Learned`` checks what the game says about learning, and learns it for two iterations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from audamir_envs.bridges.registration import register, unregister

with contextlib.suppress(ImportError):  # a failed assertion of these modules then shows its values
    import pytest

    pytest.register_assert_rewrite("audamir_envs.testing.bridges", "audamir_envs.testing.functional")


@contextlib.contextmanager
def registered(env_id: str, game: Any) -> Iterator[None]:
    """The game is known inside the block; see ``audamir_envs.register``. Raises: ValueError."""
    register(env_id, game)
    try:
        yield
    finally:
        unregister(env_id)
