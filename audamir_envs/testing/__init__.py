"""For tests of games: a game registered for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from audamir_envs.bridges.registration import register, unregister


@contextlib.contextmanager
def registered(env_id: str, game: Any) -> Iterator[None]:
    """The game is known inside the block; see ``audamir_envs.register``. Raises: ValueError."""
    register(env_id, game)
    try:
        yield
    finally:
        unregister(env_id)
