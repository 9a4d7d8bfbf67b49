"""Judges of support: a model in a folder, and a language model."""

import json

import numpy as np
import pytest

from rag_assets.answering.checks.judging import JudgeError, ScoringJudge, open_judge
from rag_assets.answering.checks.verifying import CitedSentence, verdicts_of
from rag_assets.citations.cited_sources import CitedPair, CitedRow, CitedText
from rag_assets.config import Config
from rag_assets_testing.scripted_language_model import ScriptedServer, answers, status

SPRING = CitedText("The spring is stiff: 12 N/mm.", origin="handbook")
AGREES = CitedSentence("A stiff spring has 12 N/mm.", (SPRING,))
DISAGREES = CitedSentence("A stiff spring has 13 N/mm.", (SPRING,))
VERBATIM = CitedSentence("The spring is stiff: 12 N/mm.", (SPRING,))


@pytest.fixture
def nli_folder(tmp_path):
    """Makes a folder with a tiny model that always gives the label of the highest bias."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    def made(labels, bias):
        vocabulary = tmp_path / "vocab.txt"
        vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "spring"]))
        config = BertConfig(
            vocab_size=6,
            hidden_size=4,
            num_hidden_layers=1,
            num_attention_heads=1,
            intermediate_size=4,
            max_position_embeddings=64,
            id2label=dict(enumerate(labels)),
            label2id={label: place for place, label in enumerate(labels)},
        )
        model = BertForSequenceClassification(config)
        model.classifier.weight.data.zero_()
        model.classifier.bias.data = model.classifier.bias.data.new_tensor(bias)
        folder = tmp_path / "-".join(labels)
        model.save_pretrained(folder)
        BertTokenizer(str(vocabulary), model_max_length=64).save_pretrained(folder)
        return folder

    return made


def config_of(**judge):
    return Config.model_validate({"answering": {"judge": judge}})


@pytest.mark.parametrize(
    ("labels", "bias", "supported"),
    [
        (["contradiction", "entailment", "neutral"], [0.0, 5.0, 0.0], True),
        (["ENTAILMENT", "NOT_ENTAILMENT"], [0.0, 5.0], False),
        (["LABEL_0"], [3.0], True),
        (["LABEL_0"], [-3.0], False),
    ],
)
def test_a_model_in_a_folder_judges_by_its_label(nli_folder, labels, bias, supported):
    with open_judge(config_of(path=str(nli_folder(labels, bias)))) as judge:
        long = CitedText("spring " * 500)
        assert judge.judge("A spring.", (SPRING, long)) is supported


@pytest.mark.parametrize("labels", [["positive", "negative"], None])
def test_a_folder_that_cannot_judge_is_told(nli_folder, tmp_path, labels):
    folder = nli_folder(labels, [0.0, 1.0]) if labels else tmp_path / "empty"
    with (
        pytest.raises(JudgeError, match=r"answering\.judge\.path"),
        open_judge(config_of(path=str(folder))),
    ):
        pass


def test_only_what_agrees_and_is_not_proven_is_judged():
    asked = []

    def scores(pairs):
        asked.extend(sentence for _, sentence in pairs)
        return np.array([0.9])

    judge = ScoringJudge(scores, 0.5)
    verdicts = verdicts_of([AGREES, DISAGREES, VERBATIM], judge=judge)

    assert asked == [AGREES.text]
    assert [each.judged for each in verdicts] == [True, None, None]
    assert [each.is_supported for each in verdicts] == [True, False, True]
    assert [each.is_supported for each in verdicts_of([AGREES])] == [False]


def asking(tmp_path, **entry):
    return Config.model_validate(
        {
            "sources": {"documents": [{"name": "handbook", "url": "/nowhere"}]},
            "state_dir": str(tmp_path),
            "language_models": {"j": {"model": "scripted", "attempts": 1, **entry}},
            "answering": {"judge": {"model": "j"}},
        }
    )


@pytest.mark.parametrize(
    ("reply", "judged"),
    [
        (answers('{"supported": true}'), True),
        (answers('{"supported": false}'), False),
        (answers('{"supported": "tr'), None),
        (answers("Yes."), None),
        (status(500), None),
    ],
)
def test_a_language_model_judges_and_a_call_that_fails_says_nothing(tmp_path, reply, judged):
    with ScriptedServer(reply) as server:
        with open_judge(asking(tmp_path, base_url=server.url, local=True)) as judge:
            row = CitedRow((CitedPair("stiffness", "12", "N/mm"),), subject="springs")
            assert judge.judge("A spring has 12 N/mm.", (SPRING, row)) is judged
        sent = json.dumps(server.requests[0])
    assert "stiffness: 12 N/mm" in sent


@pytest.mark.parametrize("source", [SPRING, CitedText("Nobody knows where this is from.")])
def test_a_text_that_may_not_leave_is_not_judged(tmp_path, source):
    with ScriptedServer(answers('{"supported": true}')) as server:
        with open_judge(asking(tmp_path, base_url=server.url, sources=[])) as judge:
            assert judge.judge("A spring has 12 N/mm.", (source,)) is None
        assert server.seen == b""


@pytest.mark.parametrize("given", [{}, {"path": "a", "model": "j"}])
def test_a_judge_is_a_path_or_a_model(given):
    with pytest.raises(ValueError, match="a path or a model"):
        config_of(**given)
