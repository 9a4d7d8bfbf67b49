from rag_assets.operations.gate.gold_changes import best_passage


def test_the_passage_that_changed_is_found_among_others():
    texts = [
        "Graphite is a lubricant. It bears nothing.",
        "Steel: the yield strength of S355 is 345 MPa,\nmeasured at room temperature. Cats sleep.",
    ]
    quote = "The yield strength of S355 is 355 MPa, measured at room temperature"
    assert best_passage(quote, texts) == (
        "the yield strength of S355 is 345 MPa, measured at room temperature"
    )


def test_nothing_is_offered_where_nothing_is_alike():
    assert best_passage("The yield strength is 355 MPa", ["Cats sleep for most of the day."]) == ""
    assert best_passage("Steel", []) == ""
