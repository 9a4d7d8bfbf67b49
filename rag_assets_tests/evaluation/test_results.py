"""The folder of an evaluation is that of one evaluation, wherever a run was cut off."""

from dataclasses import fields

import pyarrow as pa
import pytest

from rag_assets.evaluation import results
from rag_assets.evaluation.results import EvaluationRecord, EvaluationResult, load, save
from rag_assets.evaluation.scores import Scores

FILES = len(results.TABLES) + 3
"""The rankings, the report and the record beside the tables."""


def evaluation(folder, name):
    table = pa.table({"of": [name]})
    record = EvaluationRecord(
        made_from="the same",
        variant="default",
        evaluated_at="2026-01-01T00:00:00+00:00",
        questions=1,
        retrievers=["bm25"],
        cutoffs=[10],
        main_retriever="bm25",
        latency={},
        settings={},
        margin=0.1,
    )
    return EvaluationResult(folder, record, Scores(**{each.name: table for each in fields(Scores)}))


@pytest.mark.parametrize("written", range(FILES + 1))
def test_what_a_cut_off_run_left_is_never_taken_for_one_evaluation(tmp_path, monkeypatch, written):
    def kept(name):
        save(evaluation(tmp_path, name), rankings=pa.table({"of": [name]}), report=name)

    kept("before")
    left = iter([None] * written)

    def cut_off(write):
        def writing(*given):
            if next(left, StopIteration) is StopIteration:
                raise KeyboardInterrupt
            write(*given)

        return writing

    monkeypatch.setattr(results, "_write", cut_off(results._write))
    monkeypatch.setattr(results, "write_atomically", cut_off(results.write_atomically))
    if written < FILES:
        with pytest.raises(KeyboardInterrupt):
            kept("after")
    else:
        kept("after")

    found = load(tmp_path, made_from="the same")
    if written < FILES:
        assert found is None
    else:
        assert {each["of"][0].as_py() for each in vars_of(found.scores)} == {"after"}


def vars_of(scores):
    return [getattr(scores, each.name) for each in fields(Scores)]
