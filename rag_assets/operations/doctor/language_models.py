"""Whether the language models of the config work: each server is asked, so only with `--deep`."""

from collections.abc import Iterator, Mapping

from rag_assets.models.language.probing import ProbeFault, probe
from rag_assets.operations.doctor import fault_rules
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.fault_rules import Rule
from rag_assets.operations.doctor.faults import Fault

RULES: Mapping[ProbeFault, Rule] = {
    "unreachable": fault_rules.MODEL_UNREACHABLE,
    "key": fault_rules.KEY_REFUSED,
    "unknown": fault_rules.MODEL_UNKNOWN,
    "answer": fault_rules.NO_ANSWER,
    "structure": fault_rules.NO_STRUCTURE,
    "context": fault_rules.SMALLER_CONTEXT,
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
