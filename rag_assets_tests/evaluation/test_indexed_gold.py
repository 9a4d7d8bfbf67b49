from pathlib import Path

from rag_assets.config import Config
from rag_assets.evaluation.gold import DocumentGold, RowGold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.store import Store
from rag_assets.store.pins import pin_of
from rag_assets_tests.retrieval import corpus

TEXT = "The yield strength is 355 MPa.\n\nWelding needs preheating."
HEADER = "Structural steel > Strength\n"


def quotes_in_index(folder: Path, quotes: list[str], *, header: str) -> list[set[str]]:
    store, config = Store(folder), Config(state_dir=folder)
    units = [
        corpus.chunk(
            header + TEXT[start:end],
            unit_id=name,
            uri="steel.md",
            char_start=start,
            char_end=end,
        )
        for name, start, end in [("first", 0, 30), ("second", 22, len(TEXT))]
    ]
    corpus.write(store, config, units, corpus.random_vectors(len(units)))
    gold = [DocumentGold("steel.md", quote=quote) for quote in quotes]
    joint = pin_of(store, config.tables_of(corpus.VARIANT).joint)
    found = read_indexed_gold(store, config, variant=corpus.VARIANT, joint=joint, gold=gold)
    [document] = found.documents["steel.md"]
    return [found.quotes[document, quote] for quote in quotes]


def test_quotes_are_found_in_the_document_and_never_in_headers(tmp_path: Path) -> None:
    quotes = ["yield strength", "355 MPa", "355 MPa. Welding", "Structural steel"]
    plain = quotes_in_index(tmp_path / "plain", quotes, header="")
    assert plain == [{"first"}, {"first", "second"}, {"first", "second"}, set()]
    assert quotes_in_index(tmp_path / "headed", quotes, header=HEADER) == plain


def test_what_a_chunk_shows_is_known_of_those_that_hold_gold(tmp_path: Path) -> None:
    store, config = Store(tmp_path), Config(state_dir=tmp_path)
    texts = {"text": "Paint is red.", "table": "| paint | 40 um |", "figure": "Colour over time"}
    units = [
        corpus.chunk(text, unit_id=kind, uri=f"{kind}.md", type=kind)
        for kind, text in texts.items()
    ]
    corpus.write(store, config, units, corpus.random_vectors(len(units)))
    joint = pin_of(store, config.tables_of(corpus.VARIANT).joint)
    gold = [DocumentGold(f"{kind}.md", quote=text) for kind, text in texts.items()]
    found = read_indexed_gold(store, config, variant=corpus.VARIANT, joint=joint, gold=gold)
    assert [found.gold_type([piece]) for piece in gold] == [*texts]
    assert found.gold_type(gold) == "several"


def test_a_row_is_found_by_its_key_as_it_is_written(tmp_path: Path) -> None:
    store, config = Store(tmp_path), Config(state_dir=tmp_path)
    keys = [r"x\|y|z", r"a\|b|c", r"a|b\|c", "x|y", r"C:\\temp|1"]
    units = [corpus.row(key, table="tests", key=key) for key in keys]
    corpus.write(store, config, units, corpus.random_vectors(len(units)))
    joint = pin_of(store, config.tables_of(corpus.VARIANT).joint)
    named = {
        r"x\|y|z": r"x\|y|z",
        "x|y|z": None,  # no key is written so
        "x|y": "x|y",
        r"C:\\temp|1": r"C:\\temp|1",
        "no|such": None,
    }

    gold = [RowGold(table, key) for key in named for table in ("tests", "lab/tests")]
    found = read_indexed_gold(store, config, variant=corpus.VARIANT, joint=joint, gold=gold)

    for table in ("tests", "lab/tests"):
        for asked, meant in named.items():
            places = list(found.rows.get((table, asked), {}).values())
            assert places == ([("lab", "tests", meant)] if meant else []), asked
