"""What day and what time it is, in UTC. Tests replace it.

Waiting times of failed inputs are counted in days.
"""

from datetime import UTC, date, datetime


def today() -> date:
    """The day, in UTC."""
    return now().date()


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)
