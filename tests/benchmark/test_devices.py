"""The script that measures a device writes what it measured, each device once."""

import json

import devices
import pytest


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(devices, "training", lambda env_id, minutes: 1234.5 if env_id == "colony-v0" else None)
    monkeypatch.setattr(devices, "_given", lambda batch: {"a": (lambda: None, batch), "b": (lambda: None, 2 * batch)})

    def sampled(batch):
        if batch > 8:
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory")
        return {"a": (lambda: None, batch)}

    monkeypatch.setattr(devices, "_sampled", sampled)
    monkeypatch.setattr(devices.searching, "programs", lambda batch: {"c": (lambda: None, batch)})


def test_page_and_figures(small, tmp_path, capsys):
    page, figures = tmp_path / "devices.md", tmp_path / "figures.json"
    words = ["--games", "8,16", "--repetitions", "2", "--page", str(page), "--json", str(figures)]
    assert devices.main(words) == 0
    report = json.loads(figures.read_text())
    assert report["sampled with auto-reset, steps a second"]["a"]["16"] is None
    assert "16 at once do not fit" in capsys.readouterr().err
    text = page.read_text()
    assert text.startswith("# Devices")
    assert "| | 8 | 16 |\n|---|---|---|\n| a | " in text
    assert "| colony-v0 | 1,234 |" in text
    assert "| stigmergy-v0 | – |" in text
    page.write_text(text.replace("## cpu", "## gpu (another)") if "## cpu" in text else text)
    devices.main(words)
    devices.main(words)
    assert page.read_text().count("\n## ") == 2
    assert "## gpu (another)" in page.read_text()


def test_other_errors_are_not_taken_for_missing_memory(monkeypatch):
    def broken(batch):
        raise RuntimeError("of another kind")

    with pytest.raises(RuntimeError, match="another kind"):
        devices.by_batch(broken, [1], 1)


@pytest.mark.slow
def test_everything_for_real(tmp_path):
    page = tmp_path / "devices.md"
    assert devices.main(["--games", "8", "--repetitions", "1", "--minutes", "0.2", "--page", str(page)]) == 0
    assert "stigmergy side 5" in page.read_text()
