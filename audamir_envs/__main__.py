"""``python -m audamir_envs`` is the command ``audamir``."""

import sys

from audamir_envs.cli import main

if __name__ == "__main__":
    sys.exit(main())
