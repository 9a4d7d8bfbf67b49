"""Measuring the retrievers of one variant on questions.

`evaluate_variant` takes the imported question sets, `evaluate_file` a question file of one's own.
Where index, questions and settings are those of the evaluation that lies there, it is returned as
it is: nothing is searched and no model is loaded.
"""

import hashlib
import platform
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import identity, schemas
from rag_assets.change.data_versions import current_version
from rag_assets.change.sync import Failure
from rag_assets.config import Config, QuestionSet, Retriever, RetrieverName
from rag_assets.config.questions import GENERATED_SETS
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation import results
from rag_assets.evaluation.doctor import evidence_of, examine
from rag_assets.evaluation.indexed_gold import gold_state, read_indexed_gold
from rag_assets.evaluation.non_inferiority import SMALLEST_MARGIN
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.questions import Question, QuestionFile
from rag_assets.evaluation.results import EvaluationRecord, EvaluationResult, Settings
from rag_assets.evaluation.scores import evaluate, without_sets
from rag_assets.evaluation.smoke_tests import proofs, smoke_tests
from rag_assets.evaluation.superseded_gold import among_all_versions, split_superseded
from rag_assets.media.json_lines import QuestionsError
from rag_assets.process.errors import UnanswerableError
from rag_assets.retrieval.arms import Arms, revisions_of
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of
from rag_assets.store.complete_sets import CompleteSet, set_of_recipe
from rag_assets.store.pins import Pin

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

REVISION = 8
"""Raise it when the same tables should give other rankings or numbers, or another report."""

PROBE = "probe"
"""A query that tells whether a retriever can search at all."""
DEPTH_PER_RANK = 5
"""Units kept of a ranking for each rank that is measured: several may belong to one document."""
PACKAGES = ("rag-assets", "lancedb", "sentence-transformers", "torch")


def evaluate_variant(
    store: Store, config: Config, *, variant: str, arms: Arms, log: Callable[[str], None]
) -> EvaluationResult | None:
    """Evaluate a variant on the imported question sets; None if there are no questions.

    `arms` are those that its retrievers ask.

    Raises:
        MissingIndexError: The variant has no complete index.
    """
    if not store.count(schemas.QUESTIONS_TABLE):
        return None

    def questions() -> list[Question]:  # read only if there is something to measure anew
        if found := question_sets.read_questions(store):
            return found
        raise _NothingMeasuredError

    evaluation = _Evaluation(
        store=store,
        config=config,
        variant=variant,
        retrievers=compared(config),
        questions_version=lambda: current_version(
            store, schemas.QUESTIONS_TABLE, key="question_id"
        ),
        folder=results.folder_of(store, variant),
        questions=questions,
        arms=arms,
        log=log,
    )
    try:
        return evaluation.result()
    except _NothingMeasuredError:
        return None


class _NothingMeasuredError(Exception):
    """All questions are to train on."""


def compared(config: Config) -> list[RetrieverName]:
    """The retriever that answers searches, and those of the config that it is compared with."""
    return list(dict.fromkeys([config.retrieval.retriever, *config.evaluation.retrievers]))


def evaluate_file(
    store: Store,
    config: Config,
    *,
    path: Path,
    variant: str,
    retrievers: Sequence[RetrieverName],
    arms: Arms,
    log: Callable[[str], None],
) -> EvaluationResult:
    """Evaluate a variant on the questions of one file, which need not be in the config.

    Document ids are mapped by the `documents.jsonl` that the config gives for this file, or that
    lies beside it. Lines that are not questions are listed in `failures`; the other lines are
    measured, those of the split `train` only where the file has no others.

    Raises:
        QuestionsError: The file is not readable or holds no question.
        MissingIndexError: The variant has no complete index.
    """
    parsed = parsed_file(config, path)
    name = re.sub(r"[^\w-]+", "_", path.stem)
    return _Evaluation(
        store=store,
        config=config,
        variant=variant,
        retrievers=retrievers,
        questions_version=lambda: identity.fingerprint(dict(parsed.contents)),
        folder=results.folder_of(store, variant, name=name),
        questions=lambda: parsed.measured,
        failures=list(parsed.failures.values()),
        arms=arms,
        log=log,
    ).result()


