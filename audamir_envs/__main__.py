"""``python -m audamir_envs`` is the command ``audamir``."""

import os
import sys

# Python puts the working folder first; a file there must not stand in for a package that we import.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

if __name__ == "__main__":
    from audamir_envs.cli import main

    sys.exit(main())
