"""The gate: may a candidate take the place of the index that serves?"""

from collections.abc import Callable

from rag_assets import identity, schemas
from rag_assets.change.data_versions import current_version
from rag_assets.config import Config, Retrieval
from rag_assets.operations.verdicts import Basis, Compared, Verdict, utc_now
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet

REVISION = 1
"""Raise it when the same rankings should give another verdict."""


def judge(
    store: Store,
    config: Config,
    *,
    serving: CompleteSet | None,
    candidate: CompleteSet,
    log: Callable[[str], None],
    serving_retrieval: Retrieval | None = None,
    retriever: str | None = None,
) -> Verdict:
    """Whether `candidate` may take the place of `serving`.

    The candidate is searched as the config says. Nothing is written but rankings, which the next
    judgement reads again.

    Args:
        store: Holds both.
        config: As it is now.
        serving: What answers queries; None if nothing does yet.
        candidate: What is to answer them.
        log: Told about progress.
        serving_retrieval: The section `retrieval` that answers queries; the config's unless given.
        retriever: The name of the retriever that answers queries, in `serving_retrieval`.

    Raises:
        OutdatedIndexError: The tables of a set were cleaned up or built anew.
        DamagedTablesError: Files of its tables cannot be read.
    """
    basis = basis_of(
        store,
        config,
        serving=serving,
        candidate=candidate,
        serving_retrieval=serving_retrieval,
        retriever=retriever,
    )
    compared = Compared(
        serving=serving.variant if serving else None,
        candidate=candidate.variant,
        serving_retriever=retriever or config.retrieval.retriever if serving else None,
        retriever=config.retrieval.retriever,
        metric="hit_rate@10",
    )
    if serving is None:
        reasons = ("Nothing served before: the first complete index serves.",)
        return Verdict("PASS", reasons, compared, basis, judged_at=utc_now())
    log(f"{candidate.variant}: judged against {serving.variant}")
    reasons = ("Two indexes cannot be compared yet.",)
    return Verdict("HOLD", reasons, compared, basis, judged_at=utc_now())


def basis_of(
    store: Store,
    config: Config,
    *,
    serving: CompleteSet | None,
    candidate: CompleteSet,
    serving_retrieval: Retrieval | None = None,
    retriever: str | None = None,
) -> Basis:
    """What a verdict on these would rest on now; it reads no more than versions."""
    before = serving_retrieval or config.retrieval
    return Basis(
        serving=_content_of(serving) if serving else "",
        candidate=_content_of(candidate),
        questions=current_version(store, schemas.QUESTIONS_TABLE, key="question_id"),
        retriever=identity.fingerprint(
            before.model_dump(mode="json"),
            retriever or before.retriever,
            config.retrieval.model_dump(mode="json"),
        ),
        judge=identity.fingerprint(REVISION),
    )


def _content_of(complete_set: CompleteSet) -> str:
    return identity.fingerprint(
        [[pin.table, pin.data_version, pin.files] for pin in complete_set.pins]
    )
