"""`rag-assets documents purge`: one document is gone from everything, and nothing else is."""

import json
import random
import shutil
import sqlite3
import time
from contextlib import ExitStack, closing
from urllib.parse import quote

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lance.file import LanceFileReader

from rag_assets import schemas
from rag_assets.answering.assistant import Assistant
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.exporting import export
from rag_assets.answering.record.keeping import keep
from rag_assets.answering.record.kept import context_of
from rag_assets.answering.record.listing import one
from rag_assets.change.quarantine import Failure, record
from rag_assets.evaluation.questions import read_questions, refresh_questions
from rag_assets.identity import document_id
from rag_assets.media.json_lines import append
from rag_assets.operations.erasure import purge as purging
from rag_assets.operations.erasure import run_records
from rag_assets.operations.erasure.scope import PurgeContext
from rag_assets.operations.serving_index.rollback import roll_back
from rag_assets.questions.making import refresh_generated
from rag_assets.questions.steps import makers
from rag_assets.retrieval.cache import Cache
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import OutdatedIndexError, open_index
from rag_assets.retrieval.rankings import Ranking
from rag_assets.retrieval.serving import open_serving
from rag_assets.serving import dagster_instance
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets.store import branches, complete_sets, serving_pointer
from rag_assets.store.serving_pointer import GonePinsError
from rag_assets_testing import effort
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import comparing
from rag_assets_testing.faults.hashing import HashEncoder, hashing
from rag_assets_testing.faults.kills import kill, said_by
from rag_assets_testing.faults.pipeline import Runs, clean_up_at_once
from rag_assets_testing.recorded_answers import asked, quoting
from rag_assets_tests.operations import project
from rag_assets_tests.operations.project import NEEDLES, SECRET, SHARED, TEXT
from rag_assets_tests.operations.searching import places_of

KILLS, LATEST = (4, 1.0) if effort.is_night() else (1, 0.6)
"""Kills for each seed, and the latest of their moments: a share of what a purge takes."""


VARIANTS = ("default", "other")


@built_once
def with_two_variants(home):
    made = project.with_the_document(home)
    project.build(made, "other")
    return made


@built_once
def without_the_document(home):
    made = project.make(home, with_secret=False)
    project.build(made, *VARIANTS)
    return made


of_two_variants = pytest.mark.parametrize("made", [with_two_variants], indirect=True)


@pytest.fixture
def made(tmp_path, request):
    """A project that was built, with the document; of one variant unless a test asks for two."""
    build = getattr(request, "param", project.with_the_document)
    return build(tmp_path / "project")


@pytest.fixture(scope="module")
def runs():
    """Starts purges that may be killed."""
    return Runs()


@pytest.fixture
def purge(made, capsys, monkeypatch):
    """The command for the project."""
    return lambda *options, **asked: project.purge(made, capsys, monkeypatch, *options, **asked)


def reader(made, variant="default"):
    return open_index(made.store, made.config, variant, encoder=HashEncoder(None))


def words_indexed(table):
    """How many words the full-text indexes of a table know; which ones stands in no plain bytes."""
    files = [str(file) for file in table.glob("_indices/*/*_tokens.lance")]
    parts = [LanceFileReader(file).read_all().to_table() for file in files]
    return sum(part["_token_next_id"][0].as_py() for part in parts)


def fresh(tmp_path):
    """What a build that never had the document holds."""
    other = without_the_document(tmp_path / "fresh")
    return comparing.contents(other.home / "state")


def test_a_document_that_its_source_still_has_is_not_purged(made, purge):
    before = comparing.contents(made.home / "state")

    code, _, said = purge("--yes")

    assert code == FAILED
    assert f"still has {SECRET}: remove it from the source first" in said
    assert str(made.documents / SECRET) in said
    assert (made.documents / SECRET).exists()
    assert comparing.contents(made.home / "state") == before


