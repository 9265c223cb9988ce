"""The command line as a process: closed and broken streams, Ctrl-C at any moment, terminals, the folder it runs in."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

PROCESS = "from audamir_envs import cli, streams\nimport sys, os, signal\nsys.exit(cli.process(lambda: {}))"


def shell(line, cwd=None, **variables):
    """Runs a line by bash: exit code, stdout, stderr."""
    env = os.environ | {"JAX_PLATFORMS": "cpu", "AUDAMIR": f"{sys.executable} -m audamir_envs"} | variables
    done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, env=env, cwd=cwd, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def python(program, redirection="", **variables):
    """A process that runs an expression as ``audamir`` runs a command."""
    return shell(f'{sys.executable} -c "$PROGRAM" {redirection}', PROGRAM=PROCESS.format(program), **variables)


PRINT = "print('x' * 100_000) or print('y', file=sys.stderr)"


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "| true", "2>&1 | true", "> /dev/null"])
def test_streams_that_are_closed_or_break(redirection):
    code, _, err = python(PRINT, f"{redirection}; exit ${{PIPESTATUS[0]}}")
    assert code == 0
    assert "Exception" not in err
    assert "Error" not in err


def test_a_closed_stream_is_no_place_for_another_file(tmp_path):
    """A file that is opened while 1 or 2 is free would get what is printed."""
    program = f"open({str(tmp_path / 'a')!r}, 'w').write('mine') and print('printed') or os.system('echo from a child')"
    assert python(program, ">&- 2>&-")[0] == 0
    assert (tmp_path / "a").read_text() == "mine"


@pytest.mark.parametrize("words", ["--help", "list", "train --help"])
def test_a_reader_that_leaves_at_once(words):
    code, _, err = shell(f"$AUDAMIR {words} | true; exit ${{PIPESTATUS[0]}}")
    assert (code, err) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_disk_behind_stdout_is_one_line():
    code, _, err = python("print('x')", "> /dev/full")
    assert (code, err) == (2, "audamir: error: No space left on device\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("os.kill(os.getpid(), signal.SIGINT)", 130),
        # Native code that was interrupted while it was imported makes another exception of it.
        ("exec('try: os.kill(os.getpid(), signal.SIGINT)\\nexcept BaseException: raise ImportError(7)')", 130),
        # In a callback, where Python would print and forget it.
        (
            "type('T', (), {'__del__': lambda _: os.kill(os.getpid(), 2)})() and __import__('time').sleep(5)",
            130,
        ),
        ("(_ for _ in ()).throw(ValueError('bad'))", 2),
        ("(_ for _ in ()).throw(RuntimeError('broken'))", 1),
        ("sys.exit()", 0),
        ("sys.exit(3)", 3),
    ],
)
def test_exit_codes(body, expected):
    code, out, err = python(body)
    assert code == expected
    assert out == b""
    assert "Traceback" not in err
    assert "ignored" not in err
    assert (err == "") == (expected not in (1, 2))


def test_tracebacks_on_request():
    code, _, err = python("(_ for _ in ()).throw(ValueError('bad'))", AUDAMIR_TRACEBACK="1")
    assert code == 1
    assert "Traceback" in err
    assert "ValueError: bad" in err


@pytest.mark.parametrize(
    "words", [["list"], ["train", "colony-v0", "--out", "nowhere"], ["evaluate", "colony-v0", "weak", "weak"]]
)
def test_an_interrupt_in_the_first_seconds(words, tmp_path):
    command = [sys.executable, "-c", "import sys; from audamir_command import main; sys.exit(main())", *words]
    for wait in (0.15, 0.6, 1.5):
        running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        if wait < 0.2:  # Python itself may be starting still: wait for our first line to run
            while running.poll() is None and not handles_interrupts(running.pid):
                time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=120)
        assert running.returncode in ((130, 0) if words == ["list"] else (130,)), err
        assert err == ""


def handles_interrupts(pid):
    """Whether our launcher has begun: Python's own handler is there from its start on, so its module must be mapped."""
    try:
        with open(f"/proc/{pid}/maps") as maps:
            return "_multiarray_umath" in maps.read()
    except OSError:
        return True


