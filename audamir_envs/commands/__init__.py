"""The commands of ``audamir``, a module each: EXAMPLE, add_arguments(parser), run(arguments) -> exit code.

In EXAMPLE, a text or a function that gives one, ``{env}`` stands for an environment's id.
"""
