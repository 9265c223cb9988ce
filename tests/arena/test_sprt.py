"""The sequential test of a match."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from tally.environment import Tally
from tally.scripted import High, Low

import audamir_envs
from audamir_envs import arena
from audamir_envs.arena.sprt import SCORES, expected
from audamir_envs.cli import main

TEXTS = (".../..../...../..../... x 4 0 0", ".../..../..x../..../... o 4 0 0", ".../..../o.x../..../... x 4 0 1")


def likeliest(counts, mean):
    """The log likelihood of the likeliest chances of 0, 1/2 and 1 with a mean: the chance of 1 says the others."""
    lost, _, even, _, won = counts

    def cost(two):
        return -won * math.log(two) - even * math.log(2 * (mean - two)) - lost * math.log(1 + two - 2 * mean)

    return -minimize_scalar(cost, bounds=(max(0, 2 * mean - 1), mean), method="bounded", options={"xatol": 1e-12}).fun


@pytest.mark.parametrize("counts", [[3, 0, 40, 0, 6], [1, 0, 5, 0, 2], [20, 0, 3, 0, 2], [100, 0, 100, 0, 130]])
@pytest.mark.parametrize("elos", [(0, 10), (-5, 30), (50, 200)])
def test_the_ratio_is_that_of_the_likeliest_chances(counts, elos):
    wanted = likeliest(counts, expected(elos[1])) - likeliest(counts, expected(elos[0]))
    assert arena.Sprt(*elos).llr(counts) == pytest.approx(wanted, abs=0.01)


def test_wins_and_losses_alone_give_the_ratio_of_two_chances():
    # Pairs of two wins or two losses alone: the only chances with that mean are the mean itself.
    wins, losses = 30, 12
    zero, one = expected(0), expected(40)
    wanted = wins * math.log(one / zero) + losses * math.log((1 - one) / (1 - zero))
    assert arena.Sprt(0, 40).llr([losses, 0, 0, 0, wins]) == pytest.approx(wanted, abs=0.02)


def test_it_is_fair():
    counts = np.random.default_rng(0).integers(0, 50, (20, 5))
    there, back = arena.Sprt(-3, 12).llr(counts), arena.Sprt(-12, 3).llr(counts[:, ::-1])
    np.testing.assert_allclose(there, -back, atol=1e-9)
    assert arena.Sprt(0, 1).llr([0] * 5) == 0


def test_errors_are_as_rare_as_it_says():
    test, matches, rng = arena.Sprt(0, 60), 400, np.random.default_rng(1)
    for elo in (0, 60):
        lower, upper = test.bounds
        # Two games of one opening: they share luck, so that pairs vary less than independent games.
        chances = np.array([0.08, 0.17, 0.5, 0.17, 0.08])
        for _ in range(200):  # tilted to the mean
            chances *= np.exp((expected(elo) - chances @ SCORES) * SCORES)
            chances /= chances.sum()
        counts, accepted = np.zeros((matches, 5), int), np.zeros(matches, int)
        for _ in range(600):
            going = accepted == 0
            if not going.any():
                break
            counts[going] += np.eye(5, dtype=int)[rng.choice(5, going.sum(), p=chances)]
            ratio = test.llr(counts[going])
            accepted[going] = (ratio >= upper) * 1 - (ratio <= lower) * 1
        assert (accepted != 0).mean() > 0.99
        wrong = (accepted == (1 if elo == 0 else -1)).mean()
        assert wrong < 0.05 + 3 * math.sqrt(0.05 * 0.95 / matches)


def test_a_match_ends_when_it_is_decided_whatever_is_played_at_once():
    test = arena.Sprt(0, 100)
    found = [arena.evaluate(Tally(), ["strong", "weak"], 400, sprt=test, batch=batch) for batch in (6, 64)]
    whole = arena.evaluate(Tally(), ["strong", "weak"], 400, mirrored=True, batch=64)
    assert found[0].sprt == found[1].sprt
    assert found[0].sprt["accepted"] == "elo1"
    assert sum(found[0].sprt["pairs"].values()) * 2 == found[0].games == found[1].games < 400
    np.testing.assert_array_equal(found[0].records.shares, whole.records.shares[: found[0].games])
    assert whole.sprt is None


def test_one_pair_over_and_over_is_one_observation():
    test = arena.Sprt(0, 100)
    alike = arena.evaluate(Tally(), [High(), Low()], 1000, sprt=test, openings="none", batch=64)
    assert alike.sprt["accepted"] is None
    assert alike.games == 200  # it ends when nothing new will come
    assert alike.sprt["pairs"]["1.0"] == 100
    assert alike.sprt["llr"] == pytest.approx(float(test.llr([0, 0, 0, 0, 1])), abs=1e-4)
    assert alike.repeated == 198
    opened = arena.evaluate(Tally(), [High(), Low()], 1000, sprt=test, batch=64)
    assert opened.settings["openings"] == "random:2"
    assert opened.sprt["accepted"] == "elo1"


def test_one_pair_for_each_seat_that_begins_is_as_many_observations():
    env = Tally(starter="random")
    alike = arena.evaluate(env, [High(), Low()], 1000, sprt=arena.Sprt(0, 400), openings="none", batch=64)
    assert alike.sprt["accepted"] is None
    assert alike.games == 200
    assert alike.repeated == 196  # whoever sits where and begins: four games
    assert alike.sprt["llr"] == pytest.approx(float(arena.Sprt(0, 400).llr([0, 0, 0, 0, 2])), abs=1e-4)


def test_each_opening_of_a_book_is_played_once():
    env = audamir_envs.make("stigmergy-v0", side=3, komi=4)
    book = arena.Book(env, tuple(arena.Opening(text, 0.0, None) for text in TEXTS), {})
    found = arena.evaluate(env, ["random", "random"], 1000, sprt=arena.Sprt(0, 1), openings=book, batch=6)
    assert found.games == 6
    assert sorted(found.records.places.tolist()) == [0, 0, 1, 1, 2, 2]
    assert found.sprt["accepted"] is None


def test_what_it_refuses():
    for elos in ((10, 0), (0, 0), (math.nan, 1), (0, 5000)):
        with pytest.raises(ValueError, match="ELO0 < ELO1, both from -2000 to 2000"):
            arena.Sprt(*elos)
    with pytest.raises(ValueError, match=r"alpha must lie between 0 and 0\.5"):
        arena.Sprt(0, 1, alpha=0.7)
    with pytest.raises(ValueError, match="pairs of games, not 2 and 7 games"):
        arena.evaluate(Tally(), ["weak", "weak"], 7, sprt=arena.Sprt(0, 1))
    with pytest.raises(ValueError, match="two players and pairs of games, not 3 and 6 games"):
        arena.evaluate(Tally(players=3), ["weak", "weak"], 6, sprt=arena.Sprt(0, 1))


def test_the_command(tmp_path, capsys):
    path = tmp_path / "out.json"
    words = ["evaluate", "stigmergy-v0", "weak", "random", "-o", "side=2", "--sprt", "-300", "-100", "--batch", "16"]
    assert main([*words, "--json", str(path)]) == 0
    told = capsys.readouterr().out
    found = json.loads(path.read_text())
    assert found["sprt"]["accepted"] == "elo1"
    assert "SPRT -300 against -100 Elo: LLR" in told
    assert f"-100 is accepted after {found['games']} games" in told
    assert found["settings"]["sprt"] == {"elo0": -300.0, "elo1": -100.0, "alpha": 0.05, "beta": 0.05}
    assert main([*words, "--games", "2"]) == 0
    assert "not decided by 2 games" in capsys.readouterr().out
    assert main(["evaluate", "stigmergy-v0", "weak", "random", "--sprt", "5", "1"]) == 2
    assert "a sequential test needs ELO0 < ELO1" in capsys.readouterr().err
