"""Questions to train on that give away others are found, in each of the ways in which they can."""

import pytest

from rag_assets.laboratory.training.leakage import (
    Footing,
    LeakageError,
    counted,
    leaks_of,
    refuse,
)

TEXT = "The brass from Arvika is rolled at three hundred degrees and leaves the mill in the evening"


def asked(name, *, places=(), texts=(), question=""):
    return Footing(name, frozenset(places), question or f"Is it {name}?", list(texts))


def found(train, tested):
    return list(leaks_of([train], [tested]))


@pytest.mark.parametrize(
    ("train", "tested", "why"),
    [
        (asked("a", places=["files/a.md"]), asked("b", places=["files/a.md"]), "files/a.md"),
        (asked("a", places=["lab/alloys"]), asked("b", places=["lab/alloys"]), "lab/alloys"),
        (asked("a", texts=[TEXT]), asked("b", texts=[f"Copy. {TEXT}, as is known."]), "contains"),
        (asked("a", question="How hot?"), asked("b", question="how hot"), "ask the same"),
        (
            asked("a", question="Wie heiß in G\u00e4vle?"),
            asked("b", question="Wie heiß in Ga\u0308vle?"),
            "ask the same",
        ),
    ],
    ids=["document", "table", "text within a text", "the same question", "letters in parts"],
)
def test_what_is_given_away_is_refused_by_name(train, tested, why):
    [leak] = found(train, tested)

    assert not leak.is_near
    with pytest.raises(LeakageError, match=r"a \(train\) and b: .*" + why):
        refuse([leak])


def test_texts_that_share_much_are_near_and_not_refused():
    half = " ".join(TEXT.split()[:13])
    [leak] = found(
        asked("a", texts=[f"{half} and then to the sea by road"]), asked("b", texts=[TEXT])
    )

    assert leak.is_near
    refuse([leak])


def test_a_short_text_within_a_long_one_is_no_leak():
    assert not found(
        asked("a", texts=["rolled at three hundred degrees"]), asked("b", texts=[TEXT])
    )


def test_questions_that_share_nothing_are_left_alone():
    train = asked("a", places=["files/a.md"], texts=["Who runs the mill?"])
    assert not found(train, asked("b", places=["files/b.md"], texts=[TEXT]))


def test_what_is_left_out_is_counted_in_words():
    train = [asked("a", places=["files/a.md"]), asked("b", places=["files/b.md"])]
    tested = [asked("c", places=["files/a.md"]), asked("d", places=["files/b.md"])]
    leaks = leaks_of(train, tested)
    assert counted(leaks) == {"it and a measured question have gold in one place": 2}
