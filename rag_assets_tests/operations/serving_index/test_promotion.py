"""What serves moves by promotion alone, and readers open exactly that."""

from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rag_assets.documents.chunks.location import locate_chunk
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.repairing import repair
from rag_assets.operations.gate import blocked_candidate
from rag_assets.operations.problems import current as problems
from rag_assets.operations.problems.current import state_problems
from rag_assets.operations.serving_index.candidates import NothingReadError, NotReadyError
from rag_assets.operations.serving_index.promotion import promote, promote_refreshed
from rag_assets.operations.serving_index.rollback import roll_back
from rag_assets.operations.serving_index.status import serving_status
from rag_assets.retrieval.search import VariantIndex
from rag_assets.retrieval.serving import open_serving
from rag_assets.store import MissingIndexError, serving_pointer
from rag_assets.store.serving_pointer import (
    CURRENT,
    FOLDER,
    DamagedPointerError,
    GonePinsError,
    ServingPointerError,
)
from rag_assets_testing import effort
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import project
from rag_assets_testing.faults.built import small, small_of_two_variants
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import clean_up_at_once, refresh
from rag_assets_testing.faults.project import Project
from rag_assets_testing.faults.reading import mixed, texts

QUERY = "Report specimen series tested degrees steel"
WHY = "the test says so"


@pytest.fixture(autouse=True)
def hashed():
    with hashing():
        yield


@pytest.fixture
def made(tmp_path):
    """A project without questions whose variant `default` was built, by a stand-in for a model."""
    return small(tmp_path / "made")


@pytest.fixture
def moved(tmp_path):
    """The same after an edit, number 7, and a refresh: its second index serves."""
    return edited(tmp_path / "moved")


@pytest.fixture
def both(tmp_path):
    """The same with `other` built beside what serves."""
    return small_of_two_variants(tmp_path / "both")


@built_once
def edited(home):
    made = small(home)
    edit(made, 7)
    with hashing():
        refresh(made.config)
    return made


def edit(made: Project, edition: int) -> None:
    made.write("series0/report0.md", project.report(0, edition=edition))


def reconfigure(made: Project, old: str, new: str) -> None:
    text = made.file.read_text()
    assert old in text
    made.file.write_text(text.replace(old, new))


def opened(made: Project) -> VariantIndex:
    return open_serving(made.store, made.config)


def served(made: Project) -> list[str]:
    """All texts of what serves; that it is of one piece is looked at along the way."""
    index = opened(made)
    assert mixed(made.config, index) == []
    assert index.search(QUERY)
    return list(texts(made.config, index))


def swap(made: Project) -> serving_pointer.ServingPointer:
    """Let `other` serve, which is built."""
    done = promote(made.store, made.config, "other", override=WHY, log=print)
    assert done.pointer
    return done.pointer


def history(made: Project) -> list[tuple[str, str]]:
    return [(each.variant, each.by) for each in serving_pointer.history(made.store)][::-1]


def test_the_first_complete_build_serves_and_a_night_moves_on_by_itself(made):
    before = served(made)
    edit(made, 7)
    refresh(made.config)

    assert served(made) != before
    assert history(made) == [("default", "first build"), ("default", "refresh")]
    last = serving_pointer.current(made.store)
    assert last
    assert last.verdict
    assert last.verdict["outcome"] == "PASS"
    refresh(made.config)
    assert len(history(made)) == 2  # nothing changed: nothing moved


def test_a_first_build_of_which_no_source_could_be_read_serves_nothing(tmp_path):
    made = project.make(tmp_path / "made", documents=3, rows=6)
    away = [path for path in made.home.iterdir() if path != made.file]
    for path in away:
        path.rename(path.with_name(f"{path.name}.away"))

    for refused in (refresh, lambda config: promote(made.store, config, "default", log=print)):
        with pytest.raises(NothingReadError, match=r"Nothing can serve yet: .*documents"):
            refused(made.config)
    clean_up_at_once(made.config)
    clean_up_at_once(made.config)
    done = repair(Practice(made.store, made.config, ["default"], print))
    assert [each.severity for each in done.left.faults] == ["note"], "its sources are away"
    assert history(made) == []
    with pytest.raises(MissingIndexError):
        opened(made)
    assert blocked_candidate.read(made.store) is None, "nothing served before"

    away[0].with_name(f"{away[0].name}.away").rename(away[0])
    refresh(made.config)
    assert history(made) == [("default", "first build")], "one source is enough"


