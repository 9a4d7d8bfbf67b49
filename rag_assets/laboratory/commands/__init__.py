"""The commands of the laboratory, built as those of `serving.commands` are."""

NAMES = frozenset({"experiment", "judge", "training"})
"""Which commands of the command line stand here."""
