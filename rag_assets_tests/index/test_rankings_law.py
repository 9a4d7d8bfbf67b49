"""Rankings tell nothing of the order in which units came, changed or went.

Whatever was done to the tables of a variant, once a refresh has ended, each retriever returns the
lists that it returns over an index built from scratch on the same units, scores to the last bit.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lance import LanceDataset
from lancedb.index import FTS

from rag_assets import schemas
from rag_assets.config import Config, IndexSettings
from rag_assets.index.indexes import maintain
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.signals import state_of
from rag_assets.retrieval.units import UnitTable
from rag_assets.store import Store, text_parts
from rag_assets.store import store as stores
from rag_assets.store.clean_up import clean_up, merge
from rag_assets.store.search_indexes import text_index_name
from rag_assets.store.text_parts import text_index
from rag_assets_testing import effort
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, random_vectors, row, write
from rag_assets_tests.retrieval.test_retrievers import DIMENSION, HashEncoder

WORDS = [*"abcdefghijklmnopqrstuvwxyz", "the", "och"]
"""Frequent ones first; the last two are stop words."""
QUERIES = ("a", "b a", "z", "c d e f g", "k k the b", "a b c d e f g h i j x y", "och the")
RETRIEVERS = (
    "baseline",
    "bm25",
    "hybrid",
    "simple_fusion",
    "late_fusion",
    "hybrid_late_fusion",
    "without_glossary",
)
SETTINGS = {
    "glossary": {"entries": [{"term": "b a", "synonyms": ["z", "f g"]}, {"term": "k"}]},
    "retrieval": {"retrievers": {"without_glossary": {"signals": ["bm25"], "glossary": False}}},
}
FILTERS = (None, Filters(domain="table"), Filters(uri="1.pdf"))
DEPTHS = (1, 10)
LOOKS = [*product(range(len(FILTERS)), DEPTHS)] if effort.is_night() else [(0, 10), (1, 1), (2, 10)]
"""The place of a filter, and a depth."""
STEPS = (
    "add",
    "edit",
    "delete",
    "delete many",
    "delete the latest",
    "merge",
    "clean up",
    "refresh",
    "killed refresh",
    "upgrade",
)


class Killed(BaseException):
    """What stands in for a process that ends before it commits an index."""


class Tables:
    """The tables of a variant, and the units that they have to hold."""

    def __init__(self, path: Path, *, seed: int = 0) -> None:
        self.store = Store(path)
        self.config = Config.model_validate({"state_dir": path, **SETTINGS})
        names = self.config.tables_of(VARIANT)
        self.names = (names.joint, names.documents, names.rows)
        self.units: dict[str, dict] = {}
        self._random = np.random.default_rng(seed)
        self._made = self._passes = 0

    def step(self, name: str) -> None:
        getattr(self, f"_{name.replace(' ', '_')}")()

    def write(self, units: list[dict]) -> None:
        if units:
            write(self.store, self.config, units, _vectors(units))
            self.units |= {unit["unit_id"]: unit for unit in units}

    def refresh(self) -> None:
        self._passes += 1
        for name in self.names:
            maintain(
                self.store,
                name,
                settings=IndexSettings(),
                data_version=f"pass {self._passes}",
                log=lambda _: None,
            )

    def _add(self) -> None:
        self.write([self._unit() for _ in range(self._random.integers(1, 30))])

    def _edit(self) -> None:
        edited = {name: self._unit(like=self.units[name]) for name in self._some(0.2)}
        if not edited:
            return
        schema = schemas.units(DIMENSION)
        vectors = _vectors(edited.values())
        rows = [unit | {"vector": v} for unit, v in zip(edited.values(), vectors, strict=True)]
        for name, domain in zip(self.names, (None, "document", "table"), strict=True):
            here = [one for one in rows if domain in (None, one["domain"])]
            groups = [one["unit_id"] for one in here]
            if groups:
                fresh = pa.Table.from_pylist(here, schema=schema)
                self.store.replace(name, fresh, group="unit_id", groups=groups)
        self.units |= edited

    def _delete(self) -> None:
        self._remove(self._some(0.1))

    def _delete_many(self) -> None:
        self._remove(self._some(0.5))

    def _delete_the_latest(self) -> None:
        self._remove([*self.units][-self._random.integers(1, 40) :])

    def _remove(self, names: list[str]) -> None:
        for table in self.names:
            self.store.delete(table, column="unit_id", keys=names)
        for name in names:
            del self.units[name]

    def _merge(self) -> None:
        for name in self.names:
            merge(self.store, name)

    def _clean_up(self) -> None:
        for name in self.names:
            clean_up(self.store, name, older_than=timedelta(0), log=lambda _: None)

    def _refresh(self) -> None:
        self.refresh()

    def _killed_refresh(self) -> None:
        with pytest.MonkeyPatch.context() as patch:

            def kill(*_: object) -> None:
                raise Killed

            patch.setattr(LanceDataset, "commit_existing_index_segments", kill)
            with suppress(Killed):
                self.refresh()

    def _upgrade(self) -> None:
        """Leave what an earlier release left: an index under another name."""
        for name in self.names:
            table = self.store.open(name)
            for index in table.list_indices():
                table.drop_index(index.name)
            table.create_index("text", config=FTS(stem=False), name="text_of_an_earlier_release")

    def _some(self, share: float) -> list[str]:
        return [name for name in self.units if self._random.random() < share]

    def _unit(self, *, like: dict | None = None) -> dict:
        self._made += 1
        place = self._random.integers(0, len(WORDS), size=self._random.integers(0, 12))
        place = np.minimum(place, self._random.integers(0, len(WORDS), size=len(place)))
        text = " ".join(WORDS[n] for n in place)
        if like:
            return like | {"text": text, "text_hash": hashlib.sha256(text.encode()).hexdigest()}
        # ids in no order of time
        unit_id = hashlib.sha256(str(self._made).encode()).hexdigest()[:12]
        if self._made % 3:
            unit = chunk(text, unit_id=unit_id, uri=f"{self._made % 4}.pdf", index=self._made)
        else:
            unit = row(text, table="t", key=str(self._made), unit_id=unit_id)
        return unit | {"encoder_id": HashEncoder.encoder_id}


def _vectors(units: Iterable[dict]) -> np.ndarray:
    """A vector for each unit by its text, one of twelve: many units are equally near."""
    seeds = [hashlib.sha256(unit["text"].encode()).digest()[0] % 12 for unit in units]
    return np.concatenate([random_vectors(1, dimension=DIMENSION, seed=seed) for seed in seeds])


def rankings(tables: Tables) -> dict[tuple, list[tuple[str, float]]]:
    """Units and scores of each query, by each retriever, under each filter, down to each depth."""
    index = open_index(tables.store, tables.config, VARIANT, encoder=HashEncoder())
    index = index.without_cache()
    return {
        (name, place, depth, query): ranking.entries
        for name in RETRIEVERS
        for place, depth in LOOKS
        for query, ranking in zip(
            QUERIES,
            index.rank(QUERIES, retriever=name, top_k=depth, filters=FILTERS[place]).rankings,
            strict=True,
        )
    }


def differing(found: dict[tuple, list], expected: dict[tuple, list]) -> list[tuple]:
    return [key for key in expected if found[key] != expected[key]]


def bm25_state(table):
    """What a ranking by BM25 depends on, besides the units of `table`."""
    return state_of(UnitTable(table), "bm25")


def from_scratch(path: Path, units: dict[str, dict]) -> Tables:
    """The same units in tables of one fragment each, by id."""
    tables = Tables(path)
    tables.write([units[name] for name in sorted(units)])
    tables.refresh()
    return tables


@pytest.fixture(scope="module", autouse=True)
def _small_parts() -> Iterator[None]:
    """A few dozen units have several parts, and deletions take either way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_parts, "MOST_ROWS", 60)
        patch.setattr(text_parts, "FEW_ROWS", 5)
        patch.setattr(text_parts, "WORTH", 1)
        patch.setattr(stores, "KEYS_NAMED_TO_DELETE", 10)
        yield


