import pytest

from audamir_envs import registry


@pytest.fixture(autouse=True, scope="module")
def _tally():
    with pytest.MonkeyPatch.context() as monkeypatch:
        for env_id in ("tally-v0", "dice-v0"):
            monkeypatch.setitem(registry.GAMES, env_id, "tally")
        yield
