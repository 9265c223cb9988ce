"""Shows the environments, or the options and agents of one."""

from __future__ import annotations

import argparse

from audamir_envs import registry
from audamir_envs.agents.loading import agent_names
from audamir_envs.commands.common import print_table

EXAMPLE = "audamir list {env}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("env", metavar="ENV", nargs="?", help=f"one of {', '.join(registry.ids())}; default: all")


def run(arguments: argparse.Namespace) -> int:
    """Prints the tables. Raises: ValueError listing the ids."""
    for env_id in [arguments.env] if arguments.env else registry.ids():
        options = registry.environment_class(env_id).OPTIONS
        rows = [(name, repr(option.default), option.describe(), option.help) for name, option in options.items()]
        print_table(env_id, ("option", "default", "values", "what it is"), rows, left=4)
        print(f"agents: {', '.join(agent_names(env_id))}\n")
    return 0