@effort.examples(1, at_night=30)
@given(seed=st.integers(0, 2**32), steps=st.lists(st.sampled_from(STEPS), max_size=8))
@example(seed=0, steps=["delete the latest", "refresh", "delete", "delete the latest"])
@example(seed=1, steps=["refresh", "delete"])
@example(seed=2, steps=["refresh", "edit", "refresh", "edit"])
@example(seed=3, steps=["refresh", "add", "refresh", "delete the latest", "merge"])
@example(seed=4, steps=["refresh", "delete many", "killed refresh", "clean up", "add"])
@example(seed=5, steps=["add", "delete", "upgrade", "add", "edit"])
def test_rankings_after_any_history_are_those_of_a_build_from_scratch(seed, steps):
    with tempfile.TemporaryDirectory() as folder:
        tables = Tables(Path(folder) / "lived", seed=seed)
        for step in ("add", "add", "add", *steps, "add"):
            tables.step(step)
        tables.refresh()
        fresh = from_scratch(Path(folder) / "fresh", tables.units)

        assert differing(rankings(tables), rankings(fresh)) == []
        for name in tables.names:
            lived, built = (one.store.open(name) for one in (tables, fresh))
            assert text_index(lived.to_lance(), name=text_index_name(IndexSettings().text)).is_exact
            assert bm25_state(lived) == bm25_state(built)
            before = tables.store.version(name)
            tables.refresh()
            assert tables.store.version(name) == before, "an exact index is left alone"


