"""What holds of every game that can be learned, on ours."""

import pytest
from audamir_training.testing import Learned
from conformance.cases import LEARNED

import audamir_envs
from audamir_envs import registry


class TestLearned(Learned):
    cases = LEARNED

    @pytest.mark.slow  # each compiles a whole trainer; tests/training runs both kinds of them every time
    def test_two_iterations(self, case, tmp_path):
        super().test_two_iterations(case, tmp_path)


def test_every_game_that_can_be_learned_is():
    assert [env_id for env_id, _ in LEARNED] == [env_id for env_id in audamir_envs.ids() if registry.learning(env_id)]