def in_a_terminal(command, typed=b"", **variables):
    """Runs a command in a terminal; the exit code and everything that it shows."""
    main, inner = pty.openpty()
    env = os.environ | {"JAX_PLATFORMS": "cpu", "TERM": "xterm", "COLUMNS": "100"} | variables
    running = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=env, close_fds=True)
    os.close(inner)
    os.write(main, typed)
    shown = b""
    while True:
        try:
            more = os.read(main, 65536)
        except OSError:
            break
        if not more:
            break
        shown += more
    os.close(main)
    return running.wait(), shown


TABLE = "__import__('audamir_envs.commands.common').commands.common.print_table('± · é', ('a', 'b'), [('…', '─')])"


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1", "cp1252"])
def test_a_terminal_that_is_not_utf8(encoding):
    for redirection in ("", "| cat; exit ${PIPESTATUS[0]}"):
        code, out, err = python(TABLE, redirection, PYTHONIOENCODING=encoding)
        assert (code, err) == (0, "")
        assert b"a  b" in out
    code, out = in_a_terminal([sys.executable, "-c", PROCESS.format(TABLE)], PYTHONIOENCODING=encoding)
    assert code == 0, out


def test_the_list_in_ascii():
    code, out, err = shell("$AUDAMIR list colony-v0", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert b"claim_empty" in out


def test_waiting_is_told_in_a_terminal_and_taken_away(monkeypatch):
    block = "exec('with streams.waiting(\\'thinking\\'): __import__(\\'time\\').sleep({})') or print('done')"
    code, shown = in_a_terminal([sys.executable, "-c", PROCESS.format(block.format(1.5))], PYTHONIOENCODING="utf-8")
    assert (code, shown) == (0, "thinking…\r\x1b[Kdone\r\n".encode())
    code, shown = in_a_terminal([sys.executable, "-c", PROCESS.format(block.format(1.5))], PYTHONIOENCODING="ascii")
    assert (code, shown) == (0, b"thinking...\r\x1b[Kdone\r\n")
    code, shown = in_a_terminal([sys.executable, "-c", PROCESS.format(block.format(0.1))])
    assert (code, shown) == (0, b"done\r\n")
    assert python(block.format(1.2)) == (0, b"done\n", "")


def test_files_in_the_working_folder_are_left_alone(tmp_path):
    """Names of packages and of Python's own modules, each of which would say that it was run."""
    for name in (
        "mctx",
        "rich",
        "csv",
        "calendar",
        "flax",
        "jax",
        "numpy",
        "matplotlib",
        "platformdirs",
        "random",
        "json",
    ):
        (tmp_path / f"{name}.py").write_text(f"print('{name} of the folder'); raise SystemExit(9)\n")
    (tmp_path / "mine.py").write_text(
        "import rich\nimport numpy as np\ndef first(observation, action_mask):\n    return action_mask.argmax(1)\n"
    )
    main = f"{sys.executable} -c 'import sys; sys.path.pop(0); from audamir_command import main; sys.exit(main())'"
    code, out, err = shell(f"{main} list stigmergy-v0", tmp_path)
    assert (code, err) == (0, "")
    words = "evaluate stigmergy-v0 mine:first random -o side=2 --games 2"
    code, out, err = shell(f"{main} {words}", tmp_path)
    assert (code, err) == (0, "")
    assert b"of the folder" not in out
    assert b"mine:first" in out


def test_a_notebooks_backend_does_no_harm():
    program = "__import__('matplotlib.figure').figure.Figure().savefig(os.devnull, format='png')"
    code, _, err = python(program, MPLBACKEND="module://not_installed_here.backend")
    assert (code, err) == (0, "")


def test_playing_without_a_keyboard():
    code, out, err = shell("$AUDAMIR play stigmergy-v0 random --seat 0 -o side=2 <&-")
    assert (code, err) == (0, "")
    assert b"Left the game." in out
