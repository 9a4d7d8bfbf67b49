"""TS+TCL, a loss for cross-encoders that also weighs the terms of a question by themselves.

Source: RRADistill (Choi et al. 2024, arXiv:2410.18097), as P1 (section 3.2, tables 3 and 10) trains
its reranker with it. Beside each pair of a question and a text stands a second one, whose text is
cut down to the tokens that lie nearest to the question's (Token Selection). It passes one layer of
attention more (Term Control Layer), and its loss is added. Both fall away once the model is
trained: what is saved is a plain cross-encoder.

Where the code that P1's authors published does otherwise: a batch may hold several questions, the
layer does not see padding, texts may be shorter than the tokens asked for, and the loss is that of
a logit (binary cross-entropy) in place of a square.
"""
# ruff: noqa: TID253 - imported only inside functions that train

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sentence_transformers import CrossEncoder
from sentence_transformers.util import batch_to_device
from torch.nn.functional import binary_cross_entropy_with_logits

WHOLE, SELECTED = 0.7, 0.3
"""Weights of the losses of the two pairs: alpha and beta."""
TOKENS = 3
"""Tokens of the text that are selected for each token of the question."""
HEADS = 8


class TermControlLoss(torch.nn.Module):
    """The loss of `(questions, texts)` with labels from 0 to 1, for `CrossEncoderTrainer`."""

    def __init__(self, model: CrossEncoder, *, tokens: int = TOKENS) -> None:
        """A loss for `model`, with a new layer that is trained beside it.

        Raises:
            ValueError: The model is not built as BERT or RoBERTa is.
        """
        super().__init__()
        network = model.model
        encoder = getattr(getattr(network, "base_model", None), "encoder", None)
        if network is None or encoder is None or network.config.hidden_size % HEADS:
            raise ValueError(
                f"loss: ts_tcl needs a model built as BERT or RoBERTa, of a hidden size that "
                f"{HEADS} divides: this one is {type(network).__name__}. Choose loss: bce"
            )
        self.model = model
        self.tokens = tokens
        width = network.config.hidden_size
        self.attention = torch.nn.MultiheadAttention(width, HEADS, batch_first=True)
        self.norm = torch.nn.LayerNorm(width)

    def forward(
        self,
        inputs: list[list[str]],
        labels: torch.Tensor,
        prompt: str | None = None,
        task: str | None = None,
    ) -> torch.Tensor:
        """The mean loss of a batch: a scalar."""
        del prompt, task  # of models that follow instructions
        questions, texts = inputs
        selected = self.select(questions, texts)
        whole = self.logits(questions, texts)
        controlled = self.logits(questions, selected, controlled=True)
        wanted = labels.to(whole).view(-1)
        return WHOLE * binary_cross_entropy_with_logits(
            whole, wanted
        ) + SELECTED * binary_cross_entropy_with_logits(controlled, wanted)

    @torch.no_grad()
    def select(self, questions: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Token Selection: of each text the tokens that lie nearest to those of its question.

        Question and text are read apart, without dropout. For each token of the question these are
        the `tokens` tokens with the largest product of last hidden states, in the order of the
        question; a token may come twice. All of a shorter text, and nothing without a question.
        """
        was_training = self.model.training
        self.model.eval()
        try:
            asked, read = self._read(questions), self._read(texts)
        finally:
            self.model.train(was_training)
        products = asked.states @ read.states.transpose(1, 2)
        products = products.masked_fill(~read.is_own[:, None], -torch.inf)
        best = products.topk(min(self.tokens, products.shape[2]), dim=2)
        taken = best.values.isfinite() & asked.is_own[:, :, None]
        return [
            self.model.tokenizer.decode(ids[places[kept]].tolist())
            for ids, places, kept in zip(read.ids, best.indices, taken, strict=True)
        ]

    def logits(
        self, questions: Sequence[str], texts: Sequence[str], *, controlled: bool = False
    ) -> torch.Tensor:
        """The logit of each pair, (pairs,); `controlled` ones pass the Term Control Layer."""
        pairs = [*zip(questions, texts, strict=True)]
        features = batch_to_device(self.model.preprocess(pairs), self.model.device)
        if not controlled:
            return self.model(features)["scores"].view(-1)
        padding = features["attention_mask"] == 0

        def control(_encoder: object, _inputs: object, output: dict) -> dict:
            states = output["last_hidden_state"]
            attended, _ = self.attention(
                states, states, states, key_padding_mask=padding, need_weights=False
            )
            output["last_hidden_state"] = self.norm(states + attended)
            return output

        hook = self._backbone.get_submodule("encoder").register_forward_hook(control)
        try:
            return self.model(features)["scores"].view(-1)
        finally:
            hook.remove()

    @property
    def _backbone(self) -> torch.nn.Module:
        network = self.model.model
        assert network is not None, "it was looked at when the loss was made"
        return network.base_model

    def _read(self, texts: Sequence[str]) -> "_Tokens":
        features = self.model.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self.model.max_seq_length,
            return_special_tokens_mask=True,
            return_tensors="pt",
        )
        features = batch_to_device(dict(features), self.model.device)
        is_special = features.pop("special_tokens_mask").bool()
        states = self._backbone(**features).last_hidden_state
        is_own = features["attention_mask"].bool() & ~is_special
        return _Tokens(features["input_ids"], states, is_own)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """What the model reads in some texts, each by itself."""

    ids: torch.Tensor
    """(texts, tokens)"""
    states: torch.Tensor
    """(texts, tokens, hidden size)"""
    is_own: torch.Tensor
    """(texts, tokens): whether it is neither padding nor a special token."""