@pytest.mark.parametrize("broken", [{}, {"a.pdf": b"%PDF-1.4 broken", "b.md": b""}])
def test_a_first_build_in_which_no_unit_was_found_serves_nothing(tmp_path, broken):
    made = project.make(tmp_path / "made", documents=0, rows=1)
    made.execute("DELETE FROM tests", "DELETE FROM grades")
    made.documents.mkdir()
    for name, content in broken.items():
        (made.documents / name).write_bytes(content)

    with pytest.raises(NothingReadError, match=r"Nothing can serve yet: the sources hold nothing"):
        refresh(made.config)
    with pytest.raises(MissingIndexError):
        opened(made)


def test_another_variant_serves_only_once_a_person_asks(both):
    before = served(both)
    promote_refreshed(both.store, both.config, log=print)
    assert served(both) == before

    pointer = swap(both)
    assert (pointer.variant, pointer.by == "override") == ("other", pointer.reason == WHY)
    assert served(both) != before
    assert serving_pointer.serving_variant(both.store, both.config) == "other"


def test_what_is_not_complete_cannot_serve(made):
    with pytest.raises(NotReadyError, match="other is not complete"):
        promote(made.store, made.config, "other", override=WHY, log=print)
    assert history(made) == [("default", "first build")]


def test_a_rollback_is_at_once_and_stands_until_something_changes(made, moved):
    before, after = served(made), served(moved)

    assert roll_back(moved.store, moved.config).restores == 1
    assert served(moved) == before
    refresh(moved.config)
    done = promote_refreshed(moved.store, moved.config, log=print)
    assert done.status == "rolled back"
    assert "rollback" in done.reasons[0]
    assert served(moved) == before

    assert promote(moved.store, moved.config, "default", log=print).status == "moved"
    assert served(moved) == after
    roll_back(moved.store, moved.config)
    edit(moved, 8)
    refresh(moved.config)
    assert served(moved) not in (before, after)


def test_there_is_nothing_to_roll_back_to_after_the_first_build(made):
    with pytest.raises(ServingPointerError, match="nothing else has served yet"):
        roll_back(made.store, made.config)


def test_the_end_of_the_line_says_how_to_go_forward(moved):
    roll_back(moved.store, moved.config)

    with pytest.raises(ServingPointerError, match=r"no older one .* --to 2` goes forward"):
        roll_back(moved.store, moved.config)
    assert roll_back(moved.store, moved.config, to=2).restores == 2


