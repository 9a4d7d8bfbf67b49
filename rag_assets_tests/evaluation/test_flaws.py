import re
from dataclasses import asdict
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from rag_assets.evaluation import flaws
from rag_assets.evaluation.doctor import EXAMINATIONS
from rag_assets.evaluation.flaws import BY_CODE, RULES, Flaw, flaw_rows

DOCS = Path(__file__).parents[2] / "docs" / "evaluation.md"


def test_codes_are_unique_and_each_is_examined():
    assert len(BY_CODE) == len(RULES) == 12
    assert list(EXAMINATIONS) == [rule.code for rule in RULES]


def test_the_docs_name_every_rule_as_the_code_does():
    rows = re.findall(
        r"^\| `(E\d+)` \| `(\w+)` \| (\w+) \| (.*) \|$", DOCS.read_text("utf-8"), re.M
    )
    assert rows == [(rule.code, rule.name, rule.severity, rule.about) for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_flaw_outlives_its_record(rule: flaws.FlawRule):
    flaw = rule.found("3 of 4 questions", examples=(f"question {number}" for number in range(9)))
    again = TypeAdapter(Flaw).validate_python(asdict(flaw))
    assert again == flaw
    assert len(again.examples) == flaws.EXAMPLES_KEPT
    assert again.record()["remedy"] == rule.remedy
    assert again.blocking == (rule.severity == "error")


def test_the_rows_for_people_say_what_to_do():
    [row] = flaw_rows(
        [flaws.BY_NAME["chosen_on_test"].found("the best of 3 arms", examples=["a", "b"])]
    )
    assert row["examples"] == "a; b"
    assert row["what to do"] == flaws.BY_NAME["chosen_on_test"].remedy