@of_two_variants
def test_nothing_is_left_anywhere_and_a_refresh_equals_a_build_without_it(made, purge, tmp_path):
    state = made.home / "state"
    run = project.run_recorded(made, TEXT)
    other = project.run_recorded(made, "Nothing of it.")
    (state / "reports" / "default").mkdir(parents=True)
    pq.write_table(
        pa.table({"uri": [SECRET], "text": [TEXT[:80]]}),
        state / "reports" / "default" / "rankings.parquet",
    )
    (state / "reports" / "default" / "evaluation.json").write_text("{}")
    record(made.store, target="chunks", failures=[Failure("key", f"{SECRET} is bad", SECRET)])
    assert places_of(state, *NEEDLES)
    project.withdraw(made)

    code, answer, said = purge("--yes")

    assert code == OK, said
    assert places_of(state, *NEEDLES, document_id("documents", SECRET)) == []
    assert answer["left"] == []
    assert answer["removed"]["runs"] == [run]
    assert answer["searched"]["tables"] == len(made.store.generations())
    with dagster_instance.opened(made.config) as opened:
        assert [each.run_id for each in opened.get_runs()] == [other]
    ledger = made.home / "ledger"
    project.build(made, *VARIANTS, ledger=ledger)
    assert comparing.written_down(ledger) == []
    assert comparing.contents(state) == fresh(tmp_path)
    for table in (state / "lance").glob("joint__*.lance"):
        assert words_indexed(table) == words_indexed(tmp_path / "fresh/state/lance" / table.name)


@of_two_variants
def test_what_a_refresh_has_already_removed_is_erased_from_versions_and_indexes(
    made, purge, tmp_path
):
    project.withdraw(made)
    project.build(made, "default")  # the variant `other` still answers with it
    assert places_of(made.home / "state", *NEEDLES)

    code, answer, said = purge("--yes")

    assert code == OK, said
    assert places_of(made.home / "state", *NEEDLES) == []
    assert answer["removed"]["units"]
    for variant in VARIANTS:
        hits = reader(made, variant).search("plasma fortnights alloy")
        assert all(hit.uri != SECRET for hit in hits)
    project.build(made, *VARIANTS)
    assert comparing.contents(made.home / "state") == fresh(tmp_path)


@of_two_variants
def test_a_retired_generation_and_tables_of_former_settings_lose_it_too(made, purge):
    chunks = made.config.tables_of("default").chunks
    made.store.retire(chunks)
    made.file.write_text(made.file.read_text().replace("size: 24", "size: 32"))
    project.build(made, *VARIANTS)
    project.withdraw(made)

    code, answer, said = purge("--yes")

    assert code == OK, said
    generations = set(answer["removed"]["rows"])
    assert len([each for each in generations if each.startswith("chunks__pdfium__small")]) == 2
    assert len([each for each in generations if each.startswith("chunks__pdfium__tiny")]) == 2
    assert places_of(made.home / "state", *NEEDLES) == []


@of_two_variants
def test_an_open_reader_is_told_and_other_variants_keep_their_own_version(made, purge):
    def rows_of(variant):
        pins = complete_sets.set_of(made.store, made.config, variant).unit_pins
        read = [made.store.read(pin.table, version=pin.version).to_pylist() for pin in pins]
        return {
            (place, row["unit_id"]): repr(row) for place, rows in enumerate(read) for row in rows
        }

    opened = reader(made)
    project.withdraw(made)
    made.write("series0/report0.md", "# Report 0\n\nA new text.\n")
    project.build(made, "default")
    before = rows_of("other")

    assert purge("--yes")[0] == OK

    with pytest.raises(OutdatedIndexError, match="open it again"):
        opened.search("plasma")
    held = complete_sets.set_of(made.store, made.config, "other")
    assert complete_sets.is_kept(made.store, held)
    assert rows_of("other") == {key: row for key, row in before.items() if SECRET not in row}
    assert all("A new text" not in hit.text for hit in reader(made, "other").search("new text"))