def parsed_file(config: Config, path: Path) -> QuestionFile:
    """The questions of a file, as `evaluate_file` takes them; there is at least one.

    Raises:
        QuestionsError: The file is not readable or holds no question.
    """
    parsed = question_sets.parse(_question_set(config, path))
    if not parsed.rows:
        reasons = [failure.reason for failure in parsed.failures.values()] or ["it is empty"]
        raise QuestionsError(f"{path} holds no question that can be used: {reasons[0]}")
    return parsed


def _question_set(config: Config, path: Path) -> QuestionSet:
    for known in config.question_files:
        if known.path.absolute() == path.absolute():
            return known
    beside = path.with_name("documents.jsonl")
    return QuestionSet(path=path, documents=beside if beside.is_file() else None)


def fingerprint_of(
    store: Store,
    config: Config,
    *,
    variant: str,
    complete_set: CompleteSet,
    questions: str,
    retrievers: Sequence[str],
    arms: Arms,
) -> str:
    """Fingerprint of all that an evaluation depends on: see `EvaluationRecord.made_from`.

    Args:
        store: The state.
        config: Says how the retrievers search.
        variant: The variant whose gold is looked for.
        complete_set: What is searched.
        questions: Another value once the questions have changed.
        retrievers: The retrievers that are measured, in their order.
        arms: The arms that the retrievers ask.
    """
    from rag_assets.models.rerankers import replaceable
    from rag_assets.retrieval.glossary import glossary_of

    used = [one for name in retrievers for one in config.retrieval.retrievers[name].rerankers]
    rerankers = {name: config.retrieval.rerankers[name] for name in used}
    models = replaceable(rerankers, home=store.encoders)
    is_asked = any(config.retrieval.retrievers[name].glossary for name in retrievers)
    glossary = glossary_of(config) if is_asked else None
    return identity.fingerprint(
        REVISION,
        questions,
        [[pin.data_version, pin.files] for pin in complete_set.pins],
        gold_state(store, config.tables_of(variant)),
        list(retrievers),
        config.evaluation.cutoffs,
        config.evaluation.bootstrap_samples,
        config.retrieval.model_dump(mode="json"),
        rewrites_of(store, config, retrievers),
        config.index.ann_from_rows,
        SMALLEST_MARGIN,
        {source.name: source.url for source in config.sources.documents},
        *([models] if models else []),
        *([glossary.content] if glossary else []),
        *sorted(config.generated_sets.difference(GENERATED_SETS)),  # the others are so everywhere
        *proofs(store, config),
        *(complete_set.indexes or ()),
        *revisions_of(arms, *(config.retrieval.retrievers[name] for name in retrievers)),
    )


def depth_of(config: Config) -> int:
    """Units that are kept of each ranking."""
    return max(config.retrieval.depth, DEPTH_PER_RANK * max(config.evaluation.cutoffs))


def rewrites_of(store: Store, config: Config, retrievers: Sequence[str]) -> dict[str, str]:
    """What the rewrites of `retrievers` come from, by retriever; it may be missing.

    That is the hash of a file, or a language model with its prompt: see `RewritingModels.identity`.
    """
    from rag_assets.retrieval.model_rewriter import RewritingModels

    models = RewritingModels(config, state=store.root)
    fusions = {name: config.retrieval.retrievers[name].query_fusion for name in retrievers}
    by_file = {
        name: hashlib.sha256(fusion.path.read_bytes()).hexdigest()
        for name, fusion in fusions.items()
        if fusion and fusion.path and fusion.path.is_file()
    }
    by_model = {name: models.identity(fusion) for name, fusion in fusions.items() if fusion}
    return by_file | {name: found for name, found in by_model.items() if found}


