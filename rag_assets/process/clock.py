"""What day it is: nights are counted by it, in UTC. Tests set it."""

from datetime import UTC, date, datetime


def today() -> date:
    """The day, in UTC."""
    return datetime.now(UTC).date()
