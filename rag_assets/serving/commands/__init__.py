"""One module for each command of the command line; the module has the command's name.

Each has `SUMMARY` and `EXAMPLES` for the help text, `add_arguments` and `run`. What several
commands use lies one folder up.
"""