def _rewriting(store: Store, config: Config, retrievers: Sequence[str]) -> dict[str, str]:
    """The language model that rewrites the queries of a retriever, and its prompt."""
    from rag_assets.retrieval.model_rewriter import RewritingModels

    models = RewritingModels(config, state=store.root)
    fusions = {name: config.retrieval.retrievers[name].query_fusion for name in retrievers}
    described = {name: models.description(fusion) for name, fusion in fusions.items() if fusion}
    return {f"rewriting of {name}": found for name, found in described.items() if found}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evaluation:
    """What is evaluated, on what, and where the result lies."""

    store: Store
    config: Config
    variant: str
    retrievers: Sequence[RetrieverName]
    questions_version: Callable[[], str]
    """Returns another value once the `questions` have changed."""
    questions: Callable[[], Sequence[Question]]
    folder: Path
    arms: Arms
    log: Callable[[str], None]
    failures: Sequence[Failure] = ()

    def result(self) -> EvaluationResult:
        """What lies in `folder`, computed again if anything that it depends on has changed."""
        started = time.monotonic()
        store, config = self.store, self.config
        with store.lock(f"evaluation__{self.variant}", log=self.log):
            # inside the lock: index and questions may have changed while it was waited for
            complete_set = set_of_recipe(store, config, self.variant)
            made_from = fingerprint_of(
                store,
                config,
                variant=self.variant,
                complete_set=complete_set,
                questions=self.questions_version(),
                retrievers=self.retrievers,
                arms=self.arms,
            )
            known = results.load(self.folder, made_from=made_from)
            if known is None or _can_search_again(store, config, known.record, complete_set):
                return self._measured(complete_set, made_from=made_from)
            return EvaluationResult(
                self.folder,
                known.record,
                known.scores,
                seconds=time.monotonic() - started,
                failures=self.failures,
            )

    def _measured(self, complete_set: CompleteSet, *, made_from: str) -> EvaluationResult:
        from rag_assets.evaluation.evaluation_report import render
        from rag_assets.evaluation.latency import latencies
        from rag_assets.evaluation.question_words import question_words

        started = time.monotonic()
        store, config, variant, log = self.store, self.config, self.variant, self.log
        cutoffs = sorted({*config.evaluation.cutoffs})
        depth = depth_of(config)
        index, questions, apart, indexed = asked(
            store, config, self.questions(), among=complete_set, variant=variant, arms=self.arms
        )
        retrievers = _usable(index, list(dict.fromkeys(self.retrievers)), log=log)
        unmeasured: dict[str, str] = {}
        rankings = dict(
            searched(
                index,
                questions,
                {name: config.retrieval.retrievers[name] for name in retrievers},
                needed=_main(config, retrievers),
                depth=depth,
                unmeasured=unmeasured,
                log=log,
            )
        )
        retrievers = list(rankings)
        smoke = smoke_tests(store, config, questions)
        deciding = [one for one in questions if one.question_set not in smoke]
        scores = evaluate(
            rankings,
            questions,
            indexed=indexed,
            cutoffs=cutoffs,
            depth=depth,
            samples=config.evaluation.bootstrap_samples,
            apart=smoke,
        )
        counted = without_sets(scores.questions, smoke)
        evidence = evidence_of(
            replace(scores, questions=counted),
            retrievers=retrievers,
            cutoffs=cutoffs,
            words=question_words(index, deciding or questions, indexed=indexed),
            config=config,
        )
        record = EvaluationRecord(
            made_from=made_from,
            variant=variant,
            evaluated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            questions=pc.count_distinct(counted["question_id"]).as_py(),
            retrievers=retrievers,
            cutoffs=cutoffs,
            main_retriever=_main(config, retrievers),
            latency=latencies(
                index,
                [question.text for question in questions],
                {name: config.retrieval.retrievers[name] for name in retrievers},
                top_k=config.retrieval.top_k,
            ),
            settings={
                **_settings(store, config, variant=variant, joint=complete_set.joint, depth=depth),
                **_rewriting(store, config, retrievers),
            },
            margin=SMALLEST_MARGIN,
            flaws=examine(evidence),
            versions=config.retrieval.versions,
            superseded=among_all_versions(
                index,
                apart,
                indexed=indexed,
                retriever=_main(config, retrievers),
                cutoffs=cutoffs,
                depth=depth,
            ),
            smoke_tests=smoke,
            unmeasured=unmeasured,
        )
        result = EvaluationResult(
            self.folder,
            record,
            scores,
            is_new=True,
            seconds=time.monotonic() - started,
            failures=self.failures,
            spending=index.spending,
        )
        results.save(result, rankings=_joined(rankings, questions), report=render(result))
        return result