def test_what_serves_goes_on_without_the_document_and_nobody_rolls_back_to_it(made, purge):
    made.write("series0/report0.md", "# Report 0\n\nA new text.\n")
    project.build(made)
    before = serving_pointer.current(made.store)
    project.withdraw(made)

    assert purge("--yes")[0] == OK

    after = serving_pointer.current(made.store)
    assert before
    assert after
    assert after.number == before.number == 2
    hits = open_serving(made.store, made.config, encoder=HashEncoder(None)).search("new text")
    assert any("A new text" in hit.text for hit in hits)
    assert all(hit.uri != SECRET for hit in hits)
    with pytest.raises(GonePinsError):
        roll_back(made.store, made.config)


def test_texts_and_pictures_that_others_share_stay(made, purge):
    def images():
        return set(made.store.read(schemas.IMAGES_TABLE)["image"].to_pylist())

    before = images()
    project.withdraw(made)

    code, answer, _ = purge("--yes")

    assert code == OK
    assert len(before) == 2
    assert len(images()) == 1
    assert answer["removed"]["pictures"] == 1
    joint = made.store.read(made.config.tables_of("default").joint)
    assert any(SHARED in text for text in joint["text"].to_pylist())


def test_a_branch_that_an_earlier_release_kept_goes_with_what_it_reads(made, purge):
    pointer = serving_pointer.current(made.store)
    assert pointer
    pin = pointer.complete_set.joint
    name = f"{branches.PREFIX}kept"
    made.store.open(pin.table).branches.create(name, from_version=pin.version)
    project.withdraw(made)
    project.build(made)
    code, _, said = purge("--yes")

    assert code == OK, said
    assert made.store.dataset(pin.table).branches.list() == {}
    assert places_of(made.home / "state", *NEEDLES) == []
    assert reader(made).search("steel").hits


def test_rankings_that_name_its_units_leave_the_cache_and_scores_stay(made, purge):
    file = made.home / "state" / "cache" / "retrieval.sqlite"
    cache = Cache(file)
    units = made.store.read(made.config.tables_of("default").joint)["unit_id"].to_pylist()
    cache.keep_rankings({"key": Ranking(tuple(units), tuple(1.0 for _ in units))}, depth=9)
    cache.keep_scores({"key": 0.5})
    project.withdraw(made)

    assert purge("--yes")[0] == OK

    assert cache.rankings(["key"], depth=9) == {}
    assert cache.scores(["key"]) == {"key": 0.5}
    assert not any(unit.encode() in file.read_bytes() for unit in units)


def test_a_tag_that_keeps_a_version_is_named_with_the_way_to_remove_it(made, purge):
    joint = made.config.tables_of("default").joint
    dataset = made.store.open(joint).to_lance()
    dataset.tags.create("audit", dataset.version)
    project.withdraw(made)

    code, _, said = purge("--yes")

    assert code == FAILED
    assert "the tag audit keeps a version of the table joint__" in said
    assert 'tags.delete("audit")' in said
    made.store.open(joint).to_lance().tags.delete("audit")
    assert purge("--yes")[0] == OK


def test_questions_that_are_anchored_on_it_are_named(made, purge):
    questions = [
        {"id": "q1", "question": "What endures plasma?", "gold": [f"doc:{SECRET}"]},
        {"id": "q2", "question": "Which steel is plain?", "gold": ["doc:offers/steel offer.md"]},
    ]
    file = made.home / "questions.jsonl"
    file.write_text("".join(f"{json.dumps({**each, 'split': 'test'})}\n" for each in questions))
    made.file.write_text(
        f"{made.file.read_text()}evaluation:\n  questions:\n    - path: questions.jsonl\n"
    )
    refresh_questions(made.store, made.config, log=lambda _: None)
    project.withdraw(made)

    code, answer, said = purge("--yes")

    assert code == OK, said
    assert answer["questions"] == {"questions": ["questions/q1"]}
    assert answer["files_of_user"] == [str(file)]
    assert places_of(made.home / "state", *NEEDLES) == []
    assert made.store.count(schemas.QUESTIONS_TABLE) == 1
    assert SECRET in file.read_text()


