"""Texts that are nearly right."""

import pytest

import audamir_envs


def test_numbers_of_thousands_of_digits_are_named_as_wrong():
    with pytest.raises(ValueError, match=r"field 3 \(komi\) is"):
        audamir_envs.make("stigmergy-v0", side=2).from_text(f"../.../.. x {'2' * 5000} 0 0")
    with pytest.raises(ValueError, match="is no choice of komi"):
        audamir_envs.make("stigmergy-v0", side=2, komi="choose").text_to_action("komi=" + "4" * 5000)
