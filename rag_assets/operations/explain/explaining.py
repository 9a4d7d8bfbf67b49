"""Where does this come from? The way of one unit, from its source to the index that answers.

    lineage = explain(store, config, unit_id="5f0c1e5e", variant="default")
    for step in lineage.steps:
        print(step.asset, step.made.at, step.facts)

Read from the tables as they lie there: at the pins of the complete set where it has them, else at
the newest version. Who made a row, and when, is told by the commits of the tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rag_assets import schemas
from rag_assets.change.tracing import Json, Row, UnitStep, UnitTrace, as_json
from rag_assets.columns.sql import quoted
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.identity import Canonical, id_that_begins
from rag_assets.retrieval.access import PLACE, Sight
from rag_assets.store import Store, serving_pointer
from rag_assets.store.catalog import folder_of
from rag_assets.store.complete_sets import CompleteSet, answering, set_of
from rag_assets.store.pins import Pin
from rag_assets.store.provenance import last_seen, row_of, row_that_begins, time_of
from rag_assets.store.serving_pointer import ServingPointer

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

TEXT_SHOWN = 120
LONGEST_FACT = 160
_SEE = "`rag-assets search` shows the id of each hit"


@dataclass(frozen=True, slots=True)
class FoundUnit:
    """A unit of an index."""

    variant: str
    complete_set: CompleteSet
    pointer: ServingPointer | None
    """What serves, if that was searched."""
    row: Row
    """The row of the joint table, without its vector."""

    @property
    def unit_id(self) -> str:
        """The whole id."""
        return str(self.row["unit_id"])

    @property
    def place(self) -> str:
        """The document with its pages, or the table with the row's key."""
        return _place(self.row)


@dataclass(frozen=True, slots=True)
class UnitLineage:
    """All that a unit was made from, its source first."""

    unit_id: str
    variant: str
    domain: str
    place: str
    """The document with its pages, or the table with the row's key."""
    text: str
    steps: Sequence[UnitStep]

    def record(self) -> dict[str, Json]:
        """The lineage as JSON."""
        return asdict(self) | {
            "steps": [
                asdict(step) | {"is_exact": step.made.is_exact if step.made else None}
                for step in self.steps
            ]
        }


def explain(
    store: Store,
    config: Config,
    *,
    unit_id: str,
    variant: str | None = None,
    sight: Sight | None = None,
) -> UnitLineage:
    """The way of the unit that `find_unit` finds.

    Raises:
        UnknownIdError, ConfigError, MissingIndexError, ServingPointerError: As `find_unit`.
    """
    found = find_unit(store, config, unit_id=unit_id, variant=variant, sight=sight)
    unit = found.row
    trace = UnitTrace(
        store=store,
        config=config,
        complete_set=found.complete_set,
        unit=unit,
        variant=found.variant,
        keys={step.asset: step.key for step in STEPS.all_of(config, config.serving_variant)},
        tables=_tables(store, config, found.complete_set, variant=found.variant),
        pointer=found.pointer,
    )
    of_domain = [kind for kind in STEPS.kinds if kind.domain in (None, unit["domain"])]
    return UnitLineage(
        unit_id=found.unit_id,
        variant=found.variant,
        domain=str(unit["domain"]),
        place=found.place,
        text=str(unit["text"]),
        steps=[step for kind in of_domain if (step := kind.traced(trace))],
    )


def _tables(
    store: Store, config: Config, complete_set: CompleteSet, *, variant: str
) -> Mapping[str, tuple[str, Canonical]]:
    """The table and the settings of each step; none where `variant` has another recipe by now."""
    if variant not in config.variants or not complete_set.is_of(store, config.tables_of(variant)):
        return {}
    steps = STEPS.in_order(config, variant)
    return {asset: (step.table, step.recipe) for asset, step in steps.items()}


def lineage_in_short(index: "VariantIndex", units: Sequence[str]) -> dict[str, dict[str, Json]]:
    """The lineage of hits by their ids: no table but the searched one is read."""
    rows = index.read(units, COMPACT_COLUMNS).to_pylist() if units else []
    return {row["unit_id"]: _compact(index.complete_set, row) for row in rows}


def _compact(complete_set: CompleteSet, unit: Row) -> dict[str, Json]:
    pin = complete_set.documents if unit["domain"] == "document" else complete_set.rows
    return {
        "document_id": as_json(unit["document_id"]),
        "characters": [as_json(unit["char_start"]), as_json(unit["char_end"])],
        "text_hash": as_json(unit["text_hash"]),
        "made_from": as_json(unit["fingerprint"]),
        "encoder_id": as_json(unit["encoder_id"]),
        "joint": _pinned(complete_set.joint),
        "vectors": _pinned(pin) if pin else None,
    }


