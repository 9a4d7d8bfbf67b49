"""What a document was called before, and copies that are gone too, are erased with it."""

import json
import random
from pathlib import PurePosixPath

import pytest

from rag_assets.identity import document_id
from rag_assets.serving.replies import OK
from rag_assets.store import purges
from rag_assets_testing import effort
from rag_assets_testing.recorded_answers import asked
from rag_assets_tests.operations import project
from rag_assets_tests.operations.project import NEEDLES, SECRET, SHARED, TEXT
from rag_assets_tests.operations.searching import places_of

QUESTION = "plasma fortnights alloy"
SIGNED = "offers/signed.md"


@pytest.fixture
def made(tmp_path):
    return project.with_the_document(tmp_path / "project")


@pytest.fixture
def purge(made, capsys, monkeypatch):
    return lambda name, **asked: project.purge(
        made, capsys, monkeypatch, "--yes", document=name, **asked
    )


def move(made, old, new):
    path = made.documents / new
    path.parent.mkdir(parents=True, exist_ok=True)
    (made.documents / old).rename(path)


def used(made, name):
    """The document is asked about, and a run of Dagster shows and names it."""
    asked(made, QUESTION)
    project.run_recorded(made, TEXT, f"removed: {name}")


@pytest.mark.parametrize(
    "present",
    [SIGNED, "archive/2026/quoxite offer.md", SECRET.upper(), "offers/Quoxite offer (2).md"],
    ids=["renamed", "moved", "other case", "numbered"],
)
def test_what_a_document_was_called_before_goes_with_it(made, purge, present):
    used(made, SECRET)
    move(made, SECRET, present)
    project.build(made)
    (made.documents / present).unlink()

    code, answer, said = purge(present)

    assert code == OK, said
    assert [each["document"] for each in answer["copies"]] == [SECRET]
    assert len(answer["removed"]["answers"]) == 1
    assert places_of(made.home / "state", *NEEDLES, document_id("documents", SECRET)) == []


@pytest.mark.parametrize("is_edited", [False, True])
def test_a_copy_that_is_gone_goes_too_and_one_that_stays_proves_nothing(made, purge, is_edited):
    text = TEXT.replace("900", "901") + "Signed in Växjö by all.\n" if is_edited else TEXT
    made.write(SIGNED, text)
    project.build(made)
    used(made, SECRET)
    project.withdraw(made)

    code, answer, said = purge(SECRET)
    assert code == OK, said
    assert answer["copies"] == []
    assert places_of(made.home / "state", "fortnights"), "the copy is in the source"

    (made.documents / SIGNED).unlink()
    code, answer, said = purge(SIGNED)
    assert code == OK, said
    assert places_of(made.home / "state", *NEEDLES) == []


def test_what_was_edited_between_two_renames_is_followed_to_the_first_name(made, purge):
    used(made, SECRET)
    made.write(SECRET, "# Draft\n\nThe jackdaws of zwetschgen rest on nine poles.\n")
    project.build(made)
    move(made, SECRET, "offers/second quoxite.md")
    project.build(made)
    made.write("offers/second quoxite.md", "# Fair copy\n\nA heron waits for its own supper.\n")
    project.build(made)
    move(made, "offers/second quoxite.md", SIGNED)
    project.build(made)
    (made.documents / SIGNED).unlink()

    code, answer, said = purge(SIGNED)

    assert code == OK, said
    assert {each["document"] for each in answer["copies"]} == {SECRET, "offers/second quoxite.md"}
    assert places_of(made.home / "state", *NEEDLES, "jackdaws", "heron waits") == []


def test_what_was_emptied_too_is_no_copy(made, purge):
    made.write("sprockets.md", "# Sprockets\n\nSprockets of jadeite turn for ever.\n")
    project.build(made)
    kept = asked(made, "sprockets jadeite")
    made.write("sprockets.md", "")
    made.write(SECRET, "")
    project.build(made)
    (made.documents / "sprockets.md").unlink()
    project.withdraw(made)
    project.build(made)

    code, answer, said = purge(SECRET)

    assert code == OK, said
    assert answer["copies"] == []
    assert kept not in answer["removed"]["answers"]


def test_a_document_that_is_gone_and_has_other_words_stays(made, purge):
    other = f"# Sprockets\n\nSprockets of jadeite turn for ever.\n\n## Conditions\n\n{SHARED}\n"
    made.write("sprockets.md", other)
    project.build(made)
    kept = asked(made, "sprockets jadeite")
    (made.documents / "sprockets.md").unlink()
    project.withdraw(made)

    code, answer, said = purge(SECRET)

    assert code == OK, said
    assert answer["copies"] == []
    assert kept not in answer["removed"]["answers"]
    assert places_of(made.home / "state" / "answers", "jadeite")


def test_what_another_document_said_before_it_was_edited_does_not_protect(made, purge):
    made.write("minutes.md", f"# Minutes\n\nWe read: {TEXT.splitlines()[2]}\n")
    project.build(made)
    used(made, "minutes.md")
    made.write("minutes.md", "# Minutes\n\nNothing was read.\n")
    project.build(made)
    project.withdraw(made)

    code, _, said = purge(SECRET)

    assert code == OK, said
    assert places_of(made.home / "state", *NEEDLES) == []


@effort.sweep(20)
def test_after_any_renames_copies_and_edits_not_a_byte_is_left(made, purge, seed):
    drawn = random.Random(seed)
    names, texts = [SECRET], {SECRET: TEXT}
    for step in range(drawn.randint(1, 4)):
        name = drawn.choice(names)
        new = str(PurePosixPath(f"folder {drawn.randint(0, 1)}") / f"{step} quoxite {seed}.md")
        deed = drawn.choice(["rename", "rename", "copy", "edit"])
        if deed == "rename":
            move(made, name, new)
            texts[new] = texts.pop(name)
            names[names.index(name)] = new
        elif deed == "copy":
            made.write(new, texts[name])
            texts[new] = texts[name]
            names.append(new)
        else:
            texts[name] += f"\n## Note {step}\n\nThe zwetschgen of quoxite are {step} years old.\n"
            made.write(name, texts[name])
        if drawn.random() < 0.7:
            project.build(made)
            if drawn.random() < 0.5:
                used(made, name)
    project.build(made)
    for name in names:
        (made.documents / name).unlink()
    if drawn.random() < 0.5:
        project.build(made)

    for name in names:
        code, _, said = purge(name)
        assert code == OK or "nothing of" in said, said

    assert places_of(made.home / "state", *NEEDLES) == []


def test_each_purge_is_counted_before_it_looks_and_when_the_text_is_gone(made, purge):
    project.withdraw(made)
    assert purges.count(made.store.root) == 0

    purge(SECRET)

    assert purges.count(made.store.root) == 2


def test_a_copy_that_came_back_after_a_cut_off_purge_stays(made, purge):
    made.write(SIGNED, TEXT)
    made.write("sprockets.md", "# Sprockets\n\nSprockets of jadeite turn for ever.\n")
    project.build(made)
    (made.documents / "sprockets.md").unlink()
    project.withdraw(made)
    begun = made.home / "state" / "purges"
    begun.mkdir()
    copies = [document_id("documents", SIGNED)]
    record = {"document_id": document_id("documents", SECRET), "copies": copies}
    (begun / f"{record['document_id']}.json").write_text(json.dumps(record))

    code, answer, said = purge(SECRET)

    assert code == OK, said
    assert answer["copies"] == []
    assert made.store.read(made.config.tables_of("default").joint).num_rows
    assert places_of(made.home / "state" / "lance", "fortnights")
