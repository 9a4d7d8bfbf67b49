"""Whether an answer is given: the rule that was fitted for an index and a retriever, in use."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from rag_assets import identity
from rag_assets.answering.refusal import features as found_features
from rag_assets.answering.refusal.curve import Curve
from rag_assets.answering.refusal.features import Features
from rag_assets.answering.refusal.measures import Measured
from rag_assets.answering.refusal.promise import Promise
from rag_assets.config import Retrieval, Retriever
from rag_assets.store import Store
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet

FOLDER = "refusal"
FORMAT = 2
"""Raise it when rules are written in another way: older ones are not read."""
NAMED = 3
"""Terms that a reason names."""

Choice: TypeAlias = Literal["answer", "closest", "nothing"]


@dataclass(frozen=True, slots=True)
class RefusalDecision:
    """What becomes of a question."""

    confidence: float | None
    """Probability that an answer cites what answers the question; None where nobody can say."""
    outcome: Choice
    """`closest`: only the nearest evidence is worth showing; `nothing`: not even that."""
    reason: str
    """Why there is no answer, in one sentence; empty where there is one."""


@dataclass(frozen=True, slots=True)
class RefusalRule:
    """What was fitted for one index and one retriever."""

    made_from: str
    """Fingerprint of the index's content, the retriever, the questions and what was asked for."""
    curve: Curve | None
    """From features to a probability; None with too few questions."""
    floor: float
    """Least confidence at which evidence is worth showing."""
    promise: Promise
    measured: Measured | None
    """How well it does on the questions that it was fitted on, by folds; None without a curve."""

    @classmethod
    def read(
        cls, store: Store, complete_set: CompleteSet, retriever: Retriever, *, within: Retrieval
    ) -> "RefusalRule | None":
        """The rule of an index and a retriever; None if there is none for just these.

        Another embedding model, chunking, serializer or reranker is another index or retriever:
        what was fitted before says nothing of it. Changed documents leave a rule in place until it
        is fitted anew.

        Args:
            store: Holds the state.
            complete_set: What is searched.
            retriever: Its settings.
            within: The settings around it: depth, rerankers, versions.
        """
        file = file_of(store, complete_set, retriever, within=within)
        try:
            return _rule_adapter().validate_json(file.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def decide(self, features: Features) -> RefusalDecision:
        """Whether an answer from these results is given.

        Without a promise none is withheld: where the questions are too few, nothing is said of the
        confidence either.
        """
        if not features.hits:
            return RefusalDecision(None, "nothing", "the search found nothing")
        if self.curve is None or self.promise.needed is not None:
            return RefusalDecision(None, "answer", "")
        confidence = self.curve.probability(features.values)
        threshold = self.promise.threshold
        if threshold is None or confidence >= threshold:
            return RefusalDecision(confidence, "answer", "")
        outcome: Choice = "closest" if confidence >= self.floor else "nothing"
        return RefusalDecision(confidence, outcome, _reason(features, confidence, threshold))

    def to_json(self) -> bytes:
        """The rule as it is kept."""
        return _rule_adapter().dump_json(self, indent=1)


def file_of(
    store: Store, complete_set: CompleteSet, retriever: Retriever, *, within: Retrieval
) -> Path:
    """Where the rule of an index and a retriever is kept."""
    key = validity(complete_set, retriever, within=within)
    return store.root / FOLDER / name_of(complete_set.joint.table) / f"{key[:32]}.json"


def validity(complete_set: CompleteSet, retriever: Retriever, *, within: Retrieval) -> str:
    """Fingerprint of all that makes scores comparable: another one voids a rule."""
    return identity.fingerprint(
        FORMAT,
        found_features.REVISION,
        name_of(complete_set.joint.table),
        complete_set.embedding.model_dump(mode="json"),
        rows.model_dump(mode="json") if (rows := complete_set.row_embedding) else None,
        retriever.model_dump(mode="json"),
        [within.rerankers[name].model_dump(mode="json") for name in retriever.rerankers],
        [within.depth, within.rrf_k, within.versions],
    )


def _reason(features: Features, confidence: float, threshold: float) -> str:
    if features.missing:
        return f"nothing that was found holds {_listed(features.missing)}"
    if features.apart:
        return f"what fits best does not hold {_listed(features.apart)}"
    return (
        f"an answer from what was found would be right in about {confidence:.0%} of such cases, "
        f"and answers are given from {threshold:.0%}"
    )


def _listed(terms: tuple[str, ...]) -> str:
    return " or ".join(f"'{term}'" for term in terms[:NAMED])


@cache
def _rule_adapter() -> TypeAdapter[RefusalRule]:
    return TypeAdapter(RefusalRule)
