"""Opens a page on this machine to play, replay and look into games, and to watch training runs.

The page is at http://127.0.0.1:PORT and answers this machine alone. PATH is the folder of a training run or a file of
recorded games; both can be seen on the page, several of them too. Needs the extra: pip install audamir-envs[web]
"""

from __future__ import annotations

import argparse
import contextlib
import socket
from pathlib import Path

EXAMPLE = "audamir serve --agent zero:simulations=256 --port 8000 runs/c1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path, help="folders of runs, files of records")
    parser.add_argument("--port", type=_port, default=8000, metavar="N", help="default: %(default)s; 0: any free one")
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        metavar="AGENT",
        help="a checkpoint or an agent with settings that the page offers too; repeat it for several",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serves until it is interrupted. Raises: ValueError, OSError."""
    import uvicorn

    from audamir_envs.web.app import make_app
    from audamir_envs.web.runs import METRICS
    from audamir_envs.web.thinking import Levels

    runs = [path for path in arguments.paths if path.is_dir()]
    for folder in runs:
        if not (folder / METRICS).is_file():
            raise FileNotFoundError(f"{folder} is no training run: it has no {METRICS}")
    records = [path for path in arguments.paths if not path.is_dir()]
    for path in records:
        path.open("rb").close()
    levels = Levels(arguments.agent)
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", arguments.port))
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            make_app(port, levels, runs, records), log_level="warning", access_log=False, lifespan="off", ws="none"
        )
        server = uvicorn.Server(config)
        print(f"http://127.0.0.1:{port} (Ctrl-C ends it)", flush=True)
        server.run(sockets=[listener])
    return 0


def _port(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not a port: use 0 to 65535")
    return int(text)