def test_questions_that_people_ticked_are_told_and_stay(made, purge):
    own = made.config.questions.people_file
    append(own, {"id": "asked-1", "question": "What endures?", "gold": [f"doc:{SECRET}"]})
    reviewed = made.config.questions.review_file
    append(reviewed, {"id": "x", "decision": "keep", "question": f"What does {SECRET} say?"})
    refresh_questions(made.store, made.config, log=lambda _: None)
    project.withdraw(made)

    code, answer, said = purge("--yes")

    assert code == OK, said
    assert answer["questions"] == {"people": ["people/asked-1"]}
    assert answer["files_of_user"] == [str(own), str(reviewed)]
    assert places_of(made.home / "state", *NEEDLES) == []


def test_it_asks_and_without_a_terminal_it_wants_to_be_told(made, purge, monkeypatch):
    project.withdraw(made)
    code, _, said = purge()
    assert code == USAGE
    assert said.count("\n") == 1
    assert "--yes" in said

    class Terminal:
        def __init__(self, answer):
            self.readline = lambda: answer

        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal("\n"))
    code, answer, said = purge()
    assert (code, answer) == (FAILED, {"purged": False})
    assert f"{SECRET} of the source documents" in said
    assert "units" in said
    assert places_of(made.home / "state", *NEEDLES)

    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert purge()[0] == OK


def test_a_document_is_known_by_its_id_and_an_unknown_one_is_said_to_be(made, purge):
    code, _, said = purge("--yes", document="offers/never.md")
    assert code == FAILED
    assert "nothing of offers/never.md is in the state" in said
    assert "files and" in said
    code, _, said = purge("--yes", document="00000000")
    assert (code, "no document has an id that begins with 00000000" in said) == (FAILED, True)
    project.withdraw(made)

    code, answer, _ = purge("--yes", document=document_id("documents", SECRET)[:8])

    assert code == OK
    assert answer["document"] == SECRET
    assert purge("--yes")[0] == FAILED  # there is nothing of it any more


def test_what_the_proof_finds_is_named_and_the_code_says_so(made, purge):
    state = made.home / "state"
    project.withdraw(made)
    planted = {
        "exports/copy.bin": f"\x00\x01{TEXT}".encode(),
        "exports/escaped.json": json.dumps({"text": json.dumps(TEXT)}).encode(),
        f"locks/{quote(SECRET, safe='')}.lock": b"",
    }
    for place, content in planted.items():
        (state / place).parent.mkdir(parents=True, exist_ok=True)
        (state / place).write_bytes(content)
    pq.write_table(pa.table({"cell": [[TEXT]]}), state / "exports" / "kept.parquet")
    with sqlite3.connect(state / "exports" / "kept.db") as database:
        database.execute("PRAGMA secure_delete = OFF")
        database.execute("CREATE TABLE notes (said TEXT)")
        database.execute("INSERT INTO notes VALUES (?)", (TEXT * 20,))
        database.commit()
        database.execute("DELETE FROM notes")  # stays in free pages

    code, answer, _ = purge("--yes")

    assert code == FAILED
    left = {each["place"] for each in answer["left"]}
    assert left == {*planted, "exports/kept.parquet", "exports/kept.db"}
    for place in left:
        (state / place).unlink()
    assert purge("--yes")[1]["left"] == []


def test_a_run_of_the_ui_that_works_is_waited_for(made, purge):
    from dagster._core.test_utils import create_run_for_test

    project.withdraw(made)
    status = dg.DagsterRunStatus.STARTED
    with dagster_instance.opened(made.config) as opened:
        run = create_run_for_test(opened, job_name="nightly", status=status)

    code, _, said = purge("--yes")

    assert code == FAILED
    assert f"run {run.run_id} of the Dagster UI is running" in said


def test_records_that_another_process_keeps_busy_are_named_and_the_next_purge_goes_on(
    made, purge, monkeypatch
):
    project.run_recorded(made, TEXT)
    project.withdraw(made)
    monkeypatch.setattr(run_records, "SECONDS_TO_WAIT", 0.1)
    with closing(sqlite3.connect(made.home / "state/dagster/schedules/schedules.db")) as busy:
        busy.execute("BEGIN IMMEDIATE")
        code, _, said = purge("--yes")
    monkeypatch.undo()

    assert code == FAILED
    assert "schedules.db cannot be rewritten (database is locked): stop the UI" in said
    assert purge("--yes")[0] == OK
    assert places_of(made.home / "state", *NEEDLES) == []


