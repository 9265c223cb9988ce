"""The program behind docs/stigmergy-findings.md, with a level that has learned nothing, on the board of side 2."""

import importlib
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from stigmergy import plain

import audamir_envs
from audamir_envs.agents import BatchAgent
from audamir_envs.agents.base import RandomAgent
from audamir_envs.hexboard import hexboard
from audamir_envs.learned.checkpoints import load_agent, save_level
from audamir_envs.learned.networks import HexConfig, init_parameters, make_network
from audamir_envs.stigmergy.solver import Stones, regret

DOCS = Path(__file__).resolve().parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
FULL = (1 << 7) - 1
WON = (  # at komi 6: by the centre alone; over already; over but for a stone that changes nothing
    Stones(0, 0, True, False),
    Stones(FULL, 0, True, False),
    Stones(FULL >> 1, 0, True, False),
)


@pytest.fixture(scope="module")
def findings():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(DOCS), *sys.path])
        yield importlib.import_module("stigmergy_findings")


@pytest.fixture(scope="module")
def level(tmp_path_factory):
    env = audamir_envs.make("stigmergy-v0", side=2)
    config = HexConfig(16, 1, tuple(range(16)), (0.5,) * 16, 4, 1)
    parameters = init_parameters(make_network(config), env.observation_shape, env.num_actions, jax.random.key(0))
    path = tmp_path_factory.mktemp("level") / "tiny.safetensors"
    save_level(path, env, config, parameters)
    return str(path)


@pytest.fixture(scope="module")
def searcher(findings, level):
    return findings.measure.Searcher(load_agent("stigmergy-v0", level, simulations=2))


@pytest.fixture(scope="module")
def first(findings, searcher):
    exact = plain.table(2).first_moves()
    return {"side": 2, "komi": 6, "simulations": 2} | findings.measure.first_entry(searcher, 2, 6, exact)


@pytest.fixture(scope="module")
def game(findings, searcher):
    return {"side": 2, "komi": 6, "simulations": 2} | findings.measure.game_entry(searcher, 2, 6)


class Plays(BatchAgent):
    """The legal action of the lowest number, but a favourite where that is legal."""

    name = "plays"

    def __init__(self, favourite=0):
        self.favourite = favourite

    def act(self, state, key):
        legal = state.legal_action_mask
        return jnp.where(legal[self.favourite], self.favourite, jnp.argmax(legal)).astype(jnp.int32)


def test_regret_of_a_perfect_and_of_a_bad_player(findings):
    table = plain.table(2)
    perfect = findings.measure.regret_entry(Plays(favourite=3), WON, table, 6)
    assert (perfect["positions"], perfect["kept"], perfect["dropped"], perfect["most_dropped"]) == (3, 3, 0, 0)
    # The bad one begins in a corner: 7 points are won at best, 7 are lost.
    bad = findings.measure.regret_entry(Plays(), WON, table, 6)
    assert (bad["positions"], bad["kept"], bad["can_be_lost"]) == (3, 2, 1)
    assert (bad["dropped"], bad["most_dropped"]) == (pytest.approx(14 / 3, abs=1e-4), 14)
    opening, middle, end = (bad["phases"][name] for name in ("opening", "middle", "end"))
    assert (opening["positions"], opening["kept"], opening["dropped"]) == (2, 1, 7)
    assert (middle["positions"], middle["kept"], middle["dropped"]) == (1, 1, 0)
    assert (end["positions"], end["interval"], end["dropped"]) == (0, None, None)


def test_the_perfect_player_gives_nothing_away(findings):
    table = plain.table(2)
    player = findings.measure.perfect_player(table)
    white_to_move = Stones(1 << 3, 1, False, False)
    for positions in (WON, (white_to_move, Stones(1, 1 << 3, True, False)), (Stones(0, 1, True, True),) * 2):
        found = regret(player, 2, -6, positions, table=table, play_on=True)
        assert (found.dropped, found.decisions >= len(positions)) == ((0,) * len(positions), True)


def test_the_limit_is_that_of_the_openings(findings):
    # On side 2 the centre wins by 7 and any other first move loses by 7: two random plies decide most games.
    player = findings.measure.perfect_player(plain.table(2))
    found = findings.measure.limit_entry(player, RandomAgent(), 2, 0, 64)
    assert found["score"] > 0.75
    assert found["score"] == pytest.approx((found["black"] + found["white"]) / 2)
    assert 0.3 < findings.measure.limit_entry(player, player, 2, 0, 64)["score"] < 0.7


def test_only_won_positions_are_judged(findings):
    lost = Stones(0, FULL, True, False)  # and this one White wins, with White to move
    assert findings.measure.won_positions([*WON, lost, Stones(0, FULL, False, False)], plain.table(2), 6) == [
        *WON,
        Stones(0, FULL, False, False),
    ]
    with pytest.raises(ValueError, match="only 1 of 2 positions are won"):
        findings.measure.won_positions([WON[0], lost], plain.table(2), 6)


