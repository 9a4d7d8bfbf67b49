"""The faces of the project: the command line."""
