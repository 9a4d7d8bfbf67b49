"""The rule of change, once."""
