"""The glossary: a query by words also finds what other words say, and no entry breaks a search."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.config import Config, GlossaryEntry
from rag_assets.retrieval import lexical
from rag_assets.retrieval.filters import encodable
from rag_assets.retrieval.glossary import Glossary, Meaning, glossary_of, read_glossary
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.rewriters import by_rules
from rag_assets.retrieval.units import UnitTable
from rag_assets.store import Store
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, index_text, random_vectors, row, write
from rag_assets_tests.retrieval.test_retrievers import HashEncoder

YIELD = {
    "term": "yield strength",
    "synonyms": ["proof stress", "sträckgräns"],
    "abbreviations": ["Rp0.2", "YS"],
}
TEXTS = {
    "english": "The yield strength of the plate is 355 MPa.",
    "stress": "Proof stress was read from the curve.",
    "half": "The stress in the weld is small.",
    "both": "Yield strength or proof stress: the standard uses both.",
    "swedish": "Plåtens sträckgräns är 355 MPa.",
    "other": "Paint dries within a day.",
}


def glossary(*entries: dict, **keys) -> Glossary:
    return Glossary(0.3, [GlossaryEntry.model_validate(entry) for entry in entries], **keys)


def others(words: Glossary, query: str) -> list[str]:
    return [other for meaning in words.meanings(query) for other in meaning.others]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("yield strength of S355", ["proof stress", "sträckgräns", "Rp0.2", "YS"]),
        ("Vilken STRÄCKGRÄNS har plåten?", ["yield strength", "proof stress", "Rp0.2", "YS"]),
        ("sträckgränsen?", ["yield strength", "proof stress", "sträckgräns", "Rp0.2", "YS"]),
        ("RP0.2 at 20 degrees", ["yield strength", "proof stress", "sträckgräns", "YS"]),
        ("YS?", ["yield strength", "proof stress", "sträckgräns", "Rp0.2"]),
        ("ys", []),
        ("the yield and its strength", []),
        ("yieldstrength", []),
        ("", []),
    ],
)
def test_an_expression_of_a_query_gives_the_others_of_its_entry(query, expected):
    assert others(glossary(YIELD), query) == expected


def test_the_longest_expression_counts_where_several_begin():
    words = glossary(YIELD, {"term": "yield", "synonyms": ["output"]})
    assert "output" not in others(words, "yield strength")
    assert others(words, "the yield of the mill") == ["output"]


def test_the_language_says_which_endings_a_term_has():
    english = glossary({"term": "mesh", "synonyms": ["nät"], "language": "en"})
    assert others(english, "meshes") == ["mesh", "nät"]
    assert others(english, "meshen") == []
    assert others(glossary({"term": "mesh", "synonyms": ["nät"]}), "meshen") == ["mesh", "nät"]


def test_an_expression_of_two_terms_is_named_and_replaces_nothing():
    words = glossary(
        YIELD | {"abbreviations": ["Re", "Rp0.2"]},
        {"term": "Reynolds number", "abbreviations": ["Re"]},
    )
    assert others(words, "Re of the flow") == []
    assert others(words, "Reynolds number") == []
    assert others(words, "yield strength") == ["proof stress", "sträckgräns", "Rp0.2"]
    [problem] = words.problems
    assert "'Re' stands for 'yield strength' and for 'Reynolds number'" in problem


def test_an_entry_that_is_there_twice_is_no_conflict():
    assert others(glossary(YIELD, YIELD), "YS") == others(glossary(YIELD), "YS")
    assert not glossary(YIELD, YIELD).problems


def test_lines_of_one_term_and_a_heading_of_that_name_are_one_entry():
    column = GlossaryEntry(term="Polypropylene", abbreviations=["pp_pct"])
    words = glossary(
        {"term": "polypropylene", "abbreviations": ["PP"]},
        {"term": "polypropylene", "synonyms": ["polypropen"]},
        headings=[column],
    )
    assert others(words, "polypropylene") == ["PP", "polypropen", "pp_pct"]
    assert others(words, "PP and polypropen") == ["polypropylene", "pp_pct"]
    assert others(words, "pp_pct") == ["polypropylene", "PP", "polypropen"]
    assert words.rephrased("polypropen") == "polypropylene"
    assert not words.problems


def test_a_person_s_entry_has_the_last_word_over_headings():
    column = GlossaryEntry(term="supply rate", abbreviations=["ppm"])
    words = glossary({"term": "parts per million", "abbreviations": ["ppm"]}, headings=[column])
    assert others(words, "ppm") == ["parts per million"]
    assert not words.problems


def write_csv(path, *lines, encoding="utf-8"):
    path.write_text("\n".join(("term,synonyms,abbreviations,language", *lines)), encoding)
    return path


def test_entries_come_from_the_config_from_files_and_from_headings(tmp_path):
    (tmp_path / "headings.csv").write_text(
        "table,column,heading,unit\n"
        "steel,rm_mpa,tensile strength,MPa\n"
        "steel,hv,Vickers hardness,HV\n"
        "steel,test,type of test,\n"
        "steel,kv_j,impact energy,J\nalloys,kv_j,impact toughness,J\n"
    )
    terms = write_csv(tmp_path / "terms.csv", "fatigue,utmattning|trötthet,HCF,en")
    source = {"url": "sqlite:///x", "headings_file": tmp_path / "headings.csv"}
    source["tables"] = [{"name": "steel", "headings": {"a80_pct": "elongation [%]"}}]
    given = {"sources": {"tables": source}, "glossary": {"entries": [YIELD], "files": [terms]}}
    words = glossary_of(Config.model_validate(given))

    assert words is not None
    assert others(words, "yield strength")[0] == "proof stress"
    assert others(words, "fatigue") == ["utmattning", "trötthet", "HCF"]
    assert others(words, "rm_mpa") == ["tensile strength"]
    assert others(words, "a80_pct") == ["elongation"]
    assert others(words, "kv_j, hv and test") == [], "ambiguous, too short, an ordinary word"
    assert not words.problems

    given["glossary"]["headings"] = False
    plain = glossary_of(Config.model_validate(given))
    assert plain is not None
    assert others(plain, "rm_mpa") == []
    assert plain.content != words.content


def test_no_glossary_is_none_and_a_path_alone_is_one(tmp_path):
    assert glossary_of(Config()) is None
    file = write_csv(tmp_path / "terms.csv", "fatigue,utmattning,,")
    words = glossary_of(Config.model_validate({"glossary": str(file)}))
    assert words is not None
    assert others(words, "fatigue") == ["utmattning"]


def test_what_cannot_be_used_is_left_out_and_named(tmp_path, caplog):
    good = write_csv(
        tmp_path / "good.csv", "fatigue,utmattning,,", ",ensam,,", "mesh,nät,,klingon", "?!,x,,"
    )
    latin = write_csv(tmp_path / "latin.csv", "för,före,,", encoding="latin-1")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("word;other\na;b\n")
    files = [good, tmp_path / "absent.csv", latin, wrong]
    words = glossary_of(Config.model_validate({"glossary": {"files": files}}))

    assert words is not None
    assert others(words, "fatigue") == ["utmattning"]
    for part in (
        "good.csv, line 3 is left out: term",
        "good.csv, line 4 is left out: language",
        "absent.csv cannot be read",
        "latin.csv cannot be read",
        "save it as UTF-8",
        "wrong.csv has no column term",
    ):
        assert any(part in problem for problem in words.problems), part
        assert part in caplog.text


@pytest.mark.parametrize("lines", [2, 20_000])
def test_a_quotation_mark_that_is_left_open_is_named(tmp_path, lines):
    """Python's reader stops at a cell of 131,072 characters; below that it takes all lines."""
    more = [f"term {number},synonym {number},," for number in range(lines)]
    file = write_csv(tmp_path / "terms.csv", "paint,lack,,", '"fatigue,utmattning,,', *more)
    words = glossary_of(Config.model_validate({"glossary": str(file)}))

    assert words is not None
    assert others(words, "paint") == ["lack"]
    [problem] = words.problems
    assert "line" in problem
    assert " 3 " in problem
    assert "quotation mark" in problem