@of_two_variants
@effort.sweep(3)
def test_a_purge_that_is_killed_anywhere_is_finished_by_the_next(made, purge, runs, tmp_path, seed):
    chance = random.Random(seed)
    project.run_recorded(made, TEXT)
    kept = made.home / "kept"
    project.withdraw(made)
    shutil.copytree(made.home / "state", kept)
    runs.warm_up()
    started = time.monotonic()
    process = runs.start(made.home, kind="purge", arguments=[SECRET])
    process.join()
    assert process.exitcode == 0, said_by(made)
    seconds = time.monotonic() - started
    kills = 0
    for _ in range(KILLS):
        shutil.rmtree(made.home / "state")
        shutil.copytree(kept, made.home / "state")
        process = runs.start(made.home, kind="purge", arguments=[SECRET])
        kills += kill(process, after=chance.uniform(0.2, LATEST) * seconds)

        code, answer, said = purge("--yes")

        assert code == OK or "nothing of" in said, answer
        assert places_of(made.home / "state", *NEEDLES) == []
        assert {each.name for each in (made.home / "state" / "purges").iterdir()} == {"count"}
    assert kills
    ledger = made.home / "ledger"
    project.build(made, *VARIANTS, ledger=ledger)
    assert comparing.written_down(ledger) == []
    assert comparing.contents(made.home / "state") == fresh(tmp_path)


def test_what_a_purge_left_that_was_killed_as_it_began_goes_with_the_next(made, purge):
    project.withdraw(made)
    begun = made.home / "state" / "purges"
    begun.mkdir()
    (begun / f".{document_id('documents', SECRET)}.json.4711").write_text("{")

    code, _, said = purge("--yes")

    assert code == OK, said
    assert [each.name for each in begun.iterdir()] == ["count"]


def test_answers_that_cite_or_show_it_are_erased_and_others_stay(made, purge):
    state = made.home / "state"
    gone = asked(made, "plasma fortnights alloy", user="anna")
    stays = asked(made, "brittle", filters=Filters(domain="table"))
    export(made.store, answers_of(made.store), log=print)
    assert places_of(state / "answers", *NEEDLES)
    project.withdraw(made)

    code, answer, said = purge("--yes")

    assert code == OK, said
    assert answer["removed"]["answers"] == [gone]
    assert places_of(state, *NEEDLES, document_id("documents", SECRET)) == []
    assert [row["answer_id"] for row in made.store.read("answers").to_pylist()] == [stays]
    assert one(answers_of(made.store), stays).answer.question == "brittle"


def test_no_answers_are_evaluated_while_the_purge_goes_on(made):
    with dagster_instance.opened(made.config) as opened, ExitStack() as stack:
        context = PurgeContext(made.store, made.config, opened, made.home, print)
        purging.lock_everything(context, stack)
        held = {each.name for each in made.store.held_locks()}
    assert "answer_evaluation__default" in held


def test_what_is_asked_while_the_purge_goes_on_is_gone_or_not_kept(made, purge, monkeypatch):
    project.withdraw(made)
    erase_all, answer = purging.erase_all, None

    def erase_while_others_ask(state, plan):
        nonlocal answer
        asked(made, "plasma fortnights alloy")
        late = Assistant(made.store, made.config)
        answer = late, quoting(late, "plasma fortnights alloy")
        erase_all(state, plan)

    monkeypatch.setattr(purging, "erase_all", erase_while_others_ask)

    code, _, said = purge("--yes")

    assert code == OK, said
    late, told = answer
    assert SECRET in {each.uri for each in told.shown}
    context = context_of(late.index, made.config, retriever=None)
    assert keep(made.store, made.config, told, context, purges=late.purges) is None
    assert places_of(made.home / "state", *NEEDLES) == []


