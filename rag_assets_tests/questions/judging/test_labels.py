"""What people are asked next, what counts, and the file of labels."""

import pytest

from rag_assets.questions.judging.labels import (
    SKIPPED,
    TASKS,
    consensus,
    is_swapped,
    keep,
    next_of,
    read_labels,
    sample_of,
    task_of,
)

ITEMS = [f"{number:02}" for number in range(10)]
DISPUTED = {"07", "09"}
SUPPORT, HIT = task_of("sentence"), task_of("hit")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "labels.jsonl"


def label(file, item, said="yes", *, labeller="anna", drawn=True, task=SUPPORT):
    keep(file, task, item, said, labeller=labeller, about="q", drawn=drawn)


def labelled(file, count, *, labeller="anna", disputed=DISPUTED):
    """Labels what is asked next, `count` times; gives what was asked."""
    asked = []
    for _ in range(count):
        said = read_labels(file).on(SUPPORT.of, labeller)
        item, drawn = next_of(ITEMS, said=said, disputed=disputed)
        label(file, item, labeller=labeller, drawn=drawn)
        asked.append(item)
    return asked


def test_drawn_and_disputed_items_take_turns_and_none_comes_twice(file):
    asked = labelled(file, 10)

    assert asked[:6] == ["00", "07", "01", "09", "02", "03"]
    assert sorted(asked) == ITEMS
    said = read_labels(file).on(SUPPORT.of, "anna")
    assert next_of(ITEMS, said=said, disputed=DISPUTED) is None


def test_a_disputed_item_counts_once_the_drawing_has_come_so_far(file):
    labelled(file, 4)
    assert {each.item for each in sample_of(read_labels(file).labels)} == {"00", "01"}

    labelled(file, 5)
    sample = {each.item for each in sample_of(read_labels(file).labels)}
    assert sample == {"00", "01", "02", "03", "04", "05", "06"}

    labelled(file, 1)
    assert {each.item for each in sample_of(read_labels(file).labels)} == {*ITEMS} - {"09"}


def test_labellers_do_not_move_each_others_drawing(file):
    labelled(file, 6, labeller="anna")
    assert labelled(file, 1, labeller="bo") == ["00"]
    sample = sample_of(read_labels(file).labels)
    assert {each.item for each in sample if each.labeller == "bo"} == {"00"}


def test_the_last_label_of_an_item_and_a_labeller_counts(file):
    label(file, "00", "yes")
    label(file, "00", "no")
    label(file, "00", "yes", labeller="bo")

    found = read_labels(file)
    assert {(each.labeller, each.score) for each in found.labels} == {("anna", 0), ("bo", 1)}


def test_what_was_skipped_is_not_asked_again_and_says_nothing(file):
    label(file, "00", SKIPPED)
    label(file, "01", "no")

    labels = read_labels(file).labels
    assert next_of(ITEMS, said=labels, disputed=())[0] == "02"
    assert consensus(sample_of(labels)) == {"01": 0}


def test_most_labellers_decide_and_a_tie_is_left_out(file):
    for labeller, said in (("anna", "yes"), ("bo", "yes"), ("cy", "no")):
        label(file, "00", said, labeller=labeller)
    for labeller, said in (("anna", "yes"), ("bo", "no")):
        label(file, "01", said, labeller=labeller)

    assert consensus(read_labels(file).labels) == {"00": 1}


def test_of_a_scale_the_middle_counts(file):
    for labeller, said in (("anna", "0"), ("bo", "1"), ("cy", "2")):
        label(file, "00", said, labeller=labeller, task=HIT)

    assert consensus(read_labels(file).labels) == {"00": 1}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"item": "1"', "not JSON"),
        ('{"item": "1", "of": "x/y", "label": "yes"}', "labeller"),
        (
            '{"item": "1", "of": "x/y", "label": "yes", "labeller": "a", "about": "q", "at": "t"}',
            "nothing that people label",
        ),
        (
            '{"item": "1", "of": "sentence_support/support", "label": "maybe", "labeller": "a", '
            '"about": "q", "at": "t"}',
            "write yes, no or skip",
        ),
    ],
)
def test_a_line_that_is_no_label_is_told_and_the_others_count(file, line, why):
    label(file, "00")
    with file.open("a") as more:
        more.write(line + "\n")
    label(file, "01")

    found = read_labels(file)
    assert [each.item for each in found.labels] == ["00", "01"]
    [problem] = found.problems
    assert "labels.jsonl line 2" in problem
    assert why in problem


def test_a_line_that_a_person_wrote_may_have_the_short_name(file):
    label(file, "00")
    file.write_text(file.read_text().replace(SUPPORT.of, "sentence"))
    assert [each.item for each in read_labels(file).on(SUPPORT.of)] == ["00"]


def test_no_other_label_is_kept(file):
    with pytest.raises(ValueError, match="write yes, no or skip"):
        label(file, "00", "perhaps")
    assert not file.exists()


def test_people_are_asked_what_judges_are_asked():
    assert {task_of(name).kind for name in TASKS} == {"hit", "pair", "sentence"}
    assert SUPPORT.choices == {"1": "yes", "2": "no"}
    assert task_of("pair").scores == {"first": 1, "second": 0, "both": 0.5, "neither": 0.5}
    assert task_of("answer_scores/correctness").scale == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="hit, pair, sentence, or RUBRIC/DIMENSION"):
        task_of("answers")


def test_the_sides_of_a_pair_change_places_by_chance_and_stay():
    swapped = [is_swapped(str(number), "anna") for number in range(1_000)]
    assert 450 < sum(swapped) < 550
    assert swapped == [is_swapped(str(number), "anna") for number in range(1_000)]
    assert swapped != [is_swapped(str(number), "bo") for number in range(1_000)]
