"""The commands of the command line: a module for each, of its name.

Each has `SUMMARY` and `EXAMPLES` for the help text, `run`, and `add_arguments` where it takes any.
A command that does several things is a package with `ACTIONS` instead: the names of its modules, of
which the first is what it does unless told. What several commands use lies one folder up.
"""
