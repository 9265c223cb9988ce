"""Shows the environments with their options, or those of one and what its agents can be told."""

from __future__ import annotations

import argparse

from audamir_envs import registry
from audamir_envs.commands.common import print_table

EXAMPLE = "audamir list {env}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("env", metavar="ENV", nargs="?", help=f"one of {', '.join(registry.ids())}; default: all")


def run(arguments: argparse.Namespace) -> int:
    """Prints the tables. Raises: ValueError listing the ids, or after all others naming the games that do not work."""
    from audamir_envs.agents.loading import agent_names, agent_settings

    faults = []
    for env_id in [arguments.env] if arguments.env else registry.ids():
        try:
            options = registry.environment_class(env_id).OPTIONS
        except ValueError as error:  # of somebody's package; the other games go on working
            faults.append(str(error))
            continue
        rows = [(name, repr(option.default), option.describe(), option.help) for name, option in options.items()]
        print_table(env_id, ("option", "default", "values", "what it is"), rows, left=4)
        names = agent_names(env_id)
        print(f"agents: {', '.join(names)}\n")
        if arguments.env:
            rows = []
            for name in names:
                settings = agent_settings(env_id, name)
                rows += [(name if i == 0 else "", s.name, f"{s.default!r}", s.help) for i, s in enumerate(settings)]
                rows += [] if settings else [(name, "", "", "")]
            print_table(
                "settings of agents (name:setting=value,...)", ("agent", "setting", "default", "what it is"), rows, 4
            )
    if faults:
        raise ValueError("; ".join(faults))
    return 0
