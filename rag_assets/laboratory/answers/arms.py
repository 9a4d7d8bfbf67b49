"""The conditions that experiments on answers compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag_assets.answering.generation.reading import read_answer
from rag_assets.answering.generation.writing import Writer, Written
from rag_assets.citations.sentences import Sentence
from rag_assets.config import AnswerExperiment, Retriever
from rag_assets.models.language.calls import Message, Request
from rag_assets.models.language.prompts import Prompt, read_prompt
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import RowCells

PACKAGE = "rag_assets.laboratory.answers"
TITLES = {
    "citation_ablation": "Do rules of citing keep an answer to its sources? (P4)",
    "rag_or_not": "What does a language model gain by sources? (P1, section 5)",
    "writers": "Which language model writes the best answers? (P1, figure 6)",
}

ARMS = {"citation_ablation": 3, "rag_or_not": 2}
"""How many arms each design has."""


@dataclass(frozen=True, slots=True)
class AnswerArm:
    """One condition."""

    name: str
    """As reports show it."""
    writer: Writer
    """Whose model it asks."""
    memory: Prompt | None = None
    """The prompt of a model that is shown nothing; else None."""
    retriever: Retriever | None = None
    """What finds what it is shown; None: what finds it for the arm before, or as configured."""

    @property
    def fingerprint(self) -> str:
        """Of all that makes its answers what they are."""
        own = self.writer.fingerprint
        return f"{own} {self.memory.hash}" if self.memory else own

    def write(self, question: str, hits: Sequence[Hit], rows: Mapping[str, RowCells]) -> Written:
        """An answer to `question`; `hits` are what was found for it."""
        if self.memory is None:
            return self.writer.write(question, hits, rows)
        system = self.memory.filled(sentences=str(self.writer.sentences))
        messages = (Message("system", system), Message("user", question))
        completion = self.writer.model.complete(Request(messages, self.writer.output_tokens))
        if completion.outcome != "done":
            return Written((), reason=completion.reason, completions=(completion,))
        read = read_answer(completion.text)
        said = (Sentence(each.text, ()) for each in read.sentences)
        return Written(tuple(said), read.absent, completions=(completion,))


def arms_of(experiment: AnswerExperiment, writers: Mapping[str, Writer]) -> list[AnswerArm]:
    """The arms of an experiment; the first one is what the others are compared with.

    `writers` are those that it names, by their names.
    """
    plain = {name: plainly(writer) for name, writer in writers.items()}
    memory = read_prompt(PACKAGE, "answer_without_sources")
    if experiment.design == "writers":
        shown = None if experiment.sources else memory
        return [AnswerArm(name, writer, shown) for name, writer in plain.items()]
    [with_rules] = plain.values()
    if experiment.design == "rag_or_not":
        return [AnswerArm("no sources", with_rules, memory), AnswerArm("sources", with_rules)]
    return [
        AnswerArm("no rules", with_rules.by("answer_without_rules")),
        AnswerArm("rules", with_rules),
        AnswerArm("rules, faults named", replace(with_rules, asks_again=True)),
    ]


def plainly(writer: Writer) -> Writer:
    """A writer that is asked once, from what is shown; what does not hold is marked."""
    return replace(writer, unsupported="mark", further_queries=0, asks_again=False)