KILLED = """
import os, sys
from pathlib import Path
from lance import LanceDataset
from rag_assets.config import IndexSettings
from rag_assets.index.indexes import maintain
from rag_assets.store import Store

LanceDataset.commit_existing_index_segments = lambda *_: os._exit(9)
settings = IndexSettings()
maintain(Store(Path(sys.argv[1])), sys.argv[2], settings=settings, data_version="x", log=print)
"""


def test_a_process_that_dies_before_its_commit_leaves_the_next_refresh_to_do_it(tmp_path):
    tables = Tables(tmp_path / "lived")
    for step in ("add", "add", "refresh", "edit", "delete"):
        tables.step(step)
    command = [sys.executable, "-c", KILLED, str(tables.store.root), tables.names[0]]
    assert subprocess.run(command, check=False).returncode == 9

    tables.refresh()

    fresh = from_scratch(tmp_path / "fresh", tables.units)
    assert differing(rankings(tables), rankings(fresh)) == []


def test_every_unit_gone_and_others_come_rank_as_if_they_had_been_alone(tmp_path):
    tables = Tables(tmp_path / "lived")
    tables.step("add")
    tables.refresh()
    tables._remove([*tables.units])
    tables.refresh()
    tables.step("add")
    tables.refresh()
    fresh = from_scratch(tmp_path / "fresh", tables.units)
    assert differing(rankings(tables), rankings(fresh)) == []


def test_units_that_no_refresh_has_seen_rank_otherwise(tmp_path):
    """What the law says of a refresh would not hold without it: the lists above can differ."""
    for step in ("delete many", "add"):
        tables = Tables(tmp_path / step)
        for _ in range(3):
            tables.step("add")
        tables.refresh()
        tables.step(step)
        fresh = from_scratch(tmp_path / f"{step}, fresh", tables.units)
        assert differing(rankings(tables), rankings(fresh)), step
        [lived, built] = (one.store.open(one.names[0]) for one in (tables, fresh))
        assert bm25_state(lived) != bm25_state(built)
