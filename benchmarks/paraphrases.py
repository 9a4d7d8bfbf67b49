"""Questions that share no content word with their gold, and the passages that they must not quote.

`paraphrases.jsonl` holds 60 questions by hand to materials_demo, ottqa and the corpus of mixed
languages: what a word index cannot find. A row is asked for by describing what it is about. They
were written without a look at what any retriever finds. What they cannot show: how often people
ask like that.
"""

import json
import sqlite3
from pathlib import Path

from dataset_layout import Question, read_questions

FILE = Path(__file__).with_name("paraphrases.jsonl")
REACH = 1_000
"""Characters on each side of the quoted evidence that no question may share a word with: no chunk
of 256 tokens that holds the evidence begins before or ends after them."""


def paraphrases(dataset: str) -> list[Question]:
    """The questions to one dataset."""
    return [each for each in read_questions(FILE) if each["dataset"] == dataset]


def gold_passage(question: Question, *, folder: Path) -> str:
    """The text around the evidence with the document's title, or the rows with their headings.

    Raises:
        ValueError: The gold or the quoted evidence is not in the dataset at `folder`.
    """
    if question["domain"] == "table":
        return "\n".join(_row(gold, folder) for gold in question["gold"])
    [evidence] = question["evidence"]
    title, text = _document(evidence["doc_id"], folder, page=evidence.get("page"))
    place = text.find(" ".join(evidence["text"].split()))
    if place < 0:
        raise ValueError(f"{question['id']}: {evidence['text']!r} is not in {evidence['doc_id']}")
    end = place + len(evidence["text"]) + REACH
    return f"{title}\n{text[max(place - REACH, 0) : end]}"


def _document(doc_id: str, folder: Path, *, page: int | None) -> tuple[str, str]:
    """Title and text of a document or of one page, with single spaces."""
    about = _record(folder / "documents.jsonl", doc_id=doc_id)
    path = folder / about["path"]
    if page is None:
        text = path.read_text("utf-8")
        return text.strip().splitlines()[0], " ".join(text.split())
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        text = document[page - 1].get_textpage().get_text_range()
    return about["title"], " ".join(text.split())


def _row(gold: str, folder: Path) -> str:
    """Title, headings and cells of a row."""
    _, name, key = gold.split(":")
    table = _record(folder / "tables.jsonl", table=name)
    columns = table["columns"][1:]
    headings = [str(column.get(part)) for column in columns for part in ("name", "description")]
    database = sqlite3.connect(folder / "tables.sqlite")
    row = database.execute(f'SELECT * FROM "{name}" WHERE row_id = ?', (key,)).fetchone()
    database.close()
    if row is None:
        raise ValueError(f"there is no {gold}")
    return " ".join([table["title"], *headings, *map(str, row[1:])])


def _record(path: Path, **wanted: str) -> dict:
    """The line of a JSONL file with these values."""
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        if wanted.items() <= record.items():
            return record
    raise ValueError(f"{path.name} has no line with {wanted}")
