"""Benchmarks in a small form: each comes to its closing line, whatever its bounds say of it."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rag_assets_testing.scripted_language_model import ScriptedServer, answers

REPOSITORY = Path(__file__).parents[1]
AT_NIGHT = {
    "batched_search": ("--units", "300", "--queries", "4", "--repeat", "1"),
    "holes": ("--attacks", "1", "--without-worst"),
    "mcp_client": ("--units", "1000"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", AT_NIGHT)
def test_a_long_benchmark_ends_with_what_it_found(name):
    assert bounds_of(name, *AT_NIGHT[name])


def test_a_benchmark_ends_with_what_it_found():
    assert bounds_of("chunk_stability", "--edits", "4")


def bounds_of(name, *arguments):
    """The bounds with which a benchmark ends."""
    done = subprocess.run(
        [sys.executable, REPOSITORY / "benchmarks" / f"{name}.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    last = (done.stdout.splitlines() or [""])[-1]
    assert last.startswith("{"), done.stderr[-2_000:]
    found = json.loads(last)
    assert found["name"] == name
    return found["bounds"]


def test_what_tests_and_benchmarks_share_is_in_neither():
    """Nor does it know of the tests: who moves one need not look at the other."""
    folders = (REPOSITORY / "benchmarks", REPOSITORY / "rag_assets_testing")
    imported = {
        f"{path.name}: {node.module}"
        for folder in folders
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("rag_assets_tests")
    }
    assert not imported


@pytest.fixture
def benchmark(monkeypatch):
    """Imports a module of `benchmarks/`, whose folder is on the path where one runs."""
    monkeypatch.syspath_prepend(REPOSITORY / "benchmarks")
    return importlib.import_module


@pytest.fixture
def bounds(benchmark):
    return benchmark("bounds")


def ended(bounds, *found):
    """The exit status of a benchmark that found this."""
    with pytest.raises(SystemExit) as done:
        bounds.finish("some", found)
    return done.value.code


def test_a_benchmark_fails_by_a_miss(bounds, capsys):
    assert ended(bounds, bounds.at_most("seconds", 1.0, 2.0)) == 0
    assert ended(bounds, bounds.at_most("seconds", 3.0, 2.0)) == 1
    assert "FAIL seconds" in capsys.readouterr().out


def test_a_known_miss_is_told_as_a_miss_and_why(bounds, capsys):
    missed = bounds.at_most("seconds", 3.0, 2.0)

    assert ended(bounds, bounds.known_miss(missed, worst=4, reason="more is done")) == 1

    [head, why, last] = capsys.readouterr().out.splitlines()
    assert head.startswith("miss seconds")
    assert "more is done" in why
    [told] = json.loads(last)["bounds"]
    assert (told["ok"], told["known"]) == (False, True)


def test_a_known_miss_may_not_grow_and_needs_no_excuse_once_it_holds(bounds):
    worse, held = bounds.at_most("seconds", 5.0, 2.0), bounds.at_most("seconds", 2.0, 2.0)

    assert not bounds.known_miss(worse, worst=4, reason="more is done").known
    assert not bounds.known_miss(held, worst=4, reason="more is done").known


def test_a_value_that_cannot_be_fails_like_one_that_is_too_low(bounds):
    assert [bounds.within("share", value, 0.6, 1).ok for value in (0.5, 0.6, 1, 1.4)] == [
        False,
        True,
        True,
        False,
    ]


def test_a_way_is_not_worse_by_the_lower_end_of_the_difference(bounds):
    def found(low, high):
        bound = bounds.not_worse("new - old", low, high, margin=0.02)
        return bound.ok, bound.note

    assert found(0.01, 0.03) == (True, "")
    assert found(-0.01, 0.03) == (True, "no gain shown")
    assert found(-0.015, -0.002) == (True, "a smaller loss is shown: upper end -0.002")
    assert found(-0.05, 0.3) == (False, "cannot be told by these questions: upper end +0.300")
    assert found(-0.09, -0.03) == (False, "a loss is shown: upper end -0.030")
    assert not bounds.not_worse("new - old", None, None, margin=0.02).ok


def test_no_row_of_the_page_holds_because_an_upper_end_is_high():
    records = json.loads((REPOSITORY / "docs" / "benchmarks.json").read_text("utf-8"))
    assert not [
        f"{name}: {bound['what']}"
        for name, record in records.items()
        for bound in record["bounds"]
        if bound["ok"] and "upper end" in bound["what"] and bound["bound"].startswith(">")
    ]


def test_the_page_gives_the_reason_of_a_known_miss(benchmark):
    record = benchmark("record")

    assert record.holds({"ok": True}) == "yes"
    assert record.holds({"ok": False}) == "**no**"  # as it was recorded by earlier releases
    told = record.holds({"ok": False, "known": True, "reason": "more is done"})
    assert told == "**no**, known: more is done"
    assert record.holds({"ok": True, "note": "no gain shown"}) == "yes; no gain shown"


def test_the_page_says_what_was_not_run_here(benchmark):
    record = {"arguments": "", "versions": {}, "bounds": [], "not run here": "no CUDA device"}
    told = benchmark("record").section("encoder_cuda", record)
    assert told.endswith("\nNot run here: no CUDA device.\n")
    assert "| what |" not in told


def test_the_known_misses_of_a_refresh_are_bounds_that_it_has(benchmark):
    refresh = benchmark("refresh")

    made = {
        f"{edition}: seconds / {other}"
        for edition in refresh.EDITIONS
        for other in ("floor", "best peer")
    }
    assert set(refresh.KNOWN) <= made


@pytest.mark.parametrize(
    ("before", "after", "is_inside"),
    [
        ("It broke.", " Then it held.", False),
        ("It broke (at last).", " Then it held.", False),
        ("It broke", " at the weld.", True),
        ("It broke at approx.", " 355 MPa.", True),
        ("It broke in Fig.", " 3.", True),
        ("It broke.", " and held.", True),
        ("These were tried:", "\n- bolts", False),
    ],
)
def test_units_are_judged_by_the_text_around_their_edges(benchmark, before, after, is_inside):
    judge = benchmark("unit_quality")
    text = judge.DocumentText.of([judge.Block(0, "text", before + after, None, ())])
    assert judge.is_inside(text, len(before)) == is_inside


def test_a_unit_that_ends_with_a_block_is_inside_a_sentence_that_goes_on(benchmark):
    judge = benchmark("unit_quality")

    def ends_inside(*blocks):
        text = judge.DocumentText.of(
            [judge.Block(place, kind, part, None, ()) for place, (kind, part) in enumerate(blocks)]
        )
        return judge.is_inside(text, len(blocks[0][1]))

    assert not ends_inside(("text", "It broke."), ("text", "then it held."))
    assert not ends_inside(("heading", "Tests"), ("text", "it broke."))
    assert not ends_inside(("text", "It broke"), ("text", "Then it held."))
    assert ends_inside(("text", "It broke"), ("text", "at the weld."))
    assert ends_inside(("text", "It broke"), ("table", "| a |"), ("text", "at the weld."))


def test_cases_of_linking_are_right_and_none_is_silently_merged(benchmark):
    assert not [bound for bound in benchmark("links").cases() if not bound.ok]


def test_a_model_matches_sentences_with_units_beside_the_algorithm(benchmark, capsys, tmp_path):
    """P1, table 7 and figure 10: a reply that cannot be read counts with a precision of 0."""
    checks, data = benchmark("citation_checks"), benchmark("reference_matching_data")
    units = ("Invar hardly expands.", "Brass is yellow and soft.")
    said = ("Invar hardly expands.", "Brass is yellow.")
    asked = [data.SourcedAnswer(said, units, (0, 1)), data.SourcedAnswer(said[::-1], units, (1, 0))]
    script = [answers('{"sources": [1, 2]}'), answers("I do not know.")]
    with (
        ScriptedServer(script) as server,
        checks.opened_matcher([server.url, server.model]) as model,
    ):
        by_model = checks.beside_a_model("two", asked, Words(), model)
    sentences = checks.precision_table("two", asked, Words())
    checks.draw(tmp_path, "two answers", sentences, by_model)

    assert by_model == {server.model: 0.5}
    printed = capsys.readouterr().out
    [algorithm, told] = [line for line in printed.splitlines() if "(±" in line]
    assert "1.00 (± 0.00)" in algorithm
    assert "0.50 (± 0.50)" in told
    assert told.count("2.0 (± 0.0)") == 1
    drawn = {each.name: each.read_text() for each in tmp_path.iterdir()}
    assert sorted(drawn) == ["two_answers_scores.svg", "two_answers_thresholds.svg"]
    assert drawn["two_answers_thresholds.svg"].count("<polyline") == 3


class Words:
    """Relevance by common words: stands in for a reranker."""

    def score(self, pairs):
        words = [[{*text.lower().strip(".").split()} for text in pair] for pair in pairs]
        return np.array([len(one & other) / len(one) for one, other in words])
