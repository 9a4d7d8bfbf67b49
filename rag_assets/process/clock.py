"""What day it is, in UTC: waiting times of failed inputs are counted in days. Tests replace it."""

from datetime import UTC, date, datetime


def today() -> date:
    """The day, in UTC."""
    return datetime.now(UTC).date()
