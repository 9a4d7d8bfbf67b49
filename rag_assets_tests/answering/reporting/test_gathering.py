"""Units are taken fairly from several searches, each once."""

import pytest

from rag_assets import config as configuration
from rag_assets.answering.reporting import gathering
from rag_assets.answering.reporting.decomposition import as_listed
from rag_assets.answering.reporting.gathering import fairly, gather
from rag_assets.config import ReportSettings
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.serving import open_serving
from rag_assets.store import Store
from rag_assets.table_lookup.arm import arms_of
from rag_assets_testing import small_project
from rag_assets_testing.faults import pipeline

SPRING = "A spring stores energy. Its stiffness is 12 N/mm at room temperature. The paint is red."
PROMPT = "Write a report on machine parts:\n- springs\n- heat\n- salt"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    home = tmp_path_factory.mktemp("gathering")
    small_project.make(home)
    (home / "documents" / "spring.md").write_text(f"# Springs\n\n{SPRING}\n")
    (home / "documents" / "spring_again.md").write_text(f"# Springs\n\n{SPRING} Mostly.\n")
    (home / "documents" / "spring_copy.md").write_text(f"# Springs\n\n{SPRING}\n")
    config = configuration.load(home / "rag_assets.yaml")
    pipeline.refresh(config)
    store = Store.of(config)
    return open_serving(store, config, arms=arms_of(store, config))


def gathered(index, prompt=PROMPT, **settings):
    return gather(
        index,
        as_listed(prompt),
        settings=ReportSettings(**settings),
        filters=Filters(domain="document"),
    )


def test_rankings_take_turns_and_then_the_whole_prompt_fills():
    rankings = [["a1", "a2", "a3"], ["b1", "a1", "b3"]]
    assert fairly(rankings, each=2, then=["w", "b1"], most=5) == ["a1", "b1", "a2", "w", "a3"]
    assert fairly(rankings, each=1, then=[], most=9) == ["a1", "b1", "a2", "a3", "b3"]


def test_each_sub_question_has_its_best_unit_first(index):
    found = gathered(index)
    assert {unit.uri for unit in found.units[:3]} >= {"heat.md", "salt.md"}
    assert [part.hits[0].rank for part in found.by_part] == [1, 1, 1]


def test_copies_and_near_copies_count_once(index, monkeypatch):
    def springs():
        return [unit.uri for unit in gathered(index).units if "spring" in unit.uri]

    monkeypatch.setattr(gathering, "NEAR", 0.9)
    assert len(springs()) == 1
    monkeypatch.setattr(gathering, "NEAR", 1.0)
    assert len(springs()) == 2


def test_no_more_units_than_fit_and_each_once(index, monkeypatch):
    monkeypatch.setattr(gathering, "MOST_UNITS", 2)
    found = gathered(index, units_each=1)
    assert len({unit.unit_id for unit in found.units}) == len(found.units) == 2
    known = {unit.unit_id for unit in found.units}
    assert {hit.unit_id for part in found.by_part for hit in part.hits} <= known


def test_a_prompt_with_one_topic_is_searched_once(index):
    told = []
    decomposition = as_listed("Write a report on springs.")
    gather(index, decomposition, settings=ReportSettings(), progress=told.append)
    assert told == ["searching for Springs"]


def test_an_unknown_retriever_is_named(index):
    with pytest.raises(ValueError, match="oracle"):
        gather(index, as_listed(PROMPT), settings=ReportSettings(), retriever="oracle")