EDITS = {
    "renamed": ("  default: {", "  newest: {"),
    "removed": ("  default: {parser: pdfium, chunking: small}\n", ""),
    "another recipe": ("small: {size: 48", "small: {size: 30"),
    "another retriever": ("retriever: bm25", "retriever: baseline"),
    "edited retriever": (
        "retriever: bm25",
        "retriever: bm25, retrievers: {bm25: {signals: [dense]}}",
    ),
    "a model that is nowhere": (
        "variants:",
        "models: {e5: {path: /nowhere}}\nvariants:",
    ),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_no_edit_of_the_config_is_an_outage(made, old, new):
    before = [(hit.unit_id, hit.score) for hit in opened(made).search(QUERY)]
    reconfigure(made, old, new)

    index = opened(made)
    assert [(hit.unit_id, hit.score) for hit in index.search(QUERY)] == before
    assert index.search(QUERY).retriever == "bm25"


def test_a_variant_that_the_config_asks_for_in_vain_is_told(made):
    status = serving_status(made.store, made.config)
    assert status
    assert status.unheeded is None
    reconfigure(made, "variants:", "serving: {variant: other}\nvariants:")
    status = serving_status(made.store, made.config)
    assert status
    assert (status.variant, status.unheeded) == ("default", "other")


def test_a_variant_under_another_name_goes_on_serving(made):
    reconfigure(made, *EDITS["renamed"])
    edit(made, 7)
    refresh(made.config, variant="newest")

    assert history(made)[-1] == ("newest", "refresh")


def test_another_retriever_serves_once_the_gate_let_it(made):
    reconfigure(made, "retriever: bm25", "retriever: hybrid")
    done = promote_refreshed(made.store, made.config, log=print)
    assert done.verdict
    assert (opened(made).search(QUERY).retriever == "hybrid") == done.verdict.allows


def test_what_is_held_back_is_a_problem_until_something_moves(made):
    before = served(made)
    reconfigure(made, "retriever: bm25", "retriever: baseline")  # vectors of chance
    done = promote_refreshed(made.store, made.config, log=print)
    assert done.status == "held"
    assert served(made) == before
    found = [each for each in state_problems(made.store, made.config) if "held" in each.kind]
    assert [each.subject for each in found] == ["variant default"]
    assert "override" in found[0].remedy

    promote(made.store, made.config, "default", override=WHY, log=print)
    assert opened(made).search(QUERY).retriever == "baseline"
    assert blocked_candidate.read(made.store) is None
    assert not [each for each in state_problems(made.store, made.config) if "held" in each.kind]


def test_a_retriever_by_settings_that_are_gone_is_replaced_at_the_next_refresh(made):
    pointer = serving_pointer.current(made.store)
    settings = {**pointer.query_side.settings, "signal_fusion": {"first_rank": 0}}
    side = replace(pointer.query_side, settings=settings)
    serving_pointer.renew(made.store, replace(pointer, query_side=side))

    with pytest.raises(ServingPointerError, match=r"`first_rank` was 0.* run `rag-assets refresh`"):
        opened(made)
    [lost] = [each for each in state_problems(made.store, made.config) if "lost" in each.kind]
    assert "first_rank" in lost.reason
    assert promote_refreshed(made.store, made.config, log=print).status == "moved"
    assert served(made)


def test_what_is_held_of_a_variant_that_is_gone_is_no_problem_with_a_remedy_that_fails(made):
    reconfigure(made, "retriever: bm25", "retriever: baseline")  # vectors of chance
    promote_refreshed(made.store, made.config, log=print)
    reconfigure(made, *EDITS["removed"])
    assert not [each for each in state_problems(made.store, made.config) if "held" in each.kind]


def test_new_content_is_served_while_another_retriever_is_held(made):
    before = served(made)
    reconfigure(made, "retriever: bm25", "retriever: baseline")  # vectors of chance
    edit(made, 7)
    refresh(made.config)

    assert served(made) != before
    assert opened(made).search(QUERY).retriever == "bm25"
    waiting = blocked_candidate.read(made.store)
    assert waiting
    assert "undo the edit" in waiting.remedy
    moves = history(made)
    refresh(made.config)
    assert history(made) == moves  # nothing changed: nothing moved


def test_a_rollback_stands_though_another_retriever_is_held(made, moved):
    roll_back(moved.store, moved.config)
    reconfigure(moved, "retriever: bm25", "retriever: baseline")  # vectors of chance
    done = promote_refreshed(moved.store, moved.config, log=print)

    assert done.status == "held"
    assert served(moved) == served(made)


def test_what_serves_and_left_the_config_gives_way_to_no_other_by_itself(both):
    reconfigure(both, *EDITS["removed"])
    refresh(both.config, variant="other")

    assert history(both) == [("default", "first build")]
    waiting = blocked_candidate.read(both.store)
    assert waiting
    assert waiting.remedy == "run `rag-assets variants promote other`, or put default back"
    swap(both)
    assert history(both)[-1][0] == "other"
    assert blocked_candidate.read(both.store) is None


def test_a_newest_index_that_nobody_judged_is_a_problem_until_it_serves(made, monkeypatch):
    monkeypatch.setattr(problems, "BETWEEN_STEPS", timedelta(0))

    def stale() -> list[str]:
        found = state_problems(made.store, made.config)
        return [each.reason for each in found if each.kind == "index_stale"]

    with patch(
        "rag_assets_testing.faults.pipeline.promote_refreshed"
    ):  # the evaluation failed, say
        edit(made, 7)
        refresh(made.config)
    assert len(stale()) == 1
    assert "the newest index does not serve yet" in stale()[0]

    promote_refreshed(made.store, made.config, log=print)
    assert stale() == []
    roll_back(made.store, made.config)
    assert stale() == []  # a person wanted it so


def test_a_rollback_whose_tables_are_gone_does_not_stand(moved):
    after = served(moved)
    roll_back(moved.store, moved.config)
    with patch.object(serving_pointer, "kept", return_value=[]):
        clean_up_at_once(moved.config)
    with pytest.raises(GonePinsError, match="run `rag-assets refresh`"):
        opened(moved)

    refresh(moved.config)
    assert served(moved) == after


def test_a_rollback_passes_over_a_record_whose_tables_are_gone(made, moved):
    edit(moved, 8)
    refresh(moved.config)
    is_held = serving_pointer.is_held

    def without_the_second(store, pointer) -> bool:
        return pointer.number != 2 and is_held(store, pointer)

    with patch.object(serving_pointer, "is_held", without_the_second):
        pointer = roll_back(moved.store, moved.config)
    assert pointer.restores == 1
    assert served(moved) == served(made)


def test_a_clean_up_spares_what_serves_and_what_served_before(moved):
    before = served(moved)
    edit(moved, 8)
    refresh(moved.config)
    after = served(moved)
    clean_up_at_once(moved.config)

    assert served(moved) == after != before
    with pytest.raises(GonePinsError, match=r"pointer 1 .*gone.*variants history") as refused:
        roll_back(moved.store, moved.config, to=1)
    assert "refresh" not in str(refused.value)  # which would not bring these back
    roll_back(moved.store, moved.config)
    assert served(moved) == before
    clean_up_at_once(moved.config)
    assert served(moved) == before


def test_rows_that_a_merge_wrote_anew_are_pinned_anew_under_the_same_number(made):
    before, pointer = served(made), serving_pointer.current(made.store)
    table = made.config.tables_of("default").joint
    made.store.open(table).to_lance().restore()  # as a merge: a new version, the same rows
    made.store.complete(table, made.store.ended(table))
    (made.store.index_file(table)).write_text("{}")
    refresh(made.config)

    after = serving_pointer.current(made.store)
    assert pointer
    assert after
    assert (after.number, after.moved_at) == (pointer.number, pointer.moved_at)
    assert served(made) == before


def test_a_damaged_pointer_is_named_and_mended_by_a_rollback_or_a_promotion(made):
    before = served(made)
    file = made.store.root / FOLDER / CURRENT
    for mend in (
        lambda: roll_back(made.store, made.config),
        lambda: promote(made.store, made.config, "default", override=WHY, log=print),
    ):
        file.write_text("{")
        with pytest.raises(DamagedPointerError, match=r"current\.json"):
            opened(made)
        kinds = {each.kind for each in state_problems(made.store, made.config)}
        assert "serving_lost" in kinds
        mend()
        assert served(made) == before


def test_a_refresh_under_a_damaged_pointer_builds_no_other_variant(both):
    swap(both)
    (both.store.root / FOLDER / CURRENT).write_text("{")
    assert serving_pointer.serving_variant(both.store, both.config) == "other"


def test_a_unit_is_shown_from_the_chunks_that_serve(both):
    hit = next(hit for hit in opened(both).search("Specimen 0 series") if hit.domain == "document")
    swap(both)
    roll_back(both.store, both.config)
    both.write(hit.uri, "# Nothing of it is left\n")
    with patch("rag_assets_testing.faults.pipeline.promote_refreshed"):  # it is held, say
        refresh(both.config)

    found = locate_chunk(both.store, both.config, variant=None, unit_id=hit.unit_id)
    assert found.elements_version is not None
    assert both.store.read(found.elements, where=found.within, version=found.elements_version)


class Serving(RuleBasedStateMachine):
    """Whatever is done, readers get one complete set: what the last move said."""

    home = None
    made: Project

    @initialize()
    def build(self):
        import tempfile
        from pathlib import Path

        self.made = small(Path(tempfile.mkdtemp(dir=self.home)))
        self.edition, self.name = 10, "default"
        self.expected = served(self.made)

    @rule()
    def refresh(self):
        self.edition += 1
        edit(self.made, self.edition)
        serving = serving_pointer.serving_variant(self.made.store, self.made.config)
        refresh(self.made.config, variant=serving)
        self.expected = served(self.made)
        assert f"{self.edition}" in " ".join(self.expected)

    @rule()
    def build_the_other_one(self):
        refresh(self.made.config, variant="other")

    @rule()
    def swap(self):
        serving = serving_pointer.serving_variant(self.made.store, self.made.config)
        to = self.name if serving == "other" else "other"
        refresh(self.made.config, variant=to)
        promote(self.made.store, self.made.config, to, override=WHY, log=lambda _: None)
        now = serving_pointer.current(self.made.store)
        assert now
        assert now.variant == to
        self.expected = served(self.made)

    @precondition(lambda self: serving_pointer.previous(self.made.store))
    @rule()
    def roll_back(self):
        wanted = serving_pointer.previous(self.made.store)
        assert wanted
        if serving_pointer.is_held(self.made.store, wanted):
            assert roll_back(self.made.store, self.made.config).content == wanted.content
            self.expected = served(self.made)

    @rule()
    def clean_up(self):
        clean_up_at_once(self.made.config)

    @rule()
    def rename(self):
        fresh = "renamed" if self.name == "default" else "default"
        reconfigure(self.made, f"  {self.name}: {{", f"  {fresh}: {{")
        self.name = fresh

    @invariant()
    def readers_see_what_was_promoted(self):
        if hasattr(self, "expected"):
            assert served(self.made) == self.expected


@pytest.mark.hypothesis
def test_readers_always_see_one_complete_pinned_set(tmp_path):
    Serving.home = tmp_path
    run_state_machine_as_test(
        Serving,
        settings=effort.examples(
            3,
            at_night=30,
            stateful_step_count=6,
            suppress_health_check=list(HealthCheck),
        ),
    )