def test_komi_goes_outward_until_both_ends_are_clear(findings):
    def measured(share_of, guess, limit=20, most=12):
        values = {}
        while (komi := findings.measure.next_komi(values, guess, limit, most)) is not None:
            assert komi not in values
            values[komi] = (share_of(komi), 200)
        return list(values)

    def steps(komi):
        return {4: 0.58, 6: 0.52, 8: 0.45}.get(komi, 0.9 if komi < 4 else 0.2)

    assert measured(steps, 4) == [4, 6, 8, 10]  # 58 % of 200 is clear, 45 % is not
    assert measured(steps, 0) == [0, 2, 4, 6, 8, 10]
    assert measured(steps, 14) == [14, 12, 10, 8, 6, 4]
    assert measured(lambda komi: 1.0, 2, limit=6) == [2, 4, 6]  # Black wins at every komi
    assert len(measured(lambda komi: 0.5, 0, most=5)) == 5
    assert findings.measure.next_komi({0: (0.9, 50), 4: (0.1, 50)}, 0, 20, 12) == 2  # a gap


def test_the_crossing_of_hand_made_shares(findings):
    crossing, surely = findings.measure.crossing, findings.report.surely
    found = crossing({0: (0.9, 200), 2: (0.55, 200), 4: (0.46, 200), 6: (0.1, 200)})
    assert (found.above, found.below, found.surely_above, found.surely_below, found.nearest) == (2, 4, 0, 6, 4)
    assert (findings.report.between(found), surely(found)) == ("between 2 and 4", "above 0, below 6")
    # 0.4 before 0.56 cannot be: together they are 0.48.
    assert findings.measure.falling([(0.7, 100), (0.4, 100), (0.56, 100), (0.2, 50)]) == pytest.approx(
        [0.7, 0.48, 0.48, 0.2]
    )
    found = crossing({0: (0.7, 100), 2: (0.4, 100), 4: (0.56, 100), 6: (0.2, 50)})
    assert (found.above, found.below, found.surely_above, found.surely_below, found.nearest) == (0, 2, 0, 6, 4)
    never = crossing({4: (1.0, 100), 6: (0.9, 100)})
    assert (never.above, never.below, findings.report.between(never)) == (6, None, "above 6, not reached")
    assert surely(never) == "above 6, open"


def test_turning_points(findings):
    #          0    1    2    3     4    5    6    7: moves 0..7 change the value by
    values = [0.0, 0.1, 0.9, 0.4, 0.45, 0.5, 0.5, 0.3, -1.0]  # 0.1 0.8 0.5 0.05 0.05 0 0.2 1.3
    assert findings.measure.turning_points(values) == [1, 7]  # 2 and 6 are near a greater one, the rest is small


def test_first_moves_beside_the_exact_ones(findings, first):
    assert [len(move["cells"]) for move in first["moves"]] == [6, 1]
    assert [move["exact"] for move in first["moves"]] == [-7, 7]
    assert sum(first["policy"]) == pytest.approx(1, abs=1e-4)
    assert sum(move["policy"] for move in first["moves"]) == pytest.approx(1, abs=1e-4)
    assert all(0 <= move["chance"] <= 1 for move in first["moves"])
    assert findings.report.exact_table({"first": {"a": first}}).count("\n") == 3
    assert [len(group) for group in findings.measure.orbits(hexboard(3))] == [6, 6, 6, 1]


def test_values_are_blacks(searcher):
    env = audamir_envs.make("stigmergy-v0", side=2)
    for stone, value in (("x", 1), ("o", -1)):
        board = "/".join(stone * length for length in (2, 3, 2))
        for mover in "xo":  # after a pass, and all that is left is to pass
            found = searcher.search(env.from_text(f"{board} {mover} 0 1 0"))
            assert (found.action[0], found.value[0]) == (7, value)


def test_pictures_have_a_shape_for_each_cell(findings, first, game):
    other = first | {"komi": 0}
    pictures = findings.report.pictures({"first": {"a": first, "b": other}, "games": {"a": game}})
    names = {f"game-side2-ply{point['ply'] + 1}.svg" for point in game["turning_points"]} | {"game-side2-end.svg"}
    assert pictures.keys() == names | {"first-move-side2.svg"}
    for name, svg in pictures.items():
        root = ElementTree.fromstring(svg)
        assert len(root.findall(f"{SVG}polygon")) in ((14,) if name.startswith("first") else (7, 8))
    texts = [text.text for text in ElementTree.fromstring(pictures["first-move-side2.svg"]).iter(f"{SVG}text")]
    assert texts.count("+7") == 2
    assert texts.count("-7") == 12
    assert {texts.count(label) for label in hexboard(2).labels} == {2}


def test_the_shade_goes_from_light_to_dark(findings):
    shades = [sum(bytes.fromhex(findings.report.shade(chance)[1:])) for chance in (0.0, 0.25, 0.5, 1.0)]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 4


