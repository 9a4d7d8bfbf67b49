"""What a command is expected to ask of language models, told before, and what it took, after."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from rag_assets.config import NOBODY, Config, LanguageModelSettings
from rag_assets.models.language.kept_calls import calls_file, last_identity, usual_tokens
from rag_assets.models.language.spending import Spending, cost_of
from rag_assets.serving.replies import say

Calls: TypeAlias = Mapping[str, tuple[int, int]]
"""For each entry of `language_models` the fewest and the most calls that are expected."""


def added(*parts: Calls) -> Calls:
    """The calls of several things together."""
    few, many = Counter[str](), Counter[str]()
    for part in parts:
        few.update({name: least for name, (least, _) in part.items()})
        many.update({name: most for name, (_, most) in part.items()})
    return {name: (few[name], most) for name, most in many.items() if most}


def of_answers(
    config: Config, questions: int, *, writer: str | None = None, reports: bool = False
) -> Calls:
    """What so many answers, or reports, may ask of the models of the section `answering`.

    `writer` is another entry of `language_models` that writes, or `NOBODY`.
    """
    from rag_assets.answering.assistant import most_calls

    most = most_calls(config, writer=writer, reports=reports)
    return added(*({name: (0, questions * count)} for name, count in most))


def of_searches(config: Config, retrievers: Iterable[str], queries: int) -> Calls:
    """What those of `retrievers` ask that have a language model rewrite each query."""
    known = config.retrieval.retrievers
    fusions = [known[name].query_fusion for name in retrievers if name in known]
    asked = [each.model for each in fusions if each and each.rewriter == "model"]
    return added(*({config.language_model(each)[0]: (0, queries)} for each in asked))


def of_judges(config: Config, items: int, *, rubrics: int | None = None) -> Calls:
    """What the judges of the config are asked of so many items, by all their rubrics or by some."""
    return {
        each.model: (0, 2 * min(items, each.most) * (rubrics or len(each.rubrics)))
        for each in config.evaluation.judges
    }


def say_expected(config: Config, calls: Calls) -> None:
    """Tell what is expected, a line for each model; nothing where none is asked."""
    for name, (few, many) in calls.items():
        if name != NOBODY and name in config.language_models:
            say(_expected(config, name, few, many))


def _expected(config: Config, name: str, few: int, many: int) -> str:
    settings = config.language_model(name)[1]
    calls = f"{few:,} to {many:,}" if few != many else f"{many:,}"
    said = f"Language model {name}: {calls} calls expected; those that are kept cost nothing again"
    known = _usual(config, settings)
    if known is None:
        read = settings.context_tokens - settings.output_tokens
        cost = _money(settings, many, read, settings.output_tokens)
        return f"{said}. No call was made yet to tell what one takes{cost and f': at most{cost}'}."
    read, written = known
    cost = _money(settings, many, read, written)
    each = f"As before, each reads about {read:,} tokens and writes {written:,}"
    return f"{said}. {each}{cost and f': up to{cost}'}."


def _usual(config: Config, settings: LanguageModelSettings) -> tuple[int, int] | None:
    """The tokens that a call of this model reads and writes; None before the first one."""
    file = calls_file(config.state_dir.absolute())
    identity = last_identity(file, server=str(settings.base_url), model=settings.model)
    return usual_tokens(file, identity) if identity else None


def _money(settings: LanguageModelSettings, calls: int, read: int, written: int) -> str:
    cost = cost_of(settings.price, prompt_tokens=calls * read, completion_tokens=calls * written)
    return f" {cost:,.4f} {settings.price.currency}" if cost is not None and settings.price else ""


def spent_lines(spent: Mapping[str, Spending]) -> Iterator[str]:
    """What was used, a line for each model that was asked."""
    for name, each in spent.items():
        if each.outcomes:
            yield f"Language model {name}: {_spent(each)}."


def _spent(each: Spending) -> str:
    parts = [f"{each.calls:,} call{'' if each.calls == 1 else 's'} sent"]
    if each.kept:
        parts.append(f"{each.kept:,} kept from before")
    if each.calls:
        parts.append(f"{each.prompt_tokens:,} tokens read, {each.completion_tokens:,} written")
        parts.append(f"{each.milliseconds / 1_000:,.1f} s")
    if each.currency:
        parts.append(f"{each.cost:,.4f} {each.currency}")
    failed = {name: count for name, count in sorted(each.outcomes.items()) if name != "done"}
    parts += [f"{count:,} {name.replace('_', ' ')}" for name, count in failed.items()]
    return ", ".join(parts)
