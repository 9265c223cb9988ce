"""The pages: every program in them runs, every flag of every command in them is one, and the site builds.

A comment before a fence says how it is taken: ``<!-- not run: why -->``, ``<!-- slow -->``, ``<!-- needs: MODULE -->``,
and in the README ``<!-- first command -->``, ``<!-- test command -->``: these two are run by ``.ci/run``.
"""

import contextlib
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jax
import pytest

from audamir_envs import cli

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [path for folder in ("docs", "checkpoints") for path in (ROOT / folder).rglob("*.md")]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *FOLDERS])
BY_CI = ("first command", "test command")
FENCE = re.compile(r"(?:<!-- (?P<how>[^>]*?) -->\n)?^```(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^```$", flags=re.S | re.M)


class Block(NamedTuple):
    """A fence of a page."""

    page: str
    number: int
    kind: str
    how: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}-{self.number}"


def blocks() -> list[Block]:
    """All of all pages."""
    found = []
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for number, match in enumerate(FENCE.finditer(page.read_text(encoding="utf-8"))):
            found.append(Block(name, number, match["kind"], (match["how"] or "").strip(), match["text"]))
    return found


ALL = blocks()
PYTHON = [block for block in ALL if block.kind == "python" and not block.how.startswith("not run:")]
BASH = [block for block in ALL if block.kind == "bash" and not block.how.startswith(("not run:", *BY_CI))]
QUICK = [block for block in PYTHON if not block.how.startswith(("slow", "needs:"))]
SLOW = [block for block in PYTHON if block.how.startswith("slow")]
FRAMEWORKS = [block for block in PYTHON if block.how.startswith("needs:")]


def run_python(block, folder, monkeypatch):
    monkeypatch.chdir(folder)
    with jax.numpy_dtype_promotion("standard"), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.text, str(block), "exec"), {"__name__": "page"})


def test_every_fence_says_what_it_is():
    for block in ALL:
        known = block.how in ("", "slow", *BY_CI) or block.how.startswith(("not run: ", "needs: "))
        assert known, f"{block}: {block.how}"
        assert block.how != "not run: ", block
    assert len(PYTHON) > 12


@pytest.mark.parametrize("block", QUICK, ids=str)
def test_program(block, tmp_path, monkeypatch):
    run_python(block, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("block", SLOW, ids=str)
def test_slow_program(block, tmp_path, monkeypatch):
    run_python(block, tmp_path, monkeypatch)


@pytest.mark.frameworks
@pytest.mark.filterwarnings("default")  # those of the frameworks are theirs
@pytest.mark.parametrize("block", FRAMEWORKS, ids=str)
def test_program_of_a_framework(block, tmp_path, monkeypatch):
    module = block.how.removeprefix("needs:").strip()
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    run_python(block, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("block", BASH, ids=str)
def test_commands(block):
    """In the project's folder, since they name files of it; what they write is not."""
    done = subprocess.run(["bash", "-euc", block.text], cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-2000:]


@cache
def help_of(*words: str) -> str:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        assert cli.main([*words, "--help"]) == 0
    return told.getvalue()


def command_lines():
    """(page, words) of each ``audamir ...`` in a fence or between backquotes."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        name = page.relative_to(ROOT).as_posix()
        for line in re.findall(r"(?:^|&& |\$ |`)audamir ([a-z][^\n`|;&#>]*)", text, flags=re.M):
            with contextlib.suppress(ValueError):  # a quotation mark of the text around
                yield name, shlex.split(line)


COMMANDS = sorted({(page, " ".join(words)) for page, words in command_lines()})


def test_commands_in_the_pages_are_commands():
    """Each exists, and so does each flag, as its help has it."""
    assert len(COMMANDS) > 20
    for page, line in COMMANDS:
        command, *words = line.split()
        told = help_of(command, words[0]) if command == "solve" and words[:1] not in ([], ["ENV"]) else help_of(command)
        for word in words:
            if word.startswith("--"):
                flag = word.partition("=")[0].rstrip(".,)")
                assert re.search(rf"{re.escape(flag)}\b", told), f"{page}: audamir {line}: no {flag}"


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    """Links are checked too, those between pages and to files."""
    pytest.importorskip("sphinx", reason='Sphinx is not installed: pip install ".[docs]"')
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", ROOT / "docs", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    names = (tmp_path / "api.html").read_text(encoding="utf-8")
    for module in ("audamir_envs", "audamir_envs.agents", "audamir_envs.arena", "audamir_envs.records"):
        for name in importlib.import_module(module).__all__:
            assert f'id="{module}.{name}"' in names or f'.{name}"' in names, f"{module}.{name} is not in the reference"
