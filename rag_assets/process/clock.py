"""What day and what time it is, in UTC. Tests replace it.

Waiting times of failed inputs are counted in days.
"""

from datetime import UTC, date, datetime

UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def today() -> date:
    """The day, in UTC."""
    return now().date()


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def in_words(seconds: float) -> str:
    """A duration in its two largest units: `2 days 3 hours`."""
    left, parts = max(1, round(seconds)), []
    for name, size in UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    shown = [part for part in parts[:2] if not part.startswith("0 ")]
    return " ".join(shown)


def moment(when: datetime) -> str:
    """A time as messages write it."""
    return f"{when:%Y-%m-%d %H:%M} UTC"
