import re
from dataclasses import asdict
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from rag_assets.evaluation import flaws
from rag_assets.evaluation.doctor import EXAMINATIONS
from rag_assets.evaluation.flaws import Flaw, rules
from rag_assets.findings.telling import record_of

DOCS = Path(__file__).parents[2] / "docs" / "evaluation.md"


def test_each_rule_is_examined():
    assert [*EXAMINATIONS] == [*rules()]


def test_the_docs_name_every_rule_as_the_code_does():
    rows = re.findall(
        r"^\| `(E\d+)` \| `(\w+)` \| (\w+) \| (.*) \|$", DOCS.read_text("utf-8"), re.M
    )
    assert rows == [(each.code, each.name, each.severity, each.says) for each in rules().values()]


@pytest.mark.parametrize("code", rules())
def test_a_flaw_outlives_its_record(code: str):
    rule = rules()[code]
    examples = (f"question {number}" for number in range(9))
    flaw = flaws.found(rule.name, "3 of 4 questions", examples=examples)
    again = TypeAdapter(Flaw).validate_python(asdict(flaw))
    assert again == flaw
    assert len(again.examples) == flaws.EXAMPLES_KEPT
    assert again.blocking == (rule.severity == "error")
    record = record_of(again.finding)
    assert (record["code"], record["remedy"]) == (code, rule.remedy)
