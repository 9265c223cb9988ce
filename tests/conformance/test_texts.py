"""One rule for every game's texts, short errors, programs that do not multiply, and states that others can keep."""

import flax.serialization
import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs import texts

CASES = {
    "colony-v0": ({}, "E9-E7"),
    "stigmergy-v0": ({"side": 3, "komi": "choose"}, "KOMI=4"),
    "principalities-v0": ({"players": 2, "map": [[1, 3], [0, 2], [1, 3], [2, 0]]}, "1>0"),
}
every_game = pytest.mark.parametrize("env_id", CASES)


@pytest.fixture(scope="module")
def made():
    return {
        env_id: (env := audamir_envs.make(env_id, **options), jax.jit(env.init)(jax.random.key(0)))
        for env_id, (options, _) in CASES.items()
    }


@every_game
def test_case_space_around_and_line_ends_are_forgiven_and_nothing_else(env_id, made):
    env, state = made[env_id]
    action = CASES[env_id][1]
    number, position = env.text_to_action(action.lower()), env.to_text(state)
    for before, after in (("", ""), (" ", ""), ("", "\n"), ("\t", " \r\n"), ("\n", "\n\n")):
        for change in (str, str.upper, str.lower):
            assert env.text_to_action(before + change(action) + after) == number
            assert env.to_text(env.from_text(before + change(position) + after)) == position
    inside = "-=>"
    for sign in inside:
        if sign in action:
            with pytest.raises(ValueError):  # noqa: PT011  the wording is each game's own
                env.text_to_action(action.replace(sign, f" {sign} "))
    if not position.startswith("{"):
        with pytest.raises(ValueError, match="fields"):
            env.from_text(position.replace(" ", "  "))
        with pytest.raises(ValueError, match="field"):
            env.from_text(position[:-1] + "0" + position[-1])


@every_game
def test_errors_do_not_repeat_what_is_long(env_id, made):
    env, _ = made[env_id]
    long = "x" * 1_000_000
    for read in (env.text_to_action, env.from_text):
        with pytest.raises(ValueError) as caught:  # noqa: PT011  what it says is looked at below
            read(long)
        assert len(str(caught.value)) < 400
    for name in env.OPTIONS:
        for value in (long, [long] * 1000, 10**5000, np.zeros((1000, 1000))):
            with pytest.raises(ValueError) as caught:  # noqa: PT011
                audamir_envs.make(env_id, **{name: value})
            assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("e5", "'e5'"),
        ("a" * 100, "'" + "a" * 80 + "'... (100 characters)"),
        (list(range(1000)), "(1,000 elements)"),
        pytest.param(10**5000, "an integer of 16,610 bits", id="long integer"),
        (b"x" * 1000, "b'" + "x" * 80 + "'... (1,000 bytes)"),
        ("it's" * 10_000, '"' + "it's" * 20 + '"... (40,000 characters)'),
        (np.zeros((1000, 1000)), "(1,000,000 elements)"),
        ("\udcff" * 1000, "(1,000 characters)"),
    ],
)
def test_quoted(value, quoted):
    text = texts.quoted(value)
    assert quoted in text
    assert len(text) < 600
    assert "\n" not in text


def test_quoted_whatever_its_repr_does():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert texts.quoted(Broken()) == "<Broken>"


@pytest.mark.parametrize("text", ["00", "+4", "04", "4_0", "٤", "-0", "1e3", "4.0", "", "9" * 10, " 4"])
def test_whole_numbers_have_one_form(text):
    assert texts.whole(text) is None


@pytest.mark.parametrize("map", [np.array(3), np.zeros((0, 0)), np.array([]), [], np.zeros((2, 0)), {}])
def test_empty_maps_are_refused_with_one_line(map):
    for spec in (map, {"neighbours": map}, {"hexagons": map}):
        with pytest.raises(ValueError, match="map"):
            audamir_envs.make("principalities-v0", players=2, map=spec)


def test_texts_of_many_options_share_a_program():
    text = audamir_envs.make("colony-v0").to_text(audamir_envs.make("colony-v0").init(jax.random.key(0)))
    from audamir_envs import core

    core._reader.cache_clear()
    for turns in range(20, 24):
        env = audamir_envs.make("colony-v0", max_turns=turns)
        assert int(env.from_text(text).game.max_turns) == turns
    assert core._reader.cache_info().currsize == 1
    assert core._reader(audamir_envs.make("colony-v0"))._cache_size() == 1


@every_game
def test_flax_keeps_states(env_id, made):
    env, state = made[env_id]
    saved = flax.serialization.to_bytes(state)
    target = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), state)
    back = flax.serialization.from_bytes(target, saved)
    assert type(back) is type(state)
    assert type(back.game) is type(state.game)
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(back), strict=True):
        assert np.array_equal(one, other)
    assert env.to_text(back) == env.to_text(state)


@every_game
def test_actions_of_any_integer_type(env_id, made):
    env, state = made[env_id]
    number = int(np.flatnonzero(np.asarray(state.legal_action_mask))[0])
    key = jax.random.key(1)
    for action in (np.array(number, ">i4"), np.array(number, ">i8"), np.int8(min(number, 127)), np.uint8(number % 256)):
        after = jax.eval_shape(lambda state, action=action: env.step(state, action, key), state)
        assert after.terminated.shape == ()
    for dtype in (np.int8, np.uint8, np.int16, np.uint32):
        jax.eval_shape(lambda action: env.step(state, action, key), jax.ShapeDtypeStruct((), dtype))
