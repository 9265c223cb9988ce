"""The commands of ``audamir``, a module each: EXAMPLE, add_arguments(parser), run(arguments) -> exit code."""
