"""What the README and examples/ show runs as it is written, with small budgets."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = {
    "jitted_rollouts.py": ("--games", "8", "--steps", "16"),
    "pettingzoo_loop.py": (),
    "numpy_policy_in_the_arena.py": ("--games", "2"),
}
PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)


def test_every_example_has_a_budget():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(BUDGETS)


@pytest.mark.parametrize("name", BUDGETS)
def test_example(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, *BUDGETS[name]])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_readme_has_a_program_for_each_api():
    assert len(PROGRAMS) == 3


@pytest.mark.parametrize("number", range(3))
def test_readme_program(number):
    lines = [line for line in PROGRAMS[number].splitlines() if line.strip()]
    assert len(lines) <= 11
    exec(compile(PROGRAMS[number], "README.md", "exec"), {"__name__": "readme"})
