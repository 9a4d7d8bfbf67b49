"""The designs of experiments that measure answers, for whoever runs experiments."""

from collections.abc import Mapping
from types import MappingProxyType

from rag_assets.config import Experiment
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.experiments.computed import Given, OwnDesign, OwnDesigns


def _full_questions(experiment: Experiment) -> list[Question]:
    from rag_assets.laboratory.experiments.follow_ups import full_questions

    return full_questions(experiment)


def _condensation(given: Given) -> Mapping[str, object]:
    from rag_assets.laboratory.experiments.follow_ups import condensation

    return condensation(given)


def _report_questions(experiment: Experiment) -> list[Question]:
    from rag_assets.laboratory.experiments.report_design import report_questions

    return report_questions(experiment)


def _report_retrieval(given: Given) -> Mapping[str, object]:
    from rag_assets.laboratory.experiments.report_design import report_retrieval

    return report_retrieval(given)


OWN_DESIGNS: OwnDesigns = MappingProxyType(
    {
        "condensation": OwnDesign(_full_questions, _condensation),
        "report_retrieval": OwnDesign(_report_questions, _report_retrieval),
    }
)
"""What they need is imported when they are run: the definitions load them too."""
