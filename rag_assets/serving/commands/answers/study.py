"""`rag-assets answers study`: what people say of the system, question by question."""

import argparse

from rag_assets.serving.replies import Reply, project_of

SUMMARY = "print what people said in the user study: scores, means and words"
EXAMPLES = """\
  rag-assets answers study
  rag-assets answers study --json"""


def run(options: argparse.Namespace) -> Reply:
    """Count and list the replies."""
    from rag_assets.answering.record.database import answers_of
    from rag_assets.reports.text_tables import table
    from rag_assets.serving.study import SCORES, study_table

    _, store = project_of(options)
    times, found = study_table(answers_of(store))
    if not times:
        return Reply({"times": 0, "questions": []}, "Nobody answered yet: the page is at /study.")
    shown = [
        {
            "area": each.question.area,
            "question": each.question.asks,
            **{str(score): each.counts.get(score) for score in SCORES},
            "mean": None if each.mean is None else round(each.mean, 2),
        }
        for each in found
    ]
    said = [
        "\n".join([each.question.asks, *(f"- {_in_a_line(words)}" for words in each.words)])
        for each in found
        if each.words
    ]
    record = [
        {**row, "id": each.question.id, "words": list(each.words)}
        for row, each in zip(shown, found, strict=True)
    ]
    counted = f"Answered {times:,} times." if times > 1 else "Answered once."
    text = "\n\n".join([counted, table(shown, columns=[*shown[0]]), *said])
    return Reply({"times": times, "questions": record}, text)


def _in_a_line(words: str) -> str:
    """What somebody wrote, without characters that a terminal would obey."""
    return " ".join("".join(each if each.isprintable() else " " for each in words).split())
