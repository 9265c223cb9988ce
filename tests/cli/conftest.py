import pytest

from audamir_envs.testing import registered


@pytest.fixture(autouse=True)
def _tally():
    with registered("tally-v0", "tally"):
        yield


@pytest.fixture
def audamir(capsys):
    """Runs a command line in this process: exit code, stdout, stderr."""
    from audamir_envs.cli import main

    def run(*words):
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
