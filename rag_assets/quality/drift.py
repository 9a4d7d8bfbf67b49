"""Drift: how far the profile of a table is from an earlier profile.

The earlier profile is that of the last accepted run: a run in which every check of severity `error`
passed. So a warning about drift appears once, for the data that caused it. The next change is
compared with that data.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_assets.quality.values import EXAMPLES_SHOWN, Example, Number, Profile

FEWEST_ROWS = 50
"""Smaller tables are not compared: in them one more document would count as drift."""
DECIMALS = 9
"""Distances are rounded: 0.4 - 0.3 is a little more than 0.1, a bound that it should meet."""


@dataclass(frozen=True, slots=True)
class Distances:
    """Totals of drift (see `suites.DRIFTS`), where both profiles have the numbers."""

    totals: Mapping[str, Number]
    examples: Mapping[str, Sequence[Example]]


def distances(now: Profile, *, before: Profile) -> Distances:
    """How far `now` is from `before`; empty if `before` has too few rows."""
    if before.rows < FEWEST_ROWS:
        return Distances({}, {})
    totals: dict[str, Number] = {"row_count_change": abs(now.rows - before.rows) / before.rows}
    examples: dict[str, Sequence[Example]] = {
        "row_count_change": [{"before": before.rows, "now": now.rows}]
    }
    _compare_shares("null_share_change", now.null_shares, before.null_shares, totals, examples)
    if now.mean_length is not None and before.mean_length:
        change = abs(now.mean_length - before.mean_length) / before.mean_length
        totals["mean_length_change"] = change
        examples["mean_length_change"] = [
            {"before": round(before.mean_length, 1), "now": round(now.mean_length, 1)}
        ]
    if now.languages and before.languages:
        shares = dict.fromkeys([*now.languages, *before.languages], 0.0)
        old, new = shares | dict(before.languages), shares | dict(now.languages)
        _compare_shares("language_change", new, old, totals, examples)
        totals["language_change"] = sum(abs(new[code] - old[code]) for code in shares) / 2
    if now.mean_norm is not None and before.mean_norm is not None:
        totals["mean_norm_change"] = abs(now.mean_norm - before.mean_norm)
        examples["mean_norm_change"] = [
            {"before": round(before.mean_norm, 4), "now": round(now.mean_norm, 4)}
        ]
    if len(now.centroid) == len(before.centroid) > 0:
        totals["centroid_distance"] = cosine_distance(now.centroid, before.centroid)
    rounded = {name: round(value, DECIMALS) for name, value in totals.items()}
    return Distances(rounded, examples)


def cosine_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """1 - cosine of the angle between two vectors, from 0 to 2; 1 if one vector is zero."""
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    lengths = math.sqrt(float(one @ one) * float(other @ other))
    return max(0.0, 1 - float(one @ other) / lengths) if lengths else 1.0


def _compare_shares(
    total: str,
    now: Mapping[str, float],
    before: Mapping[str, float],
    totals: dict[str, Number],
    examples: dict[str, Sequence[Example]],
) -> None:
    """Add the largest change of a share that both have, with the shares that changed most."""
    changes = {name: abs(now[name] - before[name]) for name in now if name in before}
    if not changes:
        return
    totals[total] = max(changes.values())
    most = sorted(changes, key=lambda name: -changes[name])[:EXAMPLES_SHOWN]
    examples[total] = [
        {"of": name, "before": round(before[name], 4), "now": round(now[name], 4)}
        for name in most
        if changes[name]
    ]
