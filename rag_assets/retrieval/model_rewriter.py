"""Rewriting queries by a language model: by one of three strategies, each a prompt of its own.

    models = RewritingModels(config, state=store.root)
    rewrite = models.rewriter(QueryFusion(rewriter="model"))
    [rewritten] = rewrite(["How dense is 316L?"])

The strategies are those of paper P2, A.4.3. A query is what a user asks: no text of a source is
sent, so a request names none. A call that fails leaves a search with the query alone, and stops
a measurement if the model might answer later.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from weakref import finalize

from rag_assets.config import Config, ConfigError, QueryFusion, RewritingStrategy
from rag_assets.models.hosted import QUERY_PATIENCE
from rag_assets.models.language.calls import Completion, LanguageModel, Message, Request
from rag_assets.models.language.embedded import MissingExtraError
from rag_assets.models.language.opening import open_language_model
from rag_assets.models.language.prompts import read_prompt
from rag_assets.retrieval.filters import encodable
from rag_assets.retrieval.rewriters import Rewriter, RewritesError, Rewritten, distinct

if TYPE_CHECKING:
    from rag_assets.models.language.client import LanguageModelClient

PACKAGE = "rag_assets.retrieval"
TOKENS = 100
"""The most tokens of a reformulation, beyond those that a long query needs."""
CHARACTERS_PER_TOKEN = 2
"""Few words have fewer."""
LONGEST = 1_000
"""The most characters of a reformulation, beyond those that a long query needs: a server that does
not keep its limit of tokens must not hold up a search."""
SPARE = 5
"""Reformulations that a model may write beyond the one that it is asked for."""
AT_ONCE = 32
"""Queries of one batch: after a batch in which the model is away, no further one is asked."""
PASSING = frozenset({"unavailable", "over_budget"})
"""Outcomes that another run may not have; all others tell what the model makes of the query."""

logger = logging.getLogger(__name__)


class UnwrittenError(RewritesError):
    """A language model gave no rewrites, so that nothing can be measured with it."""


def request_of(query: str, *, strategy: RewritingStrategy) -> Request:
    """What a model is asked for a reformulation of `query`."""
    prompt = read_prompt(PACKAGE, f"rewrite_{strategy}")
    return Request(
        messages=(Message("user", prompt.filled(query=query, count="1")),),
        max_tokens=TOKENS + len(query) // CHARACTERS_PER_TOKEN,
        schema={
            "type": "object",
            "properties": {
                "rewrites": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "maxItems": 1 + SPARE,
                }
            },
            "required": ["rewrites"],
            "additionalProperties": False,
        },
    )


def prompt_label(strategy: RewritingStrategy) -> str:
    """Name, version and hash of the prompt of a strategy."""
    prompt = read_prompt(PACKAGE, f"rewrite_{strategy}")
    return f"prompt {prompt.name} v{prompt.version} {prompt.hash[:12]}"


class ModelRewriter:
    """Rewrites by one language model and one strategy; safe to share between threads."""

    def __init__(
        self,
        open_model: Callable[[], LanguageModel],
        *,
        strategy: RewritingStrategy,
        is_measured: bool = False,
    ) -> None:
        """Open nothing yet.

        Args:
            open_model: Gives the model; it raises a `RewritesError` if there is none.
            strategy: The strategy by which it is asked.
            is_measured: Raise where a search would go on without it.
        """
        self._open_model = open_model
        self._strategy = strategy
        self._is_measured = is_measured

    def __call__(self, queries: Sequence[str], /) -> list[Rewritten]:
        """See `Rewriter`; several queries are asked side by side, and none of them twice.

        Raises:
            RewritesError: Nothing can be measured, as there is no such model.
            UnwrittenError: What is measured would depend on whether the model answers now.
        """
        try:
            model = self._open_model()
        except RewritesError as error:
            if self._is_measured:
                raise
            logger.warning("%s; searched without", error)
            return [Rewritten(failure=str(error)) for _ in queries]
        return self._asked(model, queries)

    def _asked(self, model: LanguageModel, queries: Sequence[str]) -> list[Rewritten]:
        found: list[Rewritten] = []
        away = ""
        for part in _batches(queries):
            requests = [request_of(one, strategy=self._strategy) for one in part]
            completions = model.complete_all(requests)
            found += [
                _read(completion, query=query, model=model)
                for query, completion in zip(part, completions, strict=True)
            ]
            away = next((_failure(one, model) for one in completions if one.outcome in PASSING), "")
            if away:
                found += [Rewritten(failure=away)] * (len(queries) - len(found))
                break
        self._tell(found, away=away)
        return found

    def _tell(self, found: Sequence[Rewritten], *, away: str) -> None:
        """Log how many queries have no rewrites; for a measurement they may be too many.

        `away` says why the model might rewrite them later, if it might.
        """
        failed = [one.failure for one in found if one.failure]
        if not failed:
            return
        counted = f"{len(failed):,} of {len(found):,} queries: {away or failed[0]}"
        if self._is_measured and away:
            raise UnwrittenError(f"{counted}: measure again later; what was answered is kept")
        if self._is_measured and len(failed) == len(found):
            raise UnwrittenError(f"{counted}: name another model in query_fusion.model")
        logger.warning("%s; searched without", counted)


class RewritingModels:
    """The language models that rewrite the queries of one index, each opened when first needed.

    They are closed once nobody holds this any more. Their budgets count from their opening.
    """

    def __init__(self, config: Config, *, state: Path) -> None:
        """Open nothing yet; calls are kept below the folder `state`."""
        self._config = config
        self._state = state
        self._opened: dict[tuple[str | None, bool], LanguageModelClient] = {}
        self._lock = Lock()
        self._stack = ExitStack()
        finalize(self, self._stack.close)

    def rewriter(self, settings: QueryFusion, *, is_measured: bool = False) -> Rewriter:
        """The rewriter that `settings` describe.

        A measurement has the patience of the model's entry in the config; a search, for which
        somebody waits, has that of a query: see `hosted.QUERY_PATIENCE`. Each has a budget.
        """
        open_model = partial(self._model, settings.model, is_measured=is_measured)
        return ModelRewriter(open_model, strategy=settings.strategy, is_measured=is_measured)

    def identity(self, settings: QueryFusion) -> str | None:
        """What tells the rewrites of `settings` from others: model, prompt, schema, parameters.

        While a server does not answer, its model counts as the one that it was. None without a
        model, and where it cannot be opened: a search says why.
        """
        if settings.rewriter != "model":
            return None
        try:
            model = self._model(settings.model, is_measured=True)
        except RewritesError:
            return None
        asked = request_of("", strategy=settings.strategy)
        return model.call_id(asked)

    def description(self, settings: QueryFusion) -> str | None:
        """The model as its server states it, and the prompt, for people."""
        if self.identity(settings) is None:
            return None
        model = self._model(settings.model, is_measured=True)
        return f"{model.name} ({model.identity}), {prompt_label(settings.strategy)}"

    @property
    def spending(self) -> dict[str, Mapping[str, int | float | str]]:
        """What the calls of each model used since it was opened for measuring, by its name."""
        return {
            client.name: client.spending.record()
            for (_, is_measured), client in list(self._opened.items())
            if is_measured
        }

    def _model(self, name: str | None, *, is_measured: bool) -> "LanguageModelClient":
        key = (name, is_measured)
        patience = None if is_measured else QUERY_PATIENCE
        with self._lock:
            if key not in self._opened:
                opening = open_language_model(
                    self._config, name, state=self._state, patience=patience
                )
                try:
                    self._opened[key] = self._stack.enter_context(opening)
                except (ConfigError, MissingExtraError) as error:
                    raise RewritesError(f"queries cannot be rewritten: {error}") from error
            return self._opened[key]


def _batches(queries: Sequence[str]) -> Iterator[Sequence[str]]:
    """The first query alone, which tells whether the model is there; then many at once."""
    yield queries[:1]
    for start in range(1, len(queries), AT_ONCE):
        yield queries[start : start + AT_ONCE]


def _read(completion: Completion, *, query: str, model: LanguageModel) -> Rewritten:
    waited = completion.milliseconds / 1_000 if completion.is_kept else 0.0
    if completion.outcome != "done":
        return Rewritten(failure=_failure(completion, model), kept_seconds=waited)
    longest = LONGEST + CHARACTERS_PER_TOKEN * len(query)
    texts = [
        encodable(text)
        for text in _texts(completion)
        if len(text) <= longest and any(map(str.isalnum, text))
    ]
    return Rewritten(distinct(texts, query=query)[:1], kept_seconds=waited)


def _failure(completion: Completion, model: LanguageModel) -> str:
    reason = f"{completion.outcome}: {completion.reason}"
    return f"the language model {model.name} gave no rewrites ({reason})"


def _texts(completion: Completion) -> list[str]:
    """The reformulations in an answer that follows the schema."""
    rewrites = completion.parsed.get("rewrites") if isinstance(completion.parsed, dict) else None
    return (
        [text for text in rewrites if isinstance(text, str)] if isinstance(rewrites, list) else []
    )
