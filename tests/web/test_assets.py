"""The files of the page, and the document that needs no server."""

import json
import re
from pathlib import Path

import audamir_envs.web
from audamir_envs import registry
from audamir_envs.web import assets

FOLDER = Path(audamir_envs.web.__file__).parent
PAGE = FOLDER / "page"


def test_the_page_is_small_plain_and_names_no_other_host():
    files = [path for path in PAGE.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 150_000
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\beval\b|new Function|document\.write|\bimport\(", text), path.name
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, path.name  # the name of a kind of element


def test_no_game_is_named():
    names = {env_id.partition("-")[0] for env_id in registry.GAMES}
    for path in FOLDER.rglob("*"):
        if path.suffix in (".py", ".js", ".css", ".html"):
            text = path.read_text(encoding="utf-8").lower()
            assert not [name for name in names if name in text], path.name


def test_modules_import_what_there_is_and_the_document_holds_all():
    for path in PAGE.glob("*.js"):
        for names, module in re.findall(r"^import \{(.*)\} from \"\./(.*)\.js\";$", path.read_text(), re.MULTILINE):
            source = (PAGE / f"{module}.js").read_text()
            for name in names.split(","):
                assert re.search(rf"^export (async )?(function|class|const) {name.strip()}\b", source, re.MULTILINE)
    text = assets.one_file("a <title> & more", {"x": "</script><!--", "y": 1})
    assert "a &lt;title&gt; &amp; more" in text
    assert "{{" not in text.partition('<script type="module">')[0]
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(data) == {"x": "</script><!--", "y": 1}
    script = text.partition('<script type="module">')[2]
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    tops = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", script, re.MULTILINE)
    assert len(tops) == len(set(tops))


def test_names_that_are_served():
    assert assets.served("app.js")[1] == "text/javascript"
    for name in ("", "..", "app.py", "../app.py", "view.html", "page", "APP.JS"):
        assert assets.served(name) is None
