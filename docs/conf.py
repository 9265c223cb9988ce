"""Settings of the documentation site: ``sphinx-build -W --keep-going docs site`` (``pip install ".[docs]"``).

Pages are the Markdown files of this folder, which read as well where they lie. What lies elsewhere (changelog, cards)
is shown by pages of its own, see ``MIRRORS``; links are turned to fit.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT), str(ROOT / "training")]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import audamir_envs  # noqa: E402

project = "audamir-envs"
author = "The authors of audamir-envs"
copyright = "the authors of audamir-envs"
version = release = audamir_envs.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # cards begin where a page of theirs goes on
html_theme = "furo"
html_title = f"audamir-envs {release}"
html_show_copyright = False
html_copy_source = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = ["open_spiel", "pyspiel", "stable_baselines3"]

MIRRORS = {
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    **{f"levels/{env_id}": f"checkpoints/{env_id}/card.md" for env_id in audamir_envs.ids()},
}
"""Pages that show a file from outside this folder."""
_PAGES = {ROOT / path: DOCS / f"{name}.md" for name, path in MIRRORS.items()} | {ROOT / "README.md": DOCS / "index.md"}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def _read(app: Any, page: str, content: list[str]) -> None:
    """Puts a mirrored file in place of its page, and turns links."""
    source = ROOT / MIRRORS[page] if page in MIRRORS else DOCS / f"{page}.md"
    text = source.read_text(encoding="utf-8") if page in MIRRORS else content[0]
    if page == "index":
        text = _existing(text)
    parts = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)  # what is in a fence is left alone
    parts[::2] = [_LINK.sub(lambda found: _turned(found, source, DOCS / f"{page}.md"), part) for part in parts[::2]]
    content[0] = "".join(parts)


def _turned(found: re.Match[str], source: Path, page: Path) -> str:
    mark, text, target, anchor = found[1], found[2], found[3], found[4] or ""
    if not target or "://" in target or target.startswith("mailto:"):
        return found[0]
    path = Path(os.path.normpath(source.parent / target))
    if path.is_dir():
        return text  # a page has nothing to show for a folder
    path = _PAGES.get(path, path)
    return f"{mark}[{text}]({os.path.relpath(path, page.parent)}{anchor})"


def _existing(text: str) -> str:
    """The start page with the pages that are there; those that no list names come last."""
    names = re.findall(
        r"^(?:.*<)?([\w/-]+)>?$", "".join(re.findall(r"^```\{toctree\}(.*?)^```", text, re.S | re.M)), re.M
    )
    known = {"index", *names}
    others = sorted(
        name
        for path in DOCS.rglob("*.md")
        if (name := path.relative_to(DOCS).with_suffix("").as_posix()) not in known and not name.startswith("_")
    )
    lines = [line for line in text.splitlines() if not _missing(line, names)]
    return "\n".join(lines).replace("@others", "\n".join(others))


def _missing(line: str, names: list[str]) -> bool:
    return line in names and not (DOCS / f"{line}.md").is_file()


def _docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: their signs are no markup, their parts are paragraphs, fields are told with shapes."""
    text = _plain("\n".join(lines))
    text = re.sub(r"^ *(Args|Returns|Raises):", r"\n**\1:**", text, flags=re.M)
    # Lines are indented where a sentence goes on, which is no markup; a paragraph that is indented is a program.
    parts = [part if part.startswith("    ") else re.sub(r"\n +(?!\s*-)", "\n", part) for part in text.split("\n\n")]
    lines[:] = "\n\n".join(f"::\n\n{part}" if part.startswith("    ") else part for part in parts).splitlines()
    if what == "class":
        fields = re.findall(r"^    (\w+): [^#\n]+  # (.+)$", _source(thing), flags=re.M)
        lines += ["", *(f"- ``{field}``: {_plain(comment)}" for field, comment in fields), ""]


def _plain(text: str) -> str:
    return re.sub(r"(``[^`]+``)|([*|\\])|(?<=\w)_(?!\w)", lambda found: found[1] or "\\" + found[0], text)


def _source(thing: Any) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return ""


def setup(app: Any) -> None:
    """Sphinx's own entry."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _docstring)