def asked(
    store: Store,
    config: Config,
    questions: Sequence[Question],
    *,
    among: CompleteSet,
    variant: str,
    arms: Arms,
) -> tuple["VariantIndex", Sequence[Question], Sequence[Question], IndexedGold]:
    """The index of `variant` at the set `among`, and what to ask it.

    That is those of `questions` that are measured, those apart whose gold is superseded (see
    `split_superseded`), and the gold of all of them in the index.
    """
    from rag_assets.retrieval.opening import open_index

    index = open_index(store, config, variant, complete_set=among, arms=arms)
    gold = [piece for question in questions for piece in question.gold]
    indexed = read_indexed_gold(store, config, variant=variant, joint=among.joint, gold=gold)
    return index, *split_superseded(index, questions, indexed=indexed), indexed


def searched(
    index: "VariantIndex",
    questions: Sequence[Question],
    retrievers: Mapping[str, Retriever],
    *,
    needed: str,
    depth: int,
    unmeasured: dict[str, str],
    log: Callable[[str], None],
) -> Iterator[tuple[str, pa.Table]]:
    """Each retriever with its rankings; why others could not search is put into `unmeasured`.

    Whatever hinders `needed` is raised.
    """
    texts = [question.text for question in questions]
    for place, (name, retriever) in enumerate(retrievers.items(), start=1):
        log(
            f"{index.variant}: searching {len(questions):,} questions with {name} "
            f"({place} of {len(retrievers)})"
        )
        try:
            yield name, index.search_many(texts, retriever=retriever, length=depth)
        except UnanswerableError as error:
            if name == needed:
                raise
            log(f"{index.variant}: not measured with {name}: {error}")
            unmeasured[name] = str(error)


def _can_search_again(
    store: Store, config: Config, record: EvaluationRecord, complete_set: CompleteSet
) -> bool:
    """Whether a retriever that could not search when this was measured can do so by now."""
    from rag_assets.retrieval.opening import open_index

    if not record.unmeasured:
        return False
    index = open_index(store, config, record.variant, complete_set=complete_set).without_cache()
    for retriever in record.unmeasured:
        with suppress(UnanswerableError):
            index.search_many([PROBE], retriever=retriever)
            return True
    return False


def _usable(
    index: "VariantIndex", retrievers: Sequence[RetrieverName], *, log: Callable[[str], None]
) -> Sequence[RetrieverName]:
    """The retrievers that can search the index; all if none of them can."""
    usable = [name for name in retrievers if index.usable(name)]
    for name in retrievers:
        if usable and name not in usable:
            log(f"{index.variant}: not measured with {name}, as each domain has a model of its own")
    return usable or retrievers


def _main(config: Config, retrievers: Sequence[RetrieverName]) -> RetrieverName:
    chosen = config.retrieval.retriever
    return chosen if chosen in retrievers else retrievers[-1]


def _joined(rankings: Mapping[str, pa.Table], questions: Sequence[Question]) -> pa.Table:
    """All rankings in one table, with retriever and question id in place of the query's index."""
    ids = pa.array([question.question_id for question in questions], pa.string())
    parts = []
    for retriever, table in rankings.items():
        names = pa.array([retriever] * table.num_rows, pa.string())
        named = table.add_column(0, "question_id", ids.take(table["query_index"].combine_chunks()))
        plain = named.add_column(0, "retriever", names).drop_columns("query_index")
        parts.append(plain.replace_schema_metadata(None))
    return pa.concat_tables(parts)


def _settings(store: Store, config: Config, *, variant: str, joint: Pin, depth: int) -> Settings:
    found = store.read(joint.table, columns=["encoder_id"], version=joint.version)
    encoders = found["encoder_id"]
    parts = config.variant(variant)
    return {
        "parser": parts.parser,
        "chunking": parts.chunking,
        "serializer": parts.serializer,
        "model": parts.model_label,
        "encoder": ", ".join(encoders.unique().to_pylist()),
        "index": f"{folder_of(joint.table)}, version {joint.version}",
        "index data version": joint.data_version,
        "units": len(encoders),
        "depth of a ranking (units)": depth,
        "depth of an arm (units)": config.retrieval.depth,
        "constant of reciprocal rank fusion": config.retrieval.rrf_k,
        "samples of the bootstrap and of the tests": config.evaluation.bootstrap_samples,
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