def test_a_game_is_recorded_as_it_was_played(game):
    env = audamir_envs.make("stigmergy-v0", side=2, komi=6)
    step = jax.jit(env.step)
    state = env.init(jax.random.key(0))
    for number, ply in enumerate(game["plies"]):
        action = env.text_to_action(ply["move"])
        assert bool(state.legal_action_mask[action])
        assert ply["other"] is None or bool(state.legal_action_mask[env.text_to_action(ply["other"])])
        assert -1 <= ply["value"] <= 1
        state = step(state, jnp.int32(action))
        assert bool(state.terminated) == (number == len(game["plies"]) - 1)
        for point in game["turning_points"]:
            assert point["ply"] != number or point["position"] == env.to_text(state)
    assert game["final"] == env.to_text(state)
    assert game["result"] == float(state.rewards[0]) == np.sign(game["black"] - game["white"] - 6)


def test_comments_stay_when_the_page_is_filled_again(findings, game):
    places = "\n\n".join(f"<!-- measured: {name} -->\n<!-- end measured -->" for name in findings.report.PLACES)
    page = f"# By hand\n\n{places}\n\nAlso by hand.\n"
    empty = findings.report.fill(page, {})
    assert empty.count(findings.report.MISSING) == len(findings.report.PLACES)
    results = {"games": {"a": game}}
    filled = findings.report.fill(empty, results)
    assert filled.startswith("# By hand")
    assert filled.endswith("Also by hand.\n")
    commented = filled.replace("*No comment yet.*", "Well played, says \\1.\n\nReally.", 1)
    assert findings.report.fill(commented, results) == commented
    with pytest.raises(ValueError, match=r"comments on games that are gone \(side2-"):
        findings.report.fill(commented, {})
    with pytest.raises(ValueError, match="it needs each of regret, "):
        findings.report.fill("# Nothing marked", {})


def test_the_page_has_every_place(findings):
    page = (DOCS / "stigmergy-findings.md").read_text(encoding="utf-8")
    assert sorted(findings.report.places(page)) == sorted(findings.report.PLACES)


@pytest.fixture
def positions(tmp_path):
    """Positions of side 2 as the file of side 3 has them."""
    path = tmp_path / "positions.jsonl"
    labels = plain.table(2).board.labels
    lines = [{"black": [c for i, c in enumerate(labels) if p.black >> i & 1], "margin": 7} for p in WON]
    lines = [p | {"black": " ".join(p["black"]), "white": "", "to_move": "black", "passed": False} for p in lines]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_work_that_is_done_is_not_done_again(findings, level, positions, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(findings, "SCRIPTED", ("random",))
    monkeypatch.setattr(findings, "MOST_KOMI", 1)
    monkeypatch.setattr(jax, "clear_caches", lambda: None)  # other tests are glad of them
    file = tmp_path / "results.json"
    of_another = {"format": findings.FORMAT, "levels": {"ffffffff": {"results": {"komi": {"side=2": {}}}}}}
    file.write_text(json.dumps(of_another))
    common = ["--level", level, "--json", str(file), "--sides", "2", "--simulations", "2"]
    runs = [["regret", *common, "--positions", str(positions)], ["komi", *common, "--games", "2", "--guess", "0"]]
    for run in runs:
        findings.run(run)
    printed = capsys.readouterr().out
    assert [f"] {name}: win kept in" in printed for name in ("zero-policy", "zero:simulations=2", "random")] == [
        True
    ] * 3
    assert "side 2, komi 0: Black" in printed
    content = json.loads(file.read_text())
    assert content["levels"].pop("ffffffff") == of_another["levels"]["ffffffff"]
    (results,) = (found["results"] for found in content["levels"].values())
    (komi,) = results["komi"].values()
    assert (komi["side"], komi["komi"], komi["games"]) == (2, 0, 2)
    assert komi["black"] in (0, 0.5, 1)
    assert [entry["positions"] for entry in results["regret"].values()] == [3] * 3

    monkeypatch.setattr(findings, "measure", None)  # whoever measures, fails
    monkeypatch.setattr(findings, "solve", None)
    before = file.read_text()
    findings.run(runs[0])
    assert file.read_text() == before
    assert capsys.readouterr().out == ""
    findings.run(["tables", *common[:4]])
    assert "| `zero-policy` | 3 | 1 | " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["komi", "--level", "nowhere.safetensors"], "there is no file 'nowhere.safetensors'"),
        (["komi", "--sides", "2", "--guess", "3"], "komi=3 is not valid: use"),
        (["komi", "--sides", "2", "--simulations", "0"], "simulations=0 is not valid"),
        (["komi", "--sides", "2", "--noise", "-1"], "noise=-1.0 is not valid"),
        (["komi", "--sides", "2", "--games", "0"], "games must be a whole number from 1"),
        (["first", "--sides", "1"], "invalid choice: 1"),
        (["regret", "--sides", "4"], "side=4 cannot be solved"),
        (["regret", "--sides", "2", "--positions", str(DOCS / "stigmergy.md")], "line 1 of"),
        (["tables", "--json", str(DOCS / "stigmergy.md")], "holds no results of this program"),
        (["page", "--page", str(DOCS / "stigmergy.md")], "the page has the places none"),
    ],
)
def test_bad_input_gives_one_error(findings, level, tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit) as stopped:
        findings.run([arguments[0], "--level", level, "--json", str(tmp_path / "r.json"), *arguments[1:]])
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("error: ") == 1
    assert message in printed.err
    assert not (tmp_path / "r.json").exists()
