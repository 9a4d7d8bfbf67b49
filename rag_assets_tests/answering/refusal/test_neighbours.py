from rag_assets.answering.refusal.neighbours import names_in, neighbour_of

NAMES = [("Anna", "Berg"), ("Karl", "Lind"), ("Maria", "Holm")]


def neighbour(question: str, *, known: tuple[str, ...] = ()) -> str | None:
    return neighbour_of(question, names=NAMES, is_known=lambda text: text in known, seed="1")


def test_an_identifier_is_exchanged_and_nothing_else():
    found = neighbour("What is the yield strength of S355J2 at 20 degrees?")

    assert found is not None
    assert "S355J2" not in found
    assert found.startswith("What is the yield strength of S3")
    assert found.endswith(" at 20 degrees?")


def test_what_the_index_knows_is_not_a_neighbour():
    known = tuple(f"A{number:02}" for number in range(100))

    assert neighbour("weight of A17", known=known) is None
    assert neighbour("weight of A17") is not None


def test_a_name_is_joined_anew_from_the_names_of_others():
    found = neighbour("Where was Anna Svensson born?")

    assert found in {f"Where was Anna {last} born?" for last in ("Berg", "Lind", "Holm")}


def test_without_anything_to_exchange_there_is_no_neighbour():
    assert neighbour("Which lubricant is solid?") is None


def test_equal_seeds_give_equal_neighbours():
    assert neighbour("weight of A17-22") == neighbour("weight of A17-22")


def test_names_of_two_words_are_found():
    assert names_in("Did Anna Svensson meet Karl Lind?") == [("Anna", "Svensson"), ("Karl", "Lind")]
