"""Stored results of the checks: the last result and the last accepted profile of each table.

    checks/<asset>/<table>.json           the result, until the table or its suite changes
    checks/<asset>/<table>.profile.json   the profile of the last accepted run, and a short history

Variants share tables, and so they share results. Results of a table that no variant uses any more
are deleted with the next check of its asset. Files are written atomically; a damaged one
counts as missing, so that the table is measured again.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from rag_assets.quality.suites import DRIFT_TOTALS
from rag_assets.quality.values import Expectation, Number, Outcome, Profile, example_line
from rag_assets.store import Store
from rag_assets.store.atomic import take_away, write_atomically

EXAMPLES_EXPLAINED = 3
"""Examples that an explanation shows: a terminal has no room for more."""
HISTORY = 30
"""Accepted runs in the history."""
FOLDER = "checks"
SUFFIX = ".profile.json"
DAMAGED = (OSError, ValueError, AttributeError, KeyError, TypeError)
"""Errors of reading a file that is missing, damaged, or of another form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcomes of all expectations of one table."""

    state: str
    """Fingerprint of the data, the suite and the version of this package."""
    at: str
    """The time when the table was checked: ISO 8601, UTC."""
    stage: str
    asset: str
    """Key of the asset, in the form that people write."""
    table: str
    rows: int
    expectations: Sequence[Expectation]
    outcomes: Mapping[str, Outcome]
    failing: Mapping[str, str] = field(default_factory=dict)
    """The time when each failing expectation began to fail: ISO 8601, UTC."""

    @property
    def failed(self) -> list[Expectation]:
        """The expectations that do not hold."""
        return [item for item in self.expectations if not self.outcomes[item.name].passed]

    def failing_since(self, name: str) -> str | None:
        """When the expectation of that name first failed in a row; None if it holds or is new."""
        outcome = self.outcomes.get(name)
        return None if outcome is None or outcome.passed else self.failing.get(name, self.at)

    def remedy(self, expectation: Expectation) -> str:
        """What to do if the expectation fails, and which setting of the config bounds it."""
        key = expectation.name
        if expectation.total is None:
            key = "expectations"
        elif expectation.total in DRIFT_TOTALS:
            key = "drift"
        return f"{expectation.remedy}; what is allowed: checks.{self.stage}.{key} in the config"

    def explain(self, expectation: Expectation) -> list[str]:
        """Lines for people: what was found, a few examples, and the remedy."""
        outcome = self.outcomes[expectation.name]
        return [
            f"{expectation.name}: {outcome.summary}",
            *(f"  {example_line(example)}" for example in outcome.examples[:EXAMPLES_EXPLAINED]),
            f"  what to do: {self.remedy(expectation)}",
        ]

    @property
    def blocks(self) -> bool:
        """Whether an expectation of severity `error` failed."""
        return any(item.severity == "error" for item in self.failed)

    @property
    def drifted(self) -> bool:
        """Whether an expectation about drift failed."""
        return any(item.total in DRIFT_TOTALS for item in self.failed)


@dataclass(frozen=True, slots=True)
class AcceptedProfile:
    """The profile that the next change is compared with."""

    version: str
    """Data version of the profiled table."""
    profile: Profile
    before: Profile | None = None
    """The profile that it was itself compared with."""
    history: Sequence[Mapping[str, str | Number]] = field(default=())
    """Time and numbers of the accepted runs, the oldest first."""

    def baseline(self, version: str) -> Profile | None:
        """The profile to compare data of this version with."""
        return self.before if version == self.version else self.profile


class ResultFiles:
    """The files with the result and the accepted profile of one table."""

    def __init__(self, store: Store, *, asset: str, table: str) -> None:
        """Nothing is written yet."""
        self._file = _folder(store, asset=asset) / f"{table}.json"
        self._profile_file = self._file.with_suffix(SUFFIX)

    def result(self) -> Result | None:
        """The last result."""
        return _result_in(self._file)

    def keep(self, result: Result) -> None:
        """Store `result` as the last one."""
        write_atomically(self._file, json.dumps(asdict(result), indent=1))

    def accepted(self) -> AcceptedProfile | None:
        """The profile of the last accepted run."""
        return _accepted_in(self._profile_file)

    def accept(self, profile: Profile, *, version: str, before: Profile | None) -> None:
        """Store `profile` for comparison with the next change."""
        previous = self.accepted()
        entry: dict[str, str | Number] = {"at": now(), "rows": profile.rows}
        if profile.mean_length is not None:
            entry["mean length"] = round(profile.mean_length, 1)
        history = list(previous.history) if previous else []
        if previous is None or previous.version != version:
            history = [*history, entry][-HISTORY:]
        accepted = AcceptedProfile(version, profile, before, history)
        write_atomically(self._profile_file, json.dumps(asdict(accepted)))


def now() -> str:
    """The current time to the second: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def results_in(store: Store) -> list[Result]:
    """The last result of each table, by asset and table."""
    files = sorted((store.root / FOLDER).glob("*/*.json"))
    found = (_result_in(file) for file in files if not file.name.endswith(SUFFIX))
    return [result for result in found if result is not None]


def accepted_profile(store: Store, result: Result) -> AcceptedProfile | None:
    """The profile that the next change of the table is compared with."""
    return ResultFiles(store, asset=result.asset, table=result.table).accepted()


def delete_others(store: Store, *, asset: str, besides: Collection[str]) -> list[Path]:
    """Delete the files of all tables of `asset` that are not in `besides`; returns them."""
    kept = {f"{table}{suffix}" for table in besides for suffix in (".json", SUFFIX)}
    files = _folder(store, asset=asset).glob("*.json")
    gone = [file for file in files if file.name not in kept]
    for file in gone:
        take_away(file)
    return gone


def _folder(store: Store, *, asset: str) -> Path:
    return store.root / FOLDER / asset.replace("/", "__")


def _result_in(file: Path) -> Result | None:
    try:
        result = Result(**json.loads(file.read_bytes()))
        expectations = [Expectation(**item) for item in result.expectations]  # ty: ignore
        outcomes = {name: Outcome(**item) for name, item in result.outcomes.items()}  # ty: ignore
    except DAMAGED:
        return None
    return replace(result, expectations=expectations, outcomes=outcomes)


def _accepted_in(file: Path) -> AcceptedProfile | None:
    try:
        record = json.loads(file.read_bytes())
        before = record.pop("before")
        profile = Profile(**record.pop("profile"))
        return AcceptedProfile(profile=profile, before=before and Profile(**before), **record)
    except DAMAGED:
        return None
