"""Rewriting queries by a language model: by one of three strategies, each a prompt of its own.

    models = RewritingModels(config, state=store.root)
    rewrite = models.rewriter(QueryFusion(rewriter="model"))
    [rewritten] = rewrite(["How dense is 316L?"], count=1)

The strategies are those of paper P2, A.4.3. A query is what a user asks: no text of a source is
sent, so a request names none. A call that fails leaves a search with the query alone, and stops
a measurement if the model might answer later.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
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
"""For each reformulation, beside those that a long query needs."""
CHARACTERS_PER_TOKEN = 2
"""Few words have fewer."""
AT_ONCE = 32
"""Queries of one batch: after a batch in which the model is away, no further one is asked."""
PASSING = frozenset({"unavailable", "over_budget"})
"""Outcomes that another run may not have; all others tell what the model makes of the query."""

logger = logging.getLogger(__name__)


class UnwrittenError(RewritesError):
    """A language model gave no rewrites, so that nothing can be measured with it."""


def request_of(query: str, *, strategy: RewritingStrategy, count: int) -> Request:
    """What a model is asked for `count` reformulations of `query`."""
    prompt = read_prompt(PACKAGE, f"rewrite_{strategy}")
    return Request(
        messages=(Message("user", prompt.filled(query=query, count=str(count))),),
        max_tokens=count * (TOKENS + len(query) // CHARACTERS_PER_TOKEN),
        schema={
            "type": "object",
            "properties": {
                "rewrites": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "maxItems": count,
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
        self, model: LanguageModel, *, strategy: RewritingStrategy, is_measured: bool = False
    ) -> None:
        """Ask `model` by `strategy`; `is_measured` raises where a search goes on without it."""
        self._model = model
        self._strategy = strategy
        self._is_measured = is_measured

    def __call__(self, queries: Sequence[str], /, *, count: int) -> list[Rewritten]:
        """See `Rewriter`; several queries are asked side by side, and none of them twice.

        Raises:
            UnwrittenError: What is measured would depend on whether the model answers now.
        """
        found: list[Rewritten] = []
        away: Completion | None = None
        for start in range(0, len(queries), AT_ONCE):
            part = queries[start : start + AT_ONCE]
            requests = [request_of(one, strategy=self._strategy, count=count) for one in part]
            completions = self._model.complete_all(requests)
            found += [
                self._read(completion, query=query, count=count)
                for query, completion in zip(part, completions, strict=True)
            ]
            if away := next((one for one in completions if one.outcome in PASSING), None):
                left = Rewritten(failure=self._failure(away))
                found += [left] * (len(queries) - len(found))
                break
        self._tell(found, is_away=away is not None)
        return found

    def _read(self, completion: Completion, *, query: str, count: int) -> Rewritten:
        waited = completion.milliseconds / 1_000 if completion.is_kept else 0.0
        if completion.outcome != "done":
            return Rewritten(failure=self._failure(completion), kept_seconds=waited)
        texts = [encodable(text) for text in _texts(completion)]
        return Rewritten(distinct(texts, query=query)[:count], kept_seconds=waited)

    def _failure(self, completion: Completion) -> str:
        reason = f"{completion.outcome}: {completion.reason}"
        return f"the language model {self._model.name} gave no rewrites ({reason})"

    def _tell(self, found: Sequence[Rewritten], *, is_away: bool) -> None:
        """Log how many queries have no rewrites; for a measurement they may be too many."""
        failed = [one.failure for one in found if one.failure]
        if not failed:
            return
        counted = f"{len(failed):,} of {len(found):,} queries: {failed[0]}"
        if self._is_measured and (is_away or len(failed) == len(found)):
            remedy = (
                "measure again once it does; what was answered is kept"
                if is_away
                else "name another model in query_fusion.model"
            )
            raise UnwrittenError(f"{counted}: {remedy}")
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

        A measurement has the patience of the model's entry in the config, and its budget; a search,
        for which somebody waits, has that of a query: see `hosted.QUERY_PATIENCE`.

        Raises:
            RewritesError: The config has no such model, or a package that it needs is missing.
        """
        model = self._model(settings.model, is_measured=is_measured)
        return ModelRewriter(model, strategy=settings.strategy, is_measured=is_measured)

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
        asked = request_of("", strategy=settings.strategy, count=settings.queries - 1)
        return model.call_id(asked)

    def description(self, settings: QueryFusion) -> str | None:
        """The same for people: the model as its server states it, and the prompt."""
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


def _texts(completion: Completion) -> list[str]:
    """The reformulations in an answer that follows the schema."""
    rewrites = completion.parsed.get("rewrites") if isinstance(completion.parsed, dict) else None
    return (
        [text for text in rewrites if isinstance(text, str)] if isinstance(rewrites, list) else []
    )
