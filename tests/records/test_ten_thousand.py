"""10,000 games of all three games and all numbers of players: written with one batch, verified with another.

The files of the folder named by AUDAMIR_RECORDS, if there is one, are verified instead of new ones: so what one version
of JAX has written is read by another.
"""

import os
import pathlib

import pytest

import audamir_envs
from audamir_envs import arena, records

CASES = {
    "colony": ("colony-v0", {"starter": "random", "max_turns": 60}, 2500),
    "stigmergy": ("stigmergy-v0", {"side": 3, "komi": "choose"}, 2500),
} | {
    f"principalities{players}": ("principalities-v0", {"players": players, "tiles": 12, "max_rounds": 12}, 715)
    for players in range(2, 9)
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_game_replays_without_a_difference(case, tmp_path):
    env_id, options, games = CASES[case]
    folder = os.environ.get("AUDAMIR_RECORDS")
    path = pathlib.Path(folder or tmp_path) / f"{case}.jsonl"
    if not path.exists():
        arena.evaluate(audamir_envs.make(env_id, **options), ["random", "random"], games, record=path, opening_plies=1)
    record = records.read(path)
    assert record.complete
    assert len(record.games) == games
    assert list(records.verify(record.games, batch=96)) == []
