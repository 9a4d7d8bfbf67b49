from html.parser import HTMLParser

import pytest

from rag_assets import quality
from rag_assets.store import Store
from rag_assets_tests.quality.subject import Table, subject_of


class Shown(HTMLParser):
    """The texts of a page, its links and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append(value)
            if name == "id":
                self.ids.add(value)

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def judged(store, *tables: Table) -> Shown:
    for table in tables:
        quality.result_of(subject_of(table), store=store, log=print, partition="default")
    return Shown(quality.page_file(store).read_text("utf-8"))


def test_the_page_shows_each_expectation_and_what_was_found(store):
    table = Table()
    table.totals["oversized_chunks"] = 12
    shown = judged(store, table)

    assert "oversized_chunks at most 0" in shown.text
    assert "observed 12" in shown.text
    assert "uri: a.md, tokens: 300" in shown.text
    assert {"fails", "holds"} <= set(shown.texts)
    assert "What does not hold" in shown.text


def test_the_page_is_one_file_without_script_and_its_links_stay_inside(store):
    table = Table()
    table.totals["oversized_chunks"] = 12
    shown = judged(store, table)

    assert "script" not in shown.tags
    assert shown.links
    assert all(link.removeprefix("#") in shown.ids for link in shown.links)


def test_markup_in_the_data_is_shown_as_text(store):
    table = Table()
    table.totals["duplicate_ids"] = 1
    table.measure = lambda *_: quality.TableMeasures(
        table.totals, {"duplicate_ids": [{"id": "<script>alert(1)</script>"}]}, table.profile
    )
    shown = judged(store, table)

    assert "id: <script>alert(1)</script>" in shown.text
    assert "script" not in shown.tags


def test_a_table_that_was_judged_again_takes_the_place_of_its_old_result(store):
    bad, good = Table(), Table(version="2")
    bad.totals["oversized_chunks"] = 12
    shown = judged(store, bad, good)

    assert "fails" not in shown.texts
    assert "What does not hold" not in shown.text


def test_the_rows_of_several_accepted_runs_are_drawn(store):
    shown = judged(store, Table(), Table(version="2"), Table(version="3"))

    assert "polyline" in shown.tags
    assert "Rows of chunks__default in the last 3 accepted runs" in shown.text
