"""These tests import other frameworks, so they are not even looked at unless asked for: ``pytest -m frameworks``."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    wanted = "frameworks" in config.option.markexpr.replace("not frameworks", "")
    return True if collection_path.name.startswith("test_") and not wanted else None
