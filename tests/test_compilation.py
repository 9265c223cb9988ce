"""Compiled programs are kept, shared by processes that may die, and never more than the bound."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from audamir_envs import compilation
from audamir_envs.compilation import Store

PROGRAM = """
import sys, jax, jax.numpy as jnp
from jax._src import monitoring
hits = []
monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None)
import audamir_envs
print(audamir_envs.enable_compilation_cache())
print(jax.jit(lambda x: jnp.cumsum(x * x))(jnp.arange(5)).sum(), len(hits))
"""


def run(program=PROGRAM, **variables):
    env = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"} | variables
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_the_second_process_compiles_nothing(tmp_path):
    folder, total, hits = run(AUDAMIR_CACHE=str(tmp_path / "new"))
    assert Path(folder).parent == tmp_path / "new" / "programs"
    assert (total, hits) == ("50", "0")
    kept = sorted(os.listdir(folder))
    assert kept
    assert all(name.endswith("-cache") for name in kept)  # and no private folder is left
    folder, total, hits = run(AUDAMIR_CACHE=str(tmp_path / "new"))
    assert total == "50"
    assert int(hits) > 0
    assert sorted(os.listdir(folder)) == kept


@pytest.mark.parametrize("name", ["file/below", "", "link"])
def test_a_place_where_nothing_can_be_kept(tmp_path, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("link")
    variables = (
        {"AUDAMIR_CACHE": str(tmp_path / name)} if name else {"AUDAMIR_CACHE": "", "XDG_CACHE_HOME": "/dev/null"}
    )
    assert run(**variables) == ["None", "50", "0"]


def test_a_folder_that_jax_has_already_stays(tmp_path):
    env = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "own"), "AUDAMIR_CACHE": str(tmp_path / "ours")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=os.environ | env, check=True
    )
    assert done.stdout.split()[0] == str(tmp_path / "own")
    assert not (tmp_path / "ours").exists()


def add(store, name, content="x"):
    path = store.private / f"{name}-cache"
    path.unlink(missing_ok=True)
    path.write_text(content)


def names(folder):
    return {path.name.removesuffix("-cache") for path in folder.glob("*-cache")}


def test_processes_share_whole_files(tmp_path):
    one, two = Store(tmp_path / "programs" / "kind", 10**6), Store(tmp_path / "programs" / "kind", 10**6)
    add(one, "a")
    add(two, "b")
    assert names(one.common) == set()
    one.exchange()
    two.exchange()
    one.exchange()
    assert names(one.private) == names(two.private) == names(one.common) == {"a", "b"}
    add(two, "a", "other")  # a name that is there already is the same program
    add(two, "c")
    two.close()
    assert (one.common / "a-cache").read_text() == "x"
    assert names(one.common) == {"a", "b", "c"}
    one.close()
    assert {path.name for path in one.common.iterdir()} == {"a-cache", "b-cache", "c-cache"}


@pytest.mark.skipif(compilation.fcntl is None, reason="this system has no locks of that kind")
def test_a_killed_process_leaves_what_it_had_finished(tmp_path):
    killed = "import os, signal, sys\nfrom pathlib import Path\nfrom audamir_envs.compilation import Store\n"
    killed += "store = Store(Path(sys.argv[1]), 10**6)\n(store.private / 'old-cache').write_text('x')\n"
    killed += "os.utime(store.private / 'old-cache', (1, 1))\n(store.private / 'half-cache').write_text('x')\n"
    killed += "os.kill(os.getpid(), signal.SIGKILL)"
    common = tmp_path / "programs" / "kind"
    living = Store(common, 10**6)
    add(living, "mine")
    subprocess.run([sys.executable, "-c", killed, str(common)], check=False)
    assert len(list(common.glob(".process-*"))) == 2
    Store(common, 10**6).close()
    assert names(common) == {"old"}
    assert list(common.glob(".process-*")) == [living.private]
    living.close()
    assert names(common) == {"old", "mine"}


def test_the_bound_holds_over_all_kinds_and_the_oldest_go(tmp_path):
    store = Store(tmp_path / "programs" / "new", 250)
    other = tmp_path / "programs" / "other"
    other.mkdir()
    for place, folder in enumerate((other, store.private, other, store.private)):
        path = folder / f"{place}-cache"
        path.write_text("x" * 100)
        os.utime(path, (place, place))
    os.utime(store.private / "1-cache", (9, 1))  # used later than it was made
    store.close()
    assert names(store.common) == {"1", "3"}
    assert names(other) == set()


def test_a_fork_ends_without_touching_its_parents_folder(tmp_path):
    store = Store(tmp_path / "programs" / "kind", 10**6)
    store.process += 1
    store.close()
    assert store.private.exists()
    store.process -= 1
    store.close()
    assert not store.private.exists()


def test_another_users_folder_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PermissionError, match="another user's"):
        Store(tmp_path / "programs", 10)