def test_many_problems_are_logged_in_short(tmp_path, caplog):
    file = write_csv(tmp_path / "terms.csv", *(f",{number},," for number in range(1_000)))
    words = glossary_of(Config.model_validate({"glossary": str(file)}))

    assert words is not None
    assert len(words.problems) == 1_000
    assert len(caplog.messages) <= 10
    assert "995 more" in caplog.text


@given(
    query=st.text(),
    expressions=st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=5),
)
@example(query="a a", expressions=["a", "A", "a a"])
def test_no_expression_breaks_a_search(table, query, expressions):
    first, *more = expressions
    words = glossary({"term": first, "synonyms": more, "abbreviations": more})
    words.rephrased(f"{query} {first}")
    [found] = table.best_matches(
        [encodable(f"{query} {first}")], depth=5, where=None, glossary=words
    )
    assert len(found) <= 5


def built(path, **sections) -> tuple[Store, Config]:
    config = Config.model_validate({"state_dir": path, **sections})
    store = Store(path)
    units = [chunk(text, unit_id=name) for name, text in TEXTS.items()]
    units += [row(f"plate of steel {n}", table="t", key=str(n), unit_id=f"r{n}") for n in range(9)]
    units = [unit | {"encoder_id": HashEncoder.encoder_id} for unit in units]
    write(store, config, units, random_vectors(len(units)))
    index_text(store, config)
    return store, config


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    store, config = built(tmp_path_factory.mktemp("state"))
    return UnitTable(store.open(config.tables_of(VARIANT).joint))