COMPACT_COLUMNS = (
    *("domain", "document_id", "char_start", "char_end", "text_hash"),
    *("encoder_id", schemas.FINGERPRINT.name),
)
"""The columns of the searched table that `lineage_in_short` needs."""


def _pinned(pin: Pin) -> dict[str, Json]:
    return {"table": folder_of(pin.table), "version": pin.version}


def find_unit(
    store: Store,
    config: Config,
    *,
    unit_id: str,
    variant: str | None = None,
    sight: Sight | None = None,
) -> FoundUnit:
    """The unit whose id is, or begins with, `unit_id`.

    It is looked for in the index of `variant`; in what serves, if none is named. With `sight`,
    which is of that index, only what it sees is there.

    Raises:
        UnknownIdError: The index has none, or more than one.
        ConfigError: The config has no such variant.
        MissingIndexError: It has no complete index.
        ServingPointerError: What serves is damaged.
    """
    pointer = serving_pointer.current(store) if variant is None else None
    if pointer:
        variant, complete_set = pointer.variant, pointer.complete_set
    else:
        variant = variant or config.serving_variant
        complete_set = set_of(store, config, variant)
    joint = complete_set.joint

    def ids(start: str) -> list[str]:
        where = f"starts_with(unit_id, {quoted(start)})"
        found = store.read(joint.table, columns=[*PLACE], where=where, version=joint.version)
        return [
            row["unit_id"] for row in found.to_pylist() if sight is None or sight.sees_unit(row)
        ]

    def nearest(start: str) -> str:
        return _SEE if sight else _nearest(store, config, complete_set, start=start)

    chosen = id_that_begins(unit_id, ids, what=f"unit of variant {variant}", see=nearest)
    row = row_of(store, joint.table, key="unit_id", value=chosen, version=joint.version)
    assert row is not None, "it was just found"
    return FoundUnit(variant, complete_set, pointer, row)


def _nearest(store: Store, config: Config, complete_set: CompleteSet, *, start: str) -> str:
    """What is known of an id that the index does not have."""
    for other in answering(store, config):
        if other.joint != complete_set.joint and row_that_begins(
            store, other.joint.table, key="unit_id", start=start, version=other.joint.version
        ):
            return f"variant {other.variant} has one: name it with --variant"
    table = complete_set.joint.table
    seen = last_seen(store, table, key="unit_id", start=start)
    if seen is None:
        return _SEE
    version, row = seen
    gone = next((each for each in store.versions(table) if each > version), None)
    since = time_of(store, table, gone) if gone else None
    text = str(row["text"])[:TEXT_SHOWN]
    return (
        f"unit {row['unit_id']} is gone since version {gone} of {folder_of(table)} ({since}): it "
        f"was in {_place(row)} and began with {text!r}. Its source was edited, renamed or removed, "
        "or is cut otherwise now"
    )


def _place(unit: Row) -> str:
    if unit["domain"] == "table":
        return f"{unit['uri']}, row {unit['row_key']}"
    pages = unit["pages"]
    shown = ", ".join(map(str, pages)) if isinstance(pages, list) else ""
    return f"{unit['uri']}, page {shown}" if shown else str(unit["uri"])


def rows_of(lineage: UnitLineage) -> list[dict[str, str]]:
    """The steps as rows of a table, for people."""
    return [
        {
            "step": step.asset,
            "made": _made(step),
            "by run": (step.made.run if step.made else None) or "-",
            "in": f"{step.table}, version {step.version}",
            "from": "; ".join(_facts(step)),
            "would change it": step.would_change,
        }
        for step in lineage.steps
    ]


def _made(step: UnitStep) -> str:
    if step.made is None:
        return "gone from this table since the index was built"
    at = step.made.at or "unknown"
    return at if step.made.is_exact else f"{at} at the latest"


def _facts(step: UnitStep) -> Iterator[str]:
    """What is known at a step, without what is empty; settings are for programs."""
    for name, value in step.facts.items():
        if value in (None, [], {}, "") or name == "settings":
            continue
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        label = name.replace("_", " ")
        yield f"{label} {shown if len(shown) <= LONGEST_FACT else f'{shown[:LONGEST_FACT]} ...'}"
