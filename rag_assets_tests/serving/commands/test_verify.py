"""`rag-assets answers verify`: verdicts, exit codes, and errors that say what to do."""

import json

import pytest

from rag_assets.answering.answer import Answer, Scope, to_json
from rag_assets.citations.kinds import Span
from rag_assets.citations.sentences import Sentence
from rag_assets.serving import cli

GOOD = "The rotor weighs 12 kg [1].\n\nSources:\n[1] The mass of the rotor is 12000 g.\n"


@pytest.fixture
def verified(tmp_path, capsys):
    """Runs the command on a text: exit code, output and errors."""

    def run(text, *options):
        file = tmp_path / "answer.md"
        file.write_text(text, "utf-8")
        code = cli.main(["answers", "verify", str(file), *options])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD, ["?   The rotor weighs 12 kg.", "numbers and names agree", "left open: 1"]),
        (GOOD.replace("weighs 12 kg", "turns"), ["not compared", "Supported: 0"]),
        (
            GOOD.replace("The rotor weighs 12 kg", "The mass of the rotor is 12000 g"),
            ["supported: verbatim", "Supported: 1"],
        ),
    ],
)
def test_what_nothing_speaks_against_ends_with_0_and_says_what_was_compared(verified, text, told):
    code, out, _ = verified(text)

    assert code == 0
    assert all(each in out for each in told), out


def test_a_judge_that_the_config_does_not_name_is_told(verified):
    code, _, error = verified(GOOD, "--judge")

    assert code == 2
    assert "answering.judge" in error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace("12 kg", "13 kg"), "no source has the number 13 kg; the closest is 12000 g"),
        (GOOD.replace(" [1].", "."), "it cites nothing"),
        (GOOD.replace("12 kg [1]", "12 kg [1, 2]"), "[2] points nowhere"),
    ],
)
def test_what_is_not_ends_with_3_and_says_why(verified, text, told):
    code, out, _ = verified(text)

    assert code == 3
    assert told in out


def test_an_answer_of_ours_is_verified_as_json(verified):
    span = Span(
        unit_id="u",
        text_hash=None,
        source="documents",
        uri="a.md",
        title="",
        pages=(),
        start=0,
        end=25,
        text="The rotor weighs 12 kg.",
    )
    answer = Answer(
        question="?",
        outcome="written",
        sentences=(Sentence("The rotor weighs 14 kg.", (span,)),),
        scope=Scope(variant="v", retriever="r", filters={}, units=1),
    )

    code, out, _ = verified(json.dumps(to_json(answer)), "--json")

    record = json.loads(out)
    assert code == 3
    assert (record["supported"], record["not_in_sources"], record["left_open"]) == (0, 1, 0)
    assert record["sentences"][0]["uncovered"][0]["closest"]["text"] == "12 kg"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"format": "other"}', "is no answer"),
        ("{", "no valid JSON"),
        ('{"a":' * 16_000, "nested too deeply"),
        ("\n", "holds no sentence"),
    ],
)
def test_a_file_that_cannot_be_read_as_an_answer_ends_with_2(verified, text, told):
    code, _, errors = verified(text)

    assert code == 2
    assert told in errors


def test_a_missing_file_ends_with_1(tmp_path, capsys):
    assert cli.main(["answers", "verify", str(tmp_path / "none.md")]) == 1
    assert "none.md cannot be read" in capsys.readouterr().err
