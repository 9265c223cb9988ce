"""The page that walks through an iteration names what there is."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "one-iteration.md").read_text()
NAMES = sorted(set(re.findall(r"`([a-z_]+\.[A-Za-z_.]+)`", PAGE)))


def test_the_page_goes_through_the_four_files_in_order() -> None:
    places = [PAGE.index(f"## {number}. ") for number in range(1, 9)]
    assert places == sorted(places)
    for module in ("alphazero", "selfplay", "replay", "losses", "learning", "pools"):
        assert any(name.startswith(f"{module}.") for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_names_on_the_page_are_those_of_the_code(name: str) -> None:
    module, *parts = name.split(".")
    found = importlib.import_module(f"audamir_training.{module}")
    for part in parts:
        fields = getattr(found, "__dataclass_fields__", {})
        found = fields[part] if part in fields else getattr(found, part)


def test_settings_on_the_page_are_settings() -> None:
    from audamir_training.alphazero import AlphaZeroState
    from audamir_training.replay import Replay
    from audamir_training.settings import AlphaZeroSettings

    known = {
        *AlphaZeroSettings.__dataclass_fields__,
        *AlphaZeroState.__dataclass_fields__,
        *Replay.__dataclass_fields__,
    }
    words = set(re.findall(r"`([a-z_]+)`", PAGE)) - {"iterate", "search", "gather", "loss"}
    assert words <= known, words - known
