"""Whoever was told what the sources no longer say is told so, exactly once."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from rag_assets.answering.assistant import Assistant
from rag_assets.answering.quoting.unit_citations import cells_of
from rag_assets.answering.record import recalling
from rag_assets.answering.record.database import RECALLS, SCHEMA, answers_of
from rag_assets.answering.record.keeping import keep_asked
from rag_assets.answering.record.listing import AnswerFilter, find, one
from rag_assets.answering.record.notices import Notices
from rag_assets.answering.record.recalling import recall
from rag_assets.answering.record.staleness import Served
from rag_assets.operations.erasure.kept_answers import affected_answers, answers_by, erase
from rag_assets.operations.erasure.traces import Traces
from rag_assets.operations.serving_index.promotion import promote
from rag_assets.operations.serving_index.rollback import roll_back
from rag_assets.retrieval.access import Access
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.row_cells import rows_among
from rag_assets.store import purges, serving_pointer
from rag_assets_testing.documents.making import report
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_tests.answering.project import beams_and_springs

PINS = "# Pins\n\n| Pin | Torque [Nm] |\n| --- | --- |\n| hinge pin 7 | {0} |\n| shaft 8 | 5 |\n"
GEAR = "# Gear\n\nThe gear has {0} teeth. It runs in oil.\n"
TORQUE = "What is the torque of the hinge pin 7?"
RULED = "documents: {name: documents, url: documents, groups: {HIDDEN'**': [staff, board]}}\n"
DECIDED = "newer,older,are\n{0},versions\n{1},versions\n"
STIFFNESS = "What is the stiffness of the spring?"
SPRING = (
    "# Springs\n\nA spring stores energy. Its stiffness is {0} N/mm at room temperature. "
    "The paint is red.\n"
)


@pytest.fixture
def made(tmp_path):
    return beams_and_springs(tmp_path / "project")


def ask(made, question, *, user="anna", **options):
    """Ask what serves, and keep the answer; returns its id."""
    assistant = Assistant(made.store, made.config)
    answer = assistant.ask(question, **options)
    filters = options.get("filters")
    kept = keep_asked(assistant, answer, retriever=None, filters=filters, user=user, said=())
    assert kept is not None
    return kept


def recalled(made, variant="default"):
    refresh(made.config, variant=variant)
    return recall(made.store, made.config, log=print)


def told(made, **options):
    return Notices.of(made.store).found(**options)


def test_an_edited_sentence_is_told_once_old_beside_new(made):
    answer_id = ask(made, STIFFNESS)
    made.write("spring.md", SPRING.format(14))

    done = recalled(made)
    assert (done.touched, done.told, done.left) == (1, 1, 0)
    assert recalled(made).told == 0
    [notice] = told(made, users=["anna"])
    assert notice.before.answer_id == answer_id
    assert "12 N/mm" in notice.before.answer.sentences[0].text
    assert notice.after is not None
    assert any("14 N/mm" in each.text for each in notice.after.answer.sentences)
    assert "spring.md" in notice.touched[0].why
    assert notice.number == serving_pointer.number_now(made.store)
    assert told(made, users=["berta"]) == []


def test_what_is_told_is_compared_the_next_time(made):
    ask(made, STIFFNESS)
    for number in (14, 12, 14):
        made.write("spring.md", SPRING.format(number))
        assert recalled(made).told == 1

    newest, middle, oldest = told(made)
    assert newest.before.context.recalls == middle.before.answer_id
    assert middle.before.context.recalls == oldest.before.answer_id


def test_only_the_newest_answer_to_a_question_of_a_user_counts(made):
    ask(made, STIFFNESS)
    newer = ask(made, STIFFNESS)
    other = ask(made, STIFFNESS, user="berta")
    made.write("spring.md", SPRING.format(14))
    recalled(made)
    after = ask(made, STIFFNESS)

    assert {each.before.answer_id for each in told(made)} == {newer, other}
    made.write("other.md", "# Other\n\nNothing of springs.\n")
    assert recalled(made).told == 0
    assert one(answers_of(made.store), after).context.recalls is None


@pytest.mark.parametrize(
    "change",
    [
        lambda made: (made.documents / "spring.md").rename(made.documents / "renamed.md"),
        lambda made: made.write("spring.md", SPRING.format(12) + "\nA new last sentence.\n"),
        lambda made: made.write("spring.md", SPRING.format(12).replace("energy. ", "energy.\n\n")),
        lambda made: made.write("other.md", "# Other\n\nSomething else of springs.\n"),
        lambda made: made.write("spring.md", "# Springs\n\nFirst.\n\n" + SPRING.format(12)),
    ],
    ids=["renamed", "longer", "set otherwise", "another document", "moved down"],
)
def test_the_same_words_elsewhere_are_no_change(made, change):
    ask(made, STIFFNESS)
    change(made)

    assert recalled(made).told == 0
    assert told(made) == []


def test_a_document_that_went_is_told(made):
    ask(made, STIFFNESS)
    (made.documents / "spring.md").unlink()

    assert recalled(made).told == 1
    [notice] = told(made)
    assert "is gone" in notice.touched[0].why


def test_a_rollback_recalls_nothing_and_the_same_again_is_told_to_nobody(made):
    ask(made, STIFFNESS)
    made.write("spring.md", SPRING.format(14))
    assert recalled(made).told == 1
    [notice] = told(made)
    assert not notice.is_rolled_back(serving_pointer.current(made.store))

    roll_back(made.store, made.config)
    done = recall(made.store, made.config, log=print)
    assert "rolled back" in done.why_not
    assert notice.is_rolled_back(serving_pointer.current(made.store))
    assert promote(made.store, made.config, "default", log=print).status == "moved"
    assert recall(made.store, made.config, log=print).told == 0
    [same] = told(made)
    assert not same.is_rolled_back(serving_pointer.current(made.store))


@pytest.mark.parametrize("at", ["write", "finish"])
def test_a_recall_that_is_killed_tells_once_when_it_runs_again(made, monkeypatch, at):
    ask(made, STIFFNESS)
    ask(made, STIFFNESS, user="berta")
    made.write("spring.md", SPRING.format(14))
    refresh(made.config)

    class KilledError(Exception):
        pass

    def killed(*_, **__):
        raise KilledError

    with monkeypatch.context() as patched:
        if at == "finish":
            patched.setattr(recalling._Recall, "_finish", killed)
        else:
            writes, real = [], recalling.write
            patched.setattr(
                recalling,
                "write",
                lambda *a, **k: real(*a, **k) if not writes and not writes.append(1) else killed(),
            )
        with pytest.raises(KilledError):
            recall(made.store, made.config, log=print)
    done = recall(made.store, made.config, log=print)

    assert done.told == {"write": 1, "finish": 0}[at]
    assert sorted(each.before.context.user for each in told(made)) == ["anna", "berta"]


def test_lists_and_questions_have_what_people_asked_alone(made):
    answer_id = ask(made, STIFFNESS)
    made.write("spring.md", SPRING.format(14))
    recalled(made)

    listed = find(answers_of(made.store), AnswerFilter(), served=None, limit=9)
    assert [each.kept.answer_id for each in listed] == [answer_id]


def test_seen_notices_are_news_no_more(made):
    answer_id = ask(made, STIFFNESS)
    made.write("spring.md", SPRING.format(14))
    recalled(made)
    Notices.of(made.store).mark_seen([answer_id])

    assert told(made, unseen=True) == []
    assert told(made)[0].seen_at is not None


def test_who_is_forgotten_leaves_no_notice(made):
    answer_id = ask(made, STIFFNESS)
    made.write("spring.md", SPRING.format(14))
    recalled(made)
    erase(made.store, [answer_id], log=print)

    assert told(made) == []
    assert answers_by(made.store, "anna") == []


def test_a_file_of_the_last_release_goes_on(made):
    ask(made, STIFFNESS)
    file = answers_of(made.store)
    with closing(sqlite3.connect(file.path)) as new, closing(sqlite3.connect(":memory:")) as old:
        old.executescript(SCHEMA)
        for table in ("conditions", "answers", "units"):
            names = [row[1] for row in old.execute(f"PRAGMA table_info({table})")]
            rows = new.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
            old.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", rows)
        expected = new.execute("SELECT answer_id, asked FROM answers").fetchall()
        old.execute("PRAGMA user_version = 3")
        old.commit()
        file.close()
        old.backup(new)
    assert "asked" in RECALLS

    with file.reading() as connection:
        assert connection.execute("SELECT answer_id, asked FROM answers").fetchall() == expected
    made.write("spring.md", SPRING.format(14))
    assert recalled(made).told == 1


def test_a_watched_number_is_told_beyond_its_tolerance(made):
    answer_id = ask(made, "What is the mean density of the alloys?")
    file = answers_of(made.store)
    assert one(file, answer_id).answer.outcome == "computed"
    Notices(file).watch(answer_id, tolerance=0.5)
    made.execute("UPDATE alloys SET density = density * 1.1")
    assert recalled(made).told == 0
    made.execute("UPDATE alloys SET density = density * 1.5")
    assert recalled(made).told == 1
    assert Notices(file).unwatch(answer_id)


def test_the_highest_is_told_once_another_row_is_higher(made):
    answer_id = ask(made, "Which alloy has the highest density?")
    kept = one(answers_of(made.store), answer_id)
    assert "Invar" in kept.answer.sentences[0].text
    assert {each.kind for each in kept.answer.citations} == {"cell"}
    made.execute("INSERT INTO alloys VALUES (4, 'Lead', 3.1)")
    assert recalled(made).told == 0

    made.execute("UPDATE alloys SET density = 11.3 WHERE id = 4")
    assert recalled(made).told == 1
    [notice] = told(made)
    assert notice.after is not None
    assert "Lead" in notice.after.answer.sentences[0].text
    assert notice.after.context.plan == kept.context.plan
    assert recalled(made).told == 0


def test_a_cell_of_a_table_inside_a_document_is_told(made):
    made.write("pins.md", PINS.format(70))
    recalled(made)
    single = ask(made, "What is the torque of the hinge pin 7?")
    most = ask(made, "What is the mean torque of the pins?")
    outcomes = [one(answers_of(made.store), each).answer.outcome for each in (single, most)]
    assert outcomes == ["computed", "computed"]
    made.write("pins.md", PINS.format(77))

    assert recalled(made).told == 2
    assert {each.before.answer_id for each in told(made)} == {single, most}


def test_words_of_several_documents_are_gone_with_the_last_of_them(made):
    words = "# {0}\n\nOnly trained staff may work on this machine.\n"
    for name in ("press", "saw"):
        made.write(f"{name}.md", words.format(name))
    recalled(made)
    ask(made, "Who may work on this machine?")
    made.write("press.md", "# press\n\nIt is out of order.\n")
    recalled(made)
    made.write("saw.md", words.format("saw").replace("Only trained", "All"))

    assert recalled(made).told == 1


def test_another_parser_and_other_chunks_of_the_same_file_tell_nobody(made):
    other = "{parser: pdfium, chunking: fixed_256, model: minilm}"
    text = made.file.read_text()
    text = text.replace("variants:", "chunkings: {small: {size: 24, overlap: 0}}\nvariants:")
    chunked = other.replace("fixed_256", "small").replace("pdfium", "pymupdf")
    made.file.write_text(text.replace("evaluation:", f"  other: {chunked}\nevaluation:"))
    pins = PINS.format(70).replace("# Pins", "# Pins\n\nThese pins bear loads.")
    made.write("hinges.md", pins)
    report(made.documents / "plates.pdf")
    recalled(made)
    questions = (
        "What is the torque of the hinge pin 7?",
        "What is the mean torque of the pins?",
        "What is the yield strength of S690?",
        "How was the plate loaded?",
        STIFFNESS,
    )
    for question in questions:
        ask(made, question)
    made.write("hinges.md", pins.replace("| ", "|  "))
    assert recalled(made).told == 0
    (made.documents / "hinges.md").rename(made.documents / "pins.md")
    assert recalled(made).told == 0
    refresh(made.config, variant="other")
    promote(made.store, made.config, "other", override="a test", log=print)

    done = recall(made.store, made.config, log=print)
    assert (done.compared, done.touched, done.told) == (5, 0, 0)
    made.write("pins.md", pins.replace("70", "71"))
    recalled(made, "other")
    assert {each.before.answer.question for each in told(made)} >= {*questions[:2]}


def test_a_moved_file_with_a_table_tells_nobody(made):
    made.write("pins.md", PINS.format(70))
    recalled(made)
    ask(made, "What is the torque of the hinge pin 7?")
    (made.documents / "old").mkdir()
    (made.documents / "pins.md").rename(made.documents / "old" / "bolts.md")

    done = recalled(made)
    assert (done.touched, done.told) == (0, 0)
    made.write("old/bolts.md", PINS.format(70).replace("| ", "|  "))
    done = recalled(made)
    assert (done.touched, done.told) == (0, 0)


def test_a_file_that_is_moved_and_set_otherwise_again_and_again_tells_nobody(made):
    pins = PINS.format(70).replace("# Pins", "# Pins\n\nThese pins bear loads. They are red.")
    made.write("pins_v1.md", pins)
    recalled(made)
    ask(made, TORQUE)
    pins = pins.replace("| 5 |", "| 6 |")
    made.write("pins_v1.md", pins)
    made.write("pins_v2.md", pins + "\nIt is new.\n")
    assert recalled(made).told == 0
    (made.documents / "old").mkdir()
    for name in ("pins_v1.md", "pins_v2.md"):
        (made.documents / name).rename(made.documents / "old" / name)
    assert recalled(made).touched == 0
    made.write("old/pins_v1.md", pins.replace("loads. ", "loads.\n"))
    made.write("old/pins_v2.md", pins.replace("loads. ", "loads.\n") + "\nIt is new.\n")

    assert recalled(made).touched == 0
    (made.documents / "old").rename(made.documents / "archive")
    assert recalled(made).touched == 0
    made.write("archive/pins_v1.md", pins.replace("loads. ", "loads.\n\n"))
    assert recalled(made).touched == 0
    made.write("archive/pins_v2.md", pins.replace("70", "77"))
    assert recalled(made).told == 1


def test_another_file_under_the_name_of_one_that_was_moved_is_told(made):
    made.write("pins.md", PINS.format(70))
    recalled(made)
    ask(made, TORQUE)
    (made.documents / "store").mkdir()
    (made.documents / "pins.md").rename(made.documents / "store" / "bolts.md")
    assert recalled(made).told == 0

    made.write("pins.md", PINS.format(77))
    assert recalled(made).touched == 1


def test_a_name_that_stands_in_a_version_that_others_see_replaced_is_told(made):
    text = made.file.read_text().replace("sources:", "groups: [staff, board]\nsources:", 1)
    text = text.replace("documents: documents\n", RULED)
    made.file.write_text(text.replace("HIDDEN", "gear_v2.md: [board], "))
    recalled(made)
    assistant = Assistant(made.store, made.config).seen_by(Access(frozenset({"staff"})))
    answer = assistant.ask("What is the hardness of QX-4711?")
    assert answer.outcome == "nothing"
    keep_asked(assistant, answer, retriever=None, filters=None, user="stina", said=())
    made.write("gear_v1.md", GEAR.format(31) + "\nIts seal is QX-4711.\n")
    made.write("gear_v2.md", GEAR.format(31))

    assert recalled(made).told == 1


def test_what_changed_nothing_hides_no_later_change(made):
    """An answer that was left as it is by one recall is touched by the next change all the same."""
    made.write("gear_v1.md", GEAR.format(31))
    recalled(made)
    teeth, density = "How many teeth has the gear?", "What is the density of Invar?"
    for question in (STIFFNESS, teeth, density):
        ask(made, question)
    (made.documents / "spring.md").rename(made.documents / "moved.md")
    made.write("gear_v2.md", GEAR.format(31) + "\nIt is new.\n")
    made.execute("INSERT INTO alloys VALUES (4, 'Lead', 11.3)")
    assert recalled(made).told == 0

    for question, change in (
        (STIFFNESS, lambda: made.write("moved.md", SPRING.format(14))),
        (teeth, lambda: made.write("gear_v2.md", GEAR.format(32) + "\nIt is new.\n")),
        (density, lambda: made.execute("UPDATE alloys SET density = 8.2 WHERE name = 'Invar'")),
    ):
        change()
        count = recalled(made).told
        assert question in {each.before.answer.question for each in told(made)[:count]}


def test_a_newer_version_that_somebody_sees_later_is_told_then(made):
    text = made.file.read_text().replace("sources:", "groups: [staff, board]\nsources:", 1)
    text = text.replace("documents: documents\n", RULED)
    made.file.write_text(text.replace("HIDDEN", "gear_v2.md: [board], "))
    made.write("gear_v1.md", GEAR.format(31))
    recalled(made)
    assistant = Assistant(made.store, made.config).seen_by(Access(frozenset({"staff"})))
    answer = assistant.ask("How many teeth has the gear?")
    keep_asked(assistant, answer, retriever=None, filters=None, user="stina", said=())
    made.write("gear_v2.md", GEAR.format(32))
    assert recalled(made).told == 0

    made.file.write_text(text.replace("HIDDEN", ""))
    made.write("other.md", "# Other\n\nNothing of gears.\n")
    assert recalled(made).told == 1


def test_the_newest_version_by_a_later_decision_counts(made):
    decisions = made.home / "document_families.csv"
    made.write("cog.md", GEAR.format(31))
    recalled(made)
    ask(made, "How many teeth has the gear?")
    made.write("wheel.md", "# Wheel\n\nA wheel with 32 spokes is better.\n")
    made.write("drive.md", GEAR.format(31) + "\nIt is new.\n")
    decisions.write_text(DECIDED.format("wheel.md,cog.md", "drive.md,wheel.md"))
    assert recalled(made).told == 0

    decisions.write_text(DECIDED.format("drive.md,cog.md", "wheel.md,drive.md"))
    assert recalled(made).touched == 1


@pytest.mark.parametrize("is_purged", [False, True])
def test_what_one_recall_did_not_come_to_the_next_one_does(made, monkeypatch, is_purged):
    """The first one may ask only one again, or something is erased meanwhile."""
    made.write("pins_v1.md", PINS.format(70))
    recalled(made)
    ask(made, TORQUE)
    watched = ask(made, "Which alloy bears salt?", user="zoe", filters=Filters(uri="salt.md"))
    Notices.of(made.store).watch(watched, tolerance=None)
    made.write("pins_v2.md", PINS.format(77))
    looked = recalling._Recall._resting_on_changes

    def begun(*arguments):
        found = [*looked(*arguments)]
        if is_purged:
            purges.begin(made.store.root)
        return iter(found)

    with monkeypatch.context() as patched:
        patched.setattr(recalling, "MOST_ASKED_AGAIN", 1 + is_purged)
        patched.setattr(recalling._Recall, "_resting_on_changes", begun)
        first = recalled(made).told
    made.write("other.md", "# Other\n\nNothing of pins.\n")
    recalled(made)
    assert not (is_purged and first)
    assert [each.before.answer.question for each in told(made)] == [TORQUE]


def test_an_absence_is_told_to_who_may_see_the_row_now(made):
    made.execute(
        "ALTER TABLE alloys ADD COLUMN team TEXT",
        "UPDATE alloys SET team = 'staff'",
        "INSERT INTO alloys VALUES (4, 'Lead', 11.3, 'board')",
    )
    ruled = 'tables: [alloys, "test_*"]\n      groups: {{{}"*": [staff, board]}}'
    text = made.file.read_text().replace("sources:", "groups: [staff, board]\nsources:", 1)
    text = text.replace('tables: [alloys, "test_*"]', "RULED")
    hidden = ruled.format("alloys: {column: team}, ")
    made.file.write_text(text.replace("RULED", hidden))
    recalled(made)
    assistant = Assistant(made.store, made.config).seen_by(Access(frozenset({"staff"})))
    answer = assistant.ask("Which alloys have a density above 10?")
    assert answer.outcome == "nothing"
    keep_asked(assistant, answer, retriever=None, filters=None, user="stina", said=())
    made.execute("UPDATE alloys SET density = 8.1 WHERE name = 'Brass'")
    assert recalled(made).touched == 0

    made.file.write_text(text.replace("RULED", ruled.format("")))
    made.write("other.md", "# Other\n\nNothing of alloys.\n")
    assert recalled(made).touched == 1


def test_a_version_of_then_that_was_cleaned_away_stops_nothing(made):
    made.write("gear_v1.md", GEAR.format(31))
    made.write("gear_v2.md", GEAR.format(31) + "\nIt is new.\n")
    recalled(made)
    ask(made, "What is the density of Invar?")
    pointer = serving_pointer.current(made.store)
    assert pointer is not None
    recalled(made)
    made.write("other.md", "# Other\n\nNothing of gears.\n")
    made.execute("UPDATE alloys SET density = 9.5 WHERE name = 'Invar'")
    refresh(made.config)
    documents = made.store.open(pointer.complete_set.documents.table).to_lance()
    documents.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)

    assert recall(made.store, made.config, log=print).told == 1


def test_a_count_is_told_once_the_unit_of_its_condition_is_another(made):
    text = made.file.read_text().replace("[alloys,", "[{name: alloys, headings: HEADINGS},")
    made.file.write_text(text.replace("HEADINGS", '{density: "density [g/cm3]"}'))
    recalled(made)
    answer_id = ask(made, "How many alloys have a density above 5 g/cm3?")
    kept = one(answers_of(made.store), answer_id)
    [counted] = [each for each in kept.answer.citations if each.kind == "computed"]
    assert counted.rows.condition_units == ("g/cm3",)
    made.file.write_text(text.replace("HEADINGS", '{density: "density [kg/m3]"}'))

    assert recalled(made).told == 1
    [notice] = told(made)
    assert notice.after is not None
    assert notice.after.answer.sentences[0].text != kept.answer.sentences[0].text
    made.file.write_text(text.replace("HEADINGS", '{density: "mass by volume [kg/m3]"}'))
    assert recalled(made).told == 0


def test_a_list_of_rows_is_told_once_the_unit_of_its_condition_is_another(made):
    text = made.file.read_text().replace("[alloys,", "[{name: alloys, headings: HEADINGS},")
    made.file.write_text(text.replace("HEADINGS", '{density: "density [g/cm3]"}'))
    recalled(made)
    kept = one(answers_of(made.store), ask(made, "What is the name where density is 8.05 g/cm3?"))
    assert kept.answer.outcome == "computed"
    assert {each.column for each in kept.answer.citations} == {"name"}
    made.file.write_text(text.replace("HEADINGS", '{density: "density [lb/in3]"}'))

    assert recalled(made).told == 1
    [notice] = told(made)
    assert notice.after is not None
    assert notice.after.answer.sentences != kept.answer.sentences
    assert recalled(made).told == 0


def test_a_number_that_is_a_text_at_the_source_is_the_same(made):
    made.execute("CREATE TABLE steels (id INTEGER PRIMARY KEY, name TEXT, number TEXT, mass REAL)")
    made.execute("INSERT INTO steels VALUES (1, 'S355', '1.0577', 2), (2, 'S690', '1.8931', 3)")
    made.file.write_text(made.file.read_text().replace("[alloys,", "[alloys, steels,"))
    recalled(made)
    ask(made, "steel S355 1.0577 name number mass, anything else")
    made.file.write_text(
        made.file.read_text().replace("fixed_256, model", "fixed_256, serializer: json, model")
    )

    done = recalled(made)
    assert (done.compared, done.touched) == (1, 0)


def test_a_truth_value_that_is_a_number_now_is_the_same(made):
    """A column of 0 and 1 holds truth values until the cell of another row is neither."""
    made.execute("CREATE TABLE sellers (id INTEGER PRIMARY KEY, name TEXT, signed BOOLEAN)")
    names = [*["Acme signed anything else"] * 10, *["Bolt"] * 10]
    rows = ", ".join(f"({place}, '{name}', 1)" for place, name in enumerate(names))
    made.execute(f"INSERT INTO sellers VALUES {rows}")
    made.file.write_text(made.file.read_text().replace("[alloys,", "[alloys, sellers,"))
    recalled(made)
    kept = one(answers_of(made.store), ask(made, "Acme signed, anything else"))
    said = [each.text for each in kept.answer.sentences]
    assert "true" in said[0]
    assert not any("Bolt" in each for each in said)
    made.execute("UPDATE sellers SET signed = 2 WHERE name = 'Bolt'")

    done = recalled(made)
    assert (done.compared, done.touched, done.told) == (1, 0, 0)


def test_a_table_in_a_document_that_is_superseded_is_told(made):
    made.write("pins_v1.md", PINS.format(70))
    recalled(made)
    changed = ask(made, "What is the torque of the hinge pin 7?")
    same = ask(made, "What is the torque of the shaft 8?")
    outcomes = [one(answers_of(made.store), each).answer.outcome for each in (changed, same)]
    assert outcomes == ["computed", "computed"]
    made.write("pins_v2.md", PINS.format(77))

    assert recalled(made).told == 1
    [notice] = told(made)
    assert notice.before.answer_id == changed
    assert "pins_v2.md" in notice.touched[0].why
    made.write("other.md", "# Other\n\nNothing of pins.\n")
    done = recalled(made)
    assert (done.touched, done.told) == (0, 0)


def test_each_cell_of_a_row_that_is_found_stands_however_its_column_is_read(made):
    """A column with a word in it is no column of numbers; a cell alone may be one, with a unit."""
    made.execute('CREATE TABLE sellers (id INTEGER PRIMARY KEY, name TEXT, "share [%]" TEXT)')
    made.execute("INSERT INTO sellers VALUES (1, 'Acme', '84.3'), (2, 'Bolt', 'none')")
    made.file.write_text(made.file.read_text().replace("[alloys,", "[alloys, sellers,"))
    refresh(made.config)
    assistant = Assistant(made.store, made.config)
    hits = assistant.search("Acme share", filters=Filters(table="sellers"))
    rows = rows_among(hits, store=made.store, complete_set=assistant.index.complete_set)
    served = Served.now(made.store, made.config)

    cells = [cell for hit in hits for cell in cells_of(rows[hit.unit_id], hit)]
    assert any(cell.unit == "%" for cell in cells)
    assert all(served.has_cell(cell) for cell in cells)
    assert not any(served.has_cell(replace(cell, value="other")) for cell in cells)


def test_an_answer_under_a_rule_is_kept_anew_only_where_it_changed(made):
    answer_id = ask(made, STIFFNESS, filters=Filters(uri="spring.md"))
    Notices.of(made.store).watch(answer_id, tolerance=None)
    made.write("other.md", "# Other\n\nNothing of springs.\n")

    assert recalled(made).told == 0
    with answers_of(made.store).reading() as connection:
        assert connection.execute("SELECT answer_id FROM answers").fetchall() == [(answer_id,)]


def test_a_purge_of_a_name_that_ends_another_one_leaves_its_notices(made):
    answer_id = ask(made, STIFFNESS)
    made.write("spring.md", SPRING.format(14))
    recalled(made)

    def found(name):
        traces = Traces(frozenset([name.encode()]), frozenset(), frozenset(), frozenset())
        return affected_answers(made.store, traces, units=(), names={name: ["documents"]})

    assert found("ring.md").answer_ids == []
    assert answer_id in found("spring.md").answer_ids