def test_an_answer_is_erased_after_a_refresh_and_clean_up_forgot_its_units(made, purge):
    asked(made, "plasma fortnights alloy")
    project.withdraw(made)
    project.build(made)
    clean_up_at_once(made.config)

    code, answer, said = purge("--yes")

    assert code == OK, said
    assert len(answer["removed"]["answers"]) == 1
    assert places_of(made.home / "state", *NEEDLES) == []


def test_questions_that_were_made_of_it_are_erased(made, purge):
    settings = made.config.questions
    silent = {"log": lambda _: None}
    with hashing():
        refresh_generated(made.store, made.config, makers(), **silent)
    refresh_questions(made.store, made.config, **silent)
    secret = document_id("documents", SECRET)
    before = made.store.read(schemas.GENERATED_QUESTIONS_TABLE)
    own = [row["question_id"] for row in before.to_pylist() if row["document_id"] == secret]
    assert {*own} & {one.question_id for one in read_questions(made.store)}
    settings.folder.mkdir()
    words = "Does the alloy of Quoxite endure plasma for 900 fortnights “without a scratch”?"
    decision = {"id": own[0], "decision": "keep", "question": words}
    settings.review_file.write_text(f"{json.dumps(decision)}\n")
    project.withdraw(made)

    code, answer, said = purge("--yes")

    assert code == OK, said
    assert answer["files_of_user"] == [str(settings.review_file)]
    assert places_of(made.home / "state", *NEEDLES) == []
    left = made.store.read(schemas.GENERATED_QUESTIONS_TABLE)["question_id"].to_pylist()
    assert {*left} == {*before["question_id"].to_pylist()} - {*own}
    assert not {*own} & {one.question_id for one in read_questions(made.store)}


def test_its_training_pairs_and_checkpoints_go_and_weights_are_told(made, purge):
    name, schema = schemas.TRAINING_PAIRS_TABLE, schemas.TRAINING_PAIRS
    question = {"pair_id": "a", "question_id": "lab/a", "question": "Which alloy?", "part": "train"}
    right = {"domain": "document", "unit_id": "u", "text": "Steel."}
    wrong = {"negative_ids": ["v"], "negatives": [TEXT]}
    pair = question | right | wrong | dict.fromkeys(schemas.SYSTEM_COLUMNS, "f")
    [complete_set] = complete_sets.all_sets(made.store)
    joint = complete_set.joint.table
    units = made.store.read(joint, columns=["unit_id", "document_id"]).to_pylist()
    secret = document_id("documents", SECRET)
    [own, *_] = [each["unit_id"] for each in units if each["document_id"] == secret]
    [other, another, *_] = [each["unit_id"] for each in units if each["document_id"] != secret]
    kept = pair | {"pair_id": "b", "unit_id": other, "negative_ids": [another], "negatives": ["A"]}
    beside_it = kept | {"pair_id": "c", "negative_ids": [another, own], "negatives": ["A", "B"]}
    rows = [pair, kept, beside_it]
    made.store.append(name, pa.Table.from_pylist(rows, schema=schema), schema=schema)
    state = made.home / "state"
    checkpoint = state / "training" / "retriever" / "tuned" / "0" / "README.md"
    tokenizer = state / "weights" / "retriever" / "tuned" / "1f" / "vocab.txt"
    for file, text in ((checkpoint, TEXT), (tokenizer, f"steel\n{SECRET}\n")):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    (tokenizer.parent / "training.json").write_text("{}")
    project.withdraw(made)

    code, answer, said = purge("--yes")

    assert code == OK, said
    left = made.store.read(name, columns=["pair_id"])["pair_id"].to_pylist()
    assert left == ["b"], "all of its units are of others"
    assert not checkpoint.exists()
    assert tokenizer.exists(), "what serves may read it"
    assert answer["weights"] == [str(tokenizer.parent)], "they may have learned from it"
    assert purge("--yes")[0] == FAILED  # there is nothing of it any more
    assert "training pairs may still quote" in purge("--yes")[2]
