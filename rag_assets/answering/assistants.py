"""The language models that `answering` names, opened for one run."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.answering.checks.judging import open_judge
from rag_assets.answering.generation.writing import Writer, writer_name, writer_of
from rag_assets.answering.lookup.by_model import ModelPlanner
from rag_assets.config import Config

if TYPE_CHECKING:
    from rag_assets.models.language.client import LanguageModelClient


@dataclass(frozen=True, slots=True)
class Assistants:
    """Who helps to answer; None where rules alone do."""

    condenser: "LanguageModelClient | None"
    """Completes follow-ups: see `condensation.by_model`."""
    planner: ModelPlanner | None
    """Reads questions to tables."""
    writer: Writer | None
    """Writes what would be quoted: see `generation`."""


@contextmanager
def open_assistants(config: Config, *, writer: str | None = None) -> Generator[Assistants]:
    """The models that the section `answering` of `config` names.

    One that is named twice is opened once: the budget of a run counts all that it is asked.

    Args:
        config: Names them.
        writer: Another one that writes, or `NOBODY`.

    Raises:
        ConfigError: The config has no such model.
        MissingExtraError: It is the embedded one, and the extra that it needs is not installed.
    """
    from rag_assets.models.language.opening import open_language_model

    opened: dict[str, LanguageModelClient] = {}
    with ExitStack() as stack:

        def of(name: str | None) -> "LanguageModelClient | None":
            if name is None:
                return None
            if name not in opened:
                model = open_language_model(config, name)
                opened[name] = stack.enter_context(model)
            return opened[name]

        planner = of(config.answering.planner)
        writing = of(writer_name(config, writer))
        judge = stack.enter_context(open_judge(config)) if writing else None
        yield Assistants(
            condenser=of(config.answering.condenser),
            planner=ModelPlanner(planner) if planner else None,
            writer=writer_of(writing, config, judge=judge) if writing else None,
        )
