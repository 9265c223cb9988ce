"""The files of ``page/``, as the server hands them out and as one document that works from disk."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
from importlib import resources
from typing import Any

_KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_ONE_FILE = ("element", "chart", "board", "replay", "view")  # modules of the document, each after those it imports


@functools.cache
def _files() -> dict[str, bytes]:
    folder = resources.files("audamir_envs.web").joinpath("page")
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.rpartition(".")[2] in _KINDS}


def served(name: str) -> tuple[bytes, str] | None:
    """Content and type of a file that the page may load; None for any other name."""
    if name not in _files() or name == "view.html":
        return None
    return _files()[name], _KINDS[name.rpartition(".")[2]]


def one_file(title: str, data: Any) -> str:
    """An HTML document that shows ``data`` (see ``view.js``) without any other file.

    The modules are joined into one: a browser loads none from disk. So their top-level names must differ, and their
    imports stand on lines of their own.
    """
    script = "\n".join(_plain(_files()[f"{name}.js"].decode()) for name in _ONE_FILE)
    style = _files()["style.css"].decode()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'"
    )
    # No text of the data can end the element it stands in.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    fill = {"title": html.escape(title), "policy": policy, "style": style, "script": script, "data": text}
    document = _files()["view.html"].decode()
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fill[match[1]], document)


def _plain(module: str) -> str:
    module = re.sub(r"^import .*;\n", "", module, flags=re.MULTILINE)
    return re.sub(r"^export ", "", module, flags=re.MULTILINE)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
