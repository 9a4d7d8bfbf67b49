"""The one door to answers: what is searched, its tables, and the language models that help.

    with open_assistant(config) as assistant:
        answer = assistant.ask("What is the density of 316L?")
        for sentence in answer.sentences:
            print(sentence.text, [citation.kind for citation in sentence.citations])

Commands, evaluations and benchmarks go through it, so that each of them asks in the same way.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from rag_assets.config import ArmName, Config, RetrieverName
from rag_assets.retrieval.access import EVERYTHING, Access, AccessRules, Sight
from rag_assets.retrieval.filters import Filters
from rag_assets.store import Store
from rag_assets.store import purges as purges_of
from rag_assets.table_lookup.arm import LookupArm

if TYPE_CHECKING:
    from rag_assets.answering.answer import Answer
    from rag_assets.answering.asking import AnswerSources, Asked
    from rag_assets.answering.checks.judging import SupportJudge
    from rag_assets.answering.checks.verifying import SentenceVerdict
    from rag_assets.answering.condensation.conversation import Condensed, Turn
    from rag_assets.answering.evidence_cards import EvidenceCards
    from rag_assets.answering.generation.writing import Writer
    from rag_assets.answering.quoting.sourcing import SourcedText
    from rag_assets.answering.record.kept import KeptAnswer
    from rag_assets.answering.reporting.cited_report import CitedReport
    from rag_assets.models.language.client import LanguageModelClient
    from rag_assets.retrieval.arms import Arm
    from rag_assets.retrieval.hits import Hit, Results
    from rag_assets.retrieval.mentions import MentioningSource, SoughtText
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.store.complete_sets import CompleteSet
    from rag_assets.store.serving_pointer import ServingPointer
    from rag_assets.table_lookup.by_model.model_planner import ModelPlanner
    from rag_assets.table_lookup.looking_up import LookedUp
    from rag_assets.table_lookup.plans.plan import LookupPlan
    from rag_assets.table_lookup.tables.catalogue import Catalogue

VIEWS_KEPT = 64
"""Different accesses, for each of which a view is kept."""


@dataclass(frozen=True, slots=True)
class AnswerModels:
    """The language models that help to answer; None where rules alone do."""

    condenser: "LanguageModelClient | None" = None
    """Completes follow-ups: see `condensation.by_model`."""
    planner: "ModelPlanner | None" = None
    """Reads questions to tables."""
    writer: "Writer | None" = None
    """Writes what would only be found: see `generation`."""

    def reading_since(self, purges: int) -> "AnswerModels":
        """These models, for texts that are read from now on: see `store.purges`."""
        condenser, planner, writer = self.condenser, self.planner, self.writer
        return AnswerModels(
            condenser=condenser and condenser.reading_since(purges),
            planner=planner and planner.reading_since(purges),
            writer=writer and writer.reading_since(purges),
        )


class Assistant:
    """Searches, looks up, answers and reports on one index; it is safe to share between threads.

    The index is opened when it is first needed. In process, everything is seen; whoever asks for
    somebody else asks the view that is `seen_by` them.
    """

    access: Access = EVERYTHING
    """What may be seen."""
    sight: Sight | None = None
    """What of this index that is; None: all of it."""

    def __init__(
        self,
        store: Store,
        config: Config,
        variant: str | None = None,
        *,
        complete_set: "CompleteSet | None" = None,
        pointer: "ServingPointer | None" = None,
        models: AnswerModels = AnswerModels(),
    ) -> None:
        """Open nothing yet; see `open_assistant`.

        With `pointer`, what it names is searched, whatever serves by then.
        """
        self.store = store
        self.config = config
        self.purges = purges_of.count(store.root)
        """How many the state had had before anything was read."""
        self.models = models.reading_since(self.purges)
        self._variant = variant
        self._complete_set = complete_set
        self._pointer = pointer
        self._tables = LookupArm(store, config)
        self._view = lru_cache(VIEWS_KEPT)(self._make_view)

    def seen_by(self, access: Access) -> "Assistant":
        """The assistant that knows nothing but what `access` may see, kept for the next time.

        Raises:
            MissingIndexError, ServingPointerError, OutdatedIndexError, DamagedTablesError: As
                `index`.
        """
        return self._view(access.within(self.config))

    def _make_view(self, access: Access) -> "Assistant":
        if access.groups is None:
            return self
        view = copy(self)
        view.access = access
        view.sight = Sight(self._rules, access.groups)
        view._tables = self._tables.seen_by(view.sight)
        view.index = self.index.seen_by(view.sight, arms={"lookup": view._tables})
        return view

    def may_show(self, kept: "KeptAnswer") -> bool:
        """Whether a kept answer holds nothing but what may be seen: see `kept.is_seen_by`."""
        from rag_assets.answering.record.kept import is_seen_by

        sight = self.sight
        return sight is None or is_seen_by(sight, kept, index=self.index, catalogue=self.catalogue)

    @cached_property
    def _rules(self) -> AccessRules:
        """By the rows of what serves now, whatever version of them is searched.

        Whoever may not see a row any more does not see it as it was either.
        """
        from rag_assets.store import MissingTableError, serving_pointer
        from rag_assets.store.complete_sets import set_of

        rows_of = self.index.complete_set
        if self._pointer is not None or self._complete_set is not None:
            with suppress(MissingTableError):  # nothing serves now: then those that are searched
                pointer = serving_pointer.current(self.store)
                variant = self.config.serving_variant
                rows_of = (
                    pointer.complete_set if pointer else set_of(self.store, self.config, variant)
                )
        return AccessRules(self.store, self.config, rows_of)

    @cached_property
    def index(self) -> "VariantIndex":
        """What is searched.

        Raises:
            ConfigError: The config has no such variant.
            MissingIndexError, ServingPointerError: There is no complete index, or it is gone.
            OutdatedIndexError: The tables of the complete set were cleaned up or built anew.
            DamagedTablesError: Files of its tables cannot be read.
        """
        from rag_assets.retrieval.opening import open_index
        from rag_assets.retrieval.serving import open_pointer, open_serving

        arms: Mapping[ArmName, Arm] = {"lookup": self._tables}
        if self._pointer is not None:
            return open_pointer(self.store, self.config, self._pointer, arms=arms)
        if self._variant is None:
            return open_serving(self.store, self.config, arms=arms)
        return open_index(
            self.store, self.config, self._variant, complete_set=self._complete_set, arms=arms
        )

    @property
    def catalogue(self) -> "Catalogue":
        """The tables of the index, which questions are looked up in."""
        return self._tables.catalogue(self.index.complete_set)

    @property
    def cards(self) -> "EvidenceCards":
        """The evidence cards of what the index holds."""
        from rag_assets.answering.evidence_cards import EvidenceCards
        from rag_assets.store import serving_pointer

        index, variant = self.index, self._variant
        if self._pointer is not None and self._pointer != serving_pointer.current(self.store):
            variant = index.variant
        complete_set, catalogue = index.complete_set, self.catalogue
        return EvidenceCards(
            self.store, self.config, complete_set, catalogue, variant, sight=self.sight
        )

    def search(
        self,
        query: str,
        *,
        retriever: RetrieverName | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> "Results":
        """The units that answer a query best: see `VariantIndex.search`."""
        return self.index.search(query, retriever=retriever, top_k=top_k, filters=filters)

    def mentions(
        self, sought: "SoughtText", *, filters: Filters | None = None
    ) -> "Iterator[MentioningSource]":
        """Every document and row that mentions a text: see `retrieval.mentions`.

        Raises:
            PatternError: It cannot be looked for.
            OutdatedIndexError: As `search`.
            AbandonedError: Nobody waits for it: see `workers.raise_if_abandoned`.
        """
        from rag_assets.retrieval.mentions import mentions_of
        from rag_assets.workers import raise_if_abandoned

        for block in mentions_of(sought, self.index, filters):
            raise_if_abandoned()
            yield from block

    def completed(self, question: str, said: "Sequence[Turn]") -> "Condensed":
        """The question with what it takes from the conversation before it."""
        from rag_assets.answering.condensation.by_model import condense
        from rag_assets.answering.condensation.by_rules import condensed

        if (model := self.models.condenser) is None:
            return condensed(question, said, catalogue=self.catalogue)
        every = self.config.source_names
        return condense(question, said, model, every_source=every, catalogue=self.catalogue)

    def ask(
        self,
        question: str,
        *,
        said: "Sequence[Turn]" = (),
        filters: Filters | None = None,
        retriever: RetrieverName | None = None,
        log: Callable[[str], None] = lambda _line: None,
    ) -> "Answer":
        """The answer to `question`, with its proof: the last of what `stream` gives."""
        from rag_assets.answering.asking import answer_of

        return answer_of(
            self.stream(question, said=said, filters=filters, retriever=retriever, log=log)
        )

    def stream(
        self,
        question: str,
        *,
        said: "Sequence[Turn]" = (),
        filters: Filters | None = None,
        retriever: RetrieverName | None = None,
        log: Callable[[str], None] = lambda _line: None,
    ) -> "Iterator[Asked]":
        """The answer to `question`, with its proof, and on the way to it all that is known already.

        Args:
            question: In words; a follow-up is completed.
            said: What was said before, the oldest first.
            filters: What may be cited.
            retriever: What searches; that of the config unless given.
            log: Is told how a follow-up was read, where that needs a word.

        Raises:
            EmptyQueryError: The question is blank.
            ModelMismatchError, MissingTextIndexError, RerankerError, OutdatedIndexError: As
                `search`.
        """
        from rag_assets.answering.asking import stream

        writer = self.models.writer
        if writer and not writer.sees_all:
            said = [replace(turn, answer="") for turn in said]  # it may hold words of any source
        whole = self.completed(question, said)
        if whole.note:
            log(whole.note)
        yield from stream(
            self._sources,
            question,
            read_as=whole.question if whole.is_follow_up else "",
            said=said,
            filters=filters,
            retriever=retriever,
        )

    def ask_again(
        self,
        question: str,
        *,
        read_as: str,
        filters: Filters | None,
        retriever: RetrieverName | None,
    ) -> "Answer":
        """The answer to a question that was completed before: `read_as`, empty for none."""
        from rag_assets.answering.asking import answer_of, stream

        return answer_of(
            stream(self._sources, question, read_as=read_as, filters=filters, retriever=retriever)
        )

    def lookup(self, question: str) -> "LookedUp":
        """What the tables alone say to a question."""
        from rag_assets.table_lookup.looking_up import look_up

        return look_up(question, self.catalogue, planner=self.models.planner)

    def run(self, plan: "LookupPlan") -> "LookedUp":
        """What the tables say to a plan."""
        from rag_assets.table_lookup.looking_up import answer_plan

        return answer_plan(plan, self.catalogue)

    def report(
        self,
        prompt: str,
        *,
        filters: Filters | None = None,
        retriever: RetrieverName | None = None,
        progress: Callable[[str], None] = lambda _line: None,
    ) -> "CitedReport":
        """A report on a prompt with several topics: see `reporting.writing`.

        Raises:
            PromptError: The prompt is blank or far too long.
            ModelMismatchError, MissingTextIndexError, RerankerError, OutdatedIndexError: As
                `search`.
        """
        from rag_assets.answering.reporting.decomposition import open_decomposer
        from rag_assets.answering.reporting.writing import write_report

        with open_decomposer(self.config) as decomposer:
            return write_report(
                self._sources,
                prompt,
                filters=filters,
                retriever=retriever,
                decomposer=decomposer,
                progress=progress,
            )

    def verify(
        self, text: str, *, judge: "SupportJudge | None" = None
    ) -> "Sequence[SentenceVerdict]":
        """What of an answer is in the sources that it cites, sentence by sentence.

        Args:
            text: An answer as JSON, or a text with citations; its sources are looked up here.
            judge: Says of what is not proven by comparing whether its sources support it.

        Raises:
            AnswerFormatError, CitedTextError: It cannot be read.
            OutdatedIndexError, DamagedTablesError: As `search`.
        """
        from rag_assets.answering.checks.given_texts import sentences_in
        from rag_assets.answering.checks.verifying import verdicts_of

        given = sentences_in(text, index=self.index, catalogue=lambda: self.catalogue)
        return verdicts_of(given, judge=judge)

    def cite(
        self,
        text: str,
        *,
        from_index: bool = False,
        retriever: RetrieverName | None = None,
        hits: int = 3,
    ) -> "SourcedText":
        """Sources for the sentences of a text that cites none, or the wrong ones.

        Args:
            text: Markdown or text, with [1] and a list of sources where it has them.
            from_index: Search although the text lists sources.
            retriever: What searches; that of the config unless given.
            hits: Units that are compared for each sentence.

        Raises:
            CitedTextError: Its citations cannot be told from its words.
            RerankerError, ModelMismatchError, OutdatedIndexError: As `search`.
        """
        from rag_assets.answering.quoting.sourcing import open_scorer, sourced

        def search(sentence: str) -> "Sequence[Hit]":
            return self.search(sentence, retriever=retriever, top_k=hits).hits

        scorer = open_scorer(self.store, self.config)
        return sourced(text, scorer, search=search, from_index=from_index)

    def matched(
        self, answers: Sequence[tuple[Sequence[str], Sequence[str]]]
    ) -> list[list[tuple[int | None, float]]]:
        """For each sentence of some answers the place of its unit, and how relevant that is.

        Every sentence has a unit, as without a threshold (P1, table 7).

        Args:
            answers: Of each its sentences, and the texts of the units that it may come from.

        Raises:
            RerankerError: What says how relevant units are cannot be loaded.
        """
        from rag_assets.answering.quoting.sourcing import match_references, open_scorer

        scorer = open_scorer(self.store, self.config)
        found = [match_references(*each, scorer, null=0.0) for each in answers]
        return [
            [(part.unit, part.score) for part in parts for _ in range(part.start, part.end)]
            for parts in found
        ]

    @property
    def _sources(self) -> "AnswerSources":
        from rag_assets.answering.asking import AnswerSources

        return AnswerSources(
            self.index,
            self.store,
            self.config,
            self.catalogue,
            writer=self.models.writer,
            planner=self.models.planner,
        )


@contextmanager
def open_assistant(
    config: Config,
    variant: str | None = None,
    *,
    writer: str | None = None,
    complete_set: "CompleteSet | None" = None,
) -> Generator[Assistant]:
    """An assistant on what serves, or on a variant, with the models that the config names.

    Args:
        config: Names the models in its section `answering`. One that is named twice is opened
            once: the budget of a run counts all that it is asked.
        variant: Another one than what serves, at its last complete set.
        writer: Another entry of `language_models` that writes, or `NOBODY`.
        complete_set: Other tables of the variant than its last ones.

    Raises:
        ConfigError: The config has no such model.
        MissingExtraError: It is the embedded one, and the extra that it needs is not installed.
    """
    store = Store.of(config)
    with open_models(config, writer=writer) as models:
        yield Assistant(store, config, variant, complete_set=complete_set, models=models)


@contextmanager
def open_models(config: Config, *, writer: str | None = None) -> Generator[AnswerModels]:
    """The models of `open_assistant` alone."""
    from rag_assets.answering.checks.judging import open_judge
    from rag_assets.answering.generation.writing import writer_name, writer_of
    from rag_assets.models.language.opening import open_language_model
    from rag_assets.table_lookup.by_model.model_planner import ModelPlanner

    opened: dict[str, LanguageModelClient] = {}
    settings = config.answering
    with ExitStack() as stack:

        def of(name: str | None) -> "LanguageModelClient | None":
            if name is None:
                return None
            if name not in opened:
                model = open_language_model(config, name)
                opened[name] = stack.enter_context(model)
            return opened[name]

        planner = of(settings.planner)
        writing = of(writer_name(config, writer))
        judge = stack.enter_context(open_judge(config)) if writing else None
        yield AnswerModels(
            condenser=of(settings.condenser),
            planner=ModelPlanner(planner) if planner else None,
            writer=writer_of(writing, config, judge=judge) if writing else None,
        )


def most_calls(
    config: Config, *, writer: str | None = None, reports: bool = False
) -> list[tuple[str, int]]:
    """The models that one answer, or one report, may ask, each with the most calls of one use.

    Args:
        config: Names the models in its section `answering`.
        writer: Another entry of `language_models` that writes, or `NOBODY`.
        reports: Whether reports are written, section by section.
    """
    from rag_assets.answering.generation.writing import MOST_COMPUTATIONS, SENTENCES, writer_name
    from rag_assets.answering.reporting.decomposition import MOST_PARTS

    settings, writing = config.answering, writer_name(config, writer)
    tries = MOST_PARTS if reports else 1 + bool(settings.further_queries)
    found = [
        (settings.planner, 0 if reports else 1),
        (settings.condenser, 0 if reports else 1),
        (writing, (MOST_COMPUTATIONS + 2) * tries),  # an answer, computations, faults
    ]
    if writing and settings.judge:
        found.append((settings.judge.model, 2 * SENTENCES * tries))
    if reports and settings.report.decomposer == "model":
        found.append((config.language_model()[0], 1))
    return [(name, count) for name, count in found if name and count]
