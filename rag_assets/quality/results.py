"""What is kept of the checks: the last result of each table, and the profile last accepted.

    checks/<asset>/<table>.json           the result, until the table or its suite changes
    checks/<asset>/<table>.profile.json   the profile of the last accepted run, and a short history

Tables are shared by variants, and so are their results; those of a table that no variant uses any
more are deleted with the next check of its asset. Files are written atomically; a damaged one
counts as absent: the table is then measured again.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from rag_assets.quality.suites import DRIFT_TOTALS
from rag_assets.quality.values import Expectation, Number, Outcome, Profile, told
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

EXAMPLES_TOLD = 3
"""Of those kept: a terminal is no place for more."""
HISTORY = 30
"""Accepted runs whose numbers are kept."""
FOLDER = "checks"
SUFFIX = ".profile.json"
DAMAGED = (FileNotFoundError, ValueError, AttributeError, KeyError, TypeError)
"""What reading a file raises that is not there, or holds anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How the suite of one table went."""

    state: str
    """Fingerprint of the data, the suite and the version of this package."""
    at: str
    """When it was judged: ISO 8601, UTC."""
    stage: str
    asset: str
    """The asset as a person writes its key."""
    table: str
    rows: int
    expectations: Sequence[Expectation]
    outcomes: Mapping[str, Outcome]

    @property
    def failed(self) -> list[Expectation]:
        """The expectations that do not hold."""
        return [item for item in self.expectations if not self.outcomes[item.name].passed]

    def remedy(self, expectation: Expectation) -> str:
        """What to do where it does not hold, and where the config bounds it."""
        key = expectation.name
        if expectation.total is None:
            key = "expectations"
        elif expectation.total in DRIFT_TOTALS:
            key = "drift"
        return f"{expectation.remedy}; what is allowed: checks.{self.stage}.{key} in the config"

    def said_of(self, expectation: Expectation) -> list[str]:
        """Why it does not hold, for people: what was found, a few examples, and the remedy."""
        outcome = self.outcomes[expectation.name]
        return [
            f"{expectation.name}: {outcome.summary}",
            *(f"  {told(example)}" for example in outcome.examples[:EXAMPLES_TOLD]),
            f"  what to do: {self.remedy(expectation)}",
        ]

    @property
    def blocks(self) -> bool:
        """Whether one of them is an error."""
        return any(item.severity == "error" for item in self.failed)

    @property
    def drifted(self) -> bool:
        """Whether one of the failed is about drift."""
        return any(item.total in DRIFT_TOTALS for item in self.failed)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The profile that the next change is held against."""

    version: str
    """Data version of the profiled table."""
    profile: Profile
    before: Profile | None = None
    """What it was itself held against."""
    history: Sequence[Mapping[str, str | Number]] = field(default=())
    """When, and the numbers of the accepted runs, the oldest first."""

    def baseline(self, version: str) -> Profile | None:
        """The profile to hold data of this version against."""
        return self.before if version == self.version else self.profile


class Ledger:
    """The results and the profile of one table."""

    def __init__(self, store: Store, *, asset: str, table: str) -> None:
        """Nothing is written before something is kept."""
        self._file = _folder(store, asset=asset) / f"{table}.json"
        self._profile_file = self._file.with_suffix(SUFFIX)

    def result(self) -> Result | None:
        """The last result."""
        return _result_in(self._file)

    def keep(self, result: Result) -> None:
        """Make `result` the last one."""
        write_atomically(self._file, json.dumps(asdict(result), indent=1))

    def accepted(self) -> Accepted | None:
        """The profile of the last accepted run."""
        return _accepted_in(self._profile_file)

    def accept(self, profile: Profile, *, version: str, before: Profile | None) -> None:
        """Hold the next change against `profile`."""
        held = self.accepted()
        entry: dict[str, str | Number] = {"at": now(), "rows": profile.rows}
        if profile.mean_length is not None:
            entry["mean length"] = round(profile.mean_length, 1)
        history = list(held.history) if held else []
        if held is None or held.version != version:
            history = [*history, entry][-HISTORY:]
        accepted = Accepted(version, profile, before, history)
        write_atomically(self._profile_file, json.dumps(asdict(accepted)))


def now() -> str:
    """This second, ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def results_in(store: Store) -> list[Result]:
    """The last result of each table, by asset and table."""
    files = sorted((store.root / FOLDER).glob("*/*.json"))
    found = (_result_in(file) for file in files if not file.name.endswith(SUFFIX))
    return [result for result in found if result is not None]


def accepted_of(store: Store, result: Result) -> Accepted | None:
    """The profile that the next change of the table is held against."""
    return Ledger(store, asset=result.asset, table=result.table).accepted()


def dropped(store: Store, *, asset: str, besides: Collection[str]) -> list[Path]:
    """The files of tables of `asset` that are not among `besides`, all of them deleted."""
    kept = {f"{table}{suffix}" for table in besides for suffix in (".json", SUFFIX)}
    files = _folder(store, asset=asset).glob("*.json")
    gone = [file for file in files if file.name not in kept]
    for file in gone:
        file.unlink(missing_ok=True)
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


def _accepted_in(file: Path) -> Accepted | None:
    try:
        record = json.loads(file.read_bytes())
        before = record.pop("before")
        profile = Profile(**record.pop("profile"))
        return Accepted(profile=profile, before=before and Profile(**before), **record)
    except DAMAGED:
        return None