def test_the_score_is_that_of_the_query_and_the_weighted_one_of_other_words(table):
    """Exact for every unit, at any depth: nothing is cut off before the sum."""
    query, meaning = "strength of the plate", Meaning("strength", ["proof stress", "sträckgräns"])
    own, stress, swedish = (
        dict(lexical.best_matches(table, one, depth=99).entries) for one in (query, *meaning.others)
    )
    stress.pop("half")  # it holds one of two words
    expected = {
        unit: own.get(unit, 0) + 0.5 * stress.get(unit, 0) + 0.5 * swedish.get(unit, 0)
        for unit in own | stress | swedish
    }
    assert "both" in stress
    expected["both"] = own["both"]  # it says "strength" itself
    for depth in (1, 2, 5, 99):
        found = lexical.best_matches(table, query, depth=depth, meanings=[meaning], weight=0.5)
        best = sorted(expected, key=lambda unit: (-round(expected[unit], 5), unit))[:depth]
        assert list(found.unit_ids) == best
        assert found.scores == pytest.approx([expected[unit] for unit in best], rel=1e-5)


def searched(index, query: str, retriever: str) -> list[str]:
    return [hit.unit_id for hit in index.search(query, retriever=retriever)]


def test_a_retriever_uses_the_glossary_unless_it_is_told_not_to(tmp_path):
    plain = {"retrievers": {"plain": {"signals": ["bm25"], "glossary": False}}}
    store, config = built(tmp_path, glossary={"entries": [YIELD]}, retrieval=plain)
    index = open_index(store, config, VARIANT, encoder=HashEncoder())

    found = searched(index, "sträckgräns", "bm25")
    assert found[0] == "swedish"
    assert sorted(found) == ["both", "english", "stress", "swedish"]
    assert searched(index, "sträckgräns", "plain") == ["swedish"]
    for retriever, units in {"bm25": found, "plain": ["swedish"]}.items():
        table = index.search_many(["sträckgräns"], retriever=retriever)
        assert table["unit_id"].to_pylist() == units, "kept rankings are told apart"


def test_an_edited_glossary_holds_at_once_and_nothing_is_built(tmp_path):
    file = write_csv(tmp_path / "terms.csv", "paint,lack,,")
    store, config = built(tmp_path / "state", glossary=str(file))
    version = store.version(config.tables_of(VARIANT).joint)

    def found() -> list[str]:
        index = open_index(store, config, VARIANT, encoder=HashEncoder())
        return index.search_many(["lack"], retriever="bm25")["unit_id"].to_pylist()

    assert found() == ["other"]
    write_csv(file, "paint,färg,,")
    assert found() == []
    assert store.version(config.tables_of(VARIANT).joint) == version


def test_the_rules_write_the_query_in_other_words_first():
    words = glossary(YIELD)
    assert by_rules("What is the sträckgräns of 316L?", glossary=words)[:2] == [
        "yield strength 316L",
        "sträckgräns 316L",
    ]
    assert by_rules("What is paint?", glossary=words) == by_rules("What is paint?")


def test_reformulated_queries_use_the_glossary(tmp_path):
    retrievers = {
        "twice": {"signals": ["dense"], "query_fusion": {}},
        "plain": {"signals": ["dense"], "query_fusion": {}, "glossary": False},
    }
    store, config = built(
        tmp_path, glossary={"entries": [YIELD]}, retrieval={"retrievers": retrievers}
    )
    asked: list[str] = []

    class Listening(HashEncoder):
        def embed_queries(self, texts, /):
            asked.extend(texts)
            return super().embed_queries(texts)

    index = open_index(store, config, VARIANT, encoder=Listening())
    searched(index, "YS of S355", "twice")
    searched(index, "YS of S355", "plain")
    assert asked == ["YS of S355", "yield strength S355", "YS of S355", "YS S355"]


def test_a_glossary_is_read_again_only_where_it_says_something_else(tmp_path):
    file = tmp_path / "glossary.csv"
    file.write_text("term,synonyms\nyield strength,proof stress\n", "utf-8")
    config = Config.model_validate({"glossary": str(file)})
    first = read_glossary(config)
    assert first is not None
    assert read_glossary(config) is first
    file.write_text("term,synonyms\nyield strength,proof stresz\n", "utf-8")
    second = read_glossary(config)
    assert second is not None
    assert others(second, "yield strength") == ["proof stresz"]
    file.unlink()
    gone = read_glossary(config)
    assert gone is not None
    assert "cannot be read" in gone.problems[0]
