import pytest

from audamir_envs import registry


@pytest.fixture(autouse=True)
def _tally(monkeypatch):
    monkeypatch.setitem(registry.GAMES, "tally-v0", "tally")
    monkeypatch.setitem(registry.GAMES, "dice-v0", "tally")
