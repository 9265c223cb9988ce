import pytest

from audamir_envs import registry


@pytest.fixture(autouse=True)
def _tally(monkeypatch):
    monkeypatch.setitem(registry.GAMES, "tally-v0", "tally")


@pytest.fixture
def audamir(capsys):
    """Runs a command line in this process: exit code, stdout, stderr."""
    from audamir_envs.cli import main

    def run(*words):
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
