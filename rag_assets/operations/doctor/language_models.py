"""Whether the language models of the config work: each server is asked, so only with `--deep`."""

from collections.abc import Iterator, Mapping

from rag_assets.models.language.probing import ProbeFault, probe
from rag_assets.operations.doctor import rules
from rag_assets.operations.doctor.faults import Fault
from rag_assets.operations.doctor.rules import Rule
from rag_assets.operations.doctor.subjects import Practice

RULES: Mapping[ProbeFault, Rule] = {
    "unreachable": rules.MODEL_UNREACHABLE,
    "key": rules.KEY_REFUSED,
    "unknown": rules.MODEL_UNKNOWN,
    "answer": rules.NO_ANSWER,
    "structure": rules.NO_STRUCTURE,
    "context": rules.SMALLER_CONTEXT,
}


def faults_of(practice: Practice) -> Iterator[Fault]:
    """What is wrong with each model behind a server."""
    if not practice.is_deep:
        return
    for name, settings in practice.config.language_models.items():
        if settings.backend != "server":
            continue
        practice.log(f"asking the language model {name}")
        for finding in probe(name, settings):
            yield Fault(
                rule=RULES[finding.fault],
                subject=f"language_models.{name}",
                detail=finding.detail,
                command=finding.remedy,
            )
