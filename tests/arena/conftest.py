import pytest
from tally.environment import Dice

from audamir_envs.testing import registered


@pytest.fixture(autouse=True, scope="module")
def _tally():
    with registered("tally-v0", "tally"), registered("dice-v0", Dice):
        yield
