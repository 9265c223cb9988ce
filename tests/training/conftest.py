"""One tiny program of AlphaZero for all tests here, since compiling it takes longer than running it."""

import pytest
from audamir_training.alphazero import AlphaZero
from tiny_run import TINY, mesh_of


@pytest.fixture(scope="session")
def tiny() -> AlphaZero:
    return AlphaZero(TINY, mesh_of(1))
