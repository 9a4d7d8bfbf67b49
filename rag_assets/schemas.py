"""The Arrow schema of every table: the data model on one page.

Each column carries its meaning as field metadata (`comment`), which the Dagster UI shows. Derived
tables end with two system columns that `change.sync` writes: `fingerprint` (what the row was made
from) and `row_fingerprint` (the row's content), see DESIGN "the rule of change".
"""

from dataclasses import dataclass

import pyarrow as pa


def column(name: str, kind: pa.DataType, comment: str, *, nullable: bool = True) -> pa.Field:
    """A column with its meaning."""
    return pa.field(name, kind, nullable=nullable, metadata={"comment": comment})


def _required(name: str, kind: pa.DataType, comment: str) -> pa.Field:
    return column(name, kind, comment, nullable=False)


FINGERPRINT = _required(
    "fingerprint", pa.string(), "what this was made from: input content, transform, parameters"
)
ROW_FINGERPRINT = _required(
    "row_fingerprint", pa.string(), "hash over all content columns of this row"
)
SYSTEM_COLUMNS = (FINGERPRINT.name, ROW_FINGERPRINT.name)


def derived(*fields: pa.Field) -> pa.Schema:
    """`fields` followed by the system columns of a derived table."""
    return pa.schema([*fields, FINGERPRINT, ROW_FINGERPRINT])


DOCUMENT_FILES = derived(
    _required("document_id", pa.string(), "UUIDv5 of source and URI"),
    _required("source", pa.string(), "name of the document source in the config"),
    _required("uri", pa.string(), "path relative to the source root, with forward slashes"),
    column("media_type", pa.string(), "type by content, not by name; NULL if unknown"),
    _required("size", pa.int64(), "bytes"),
    column("sha256", pa.string(), "hash of the bytes; NULL if they were not read"),
    _required("modified", pa.timestamp("us", tz="UTC"), "modification time at the source"),
    _required("status", pa.string(), "ok, or why it is not parsed, such as encrypted or empty"),
    column("reason", pa.string(), "one sentence on what is wrong and what to do; NULL if ok"),
)
"""The manifest of source files. Key: `document_id`."""

FILE_STATUSES = (
    "ok",
    "empty",
    "mislabelled",
    "encrypted",
    "too_large",
    "unsupported",
    "unreadable",
)

BOX = pa.list_(pa.float32(), 4)

ELEMENTS = derived(
    _required("element_id", pa.string(), "UUIDv5 of document, engine and index"),
    _required("document_id", pa.string(), "the document it belongs to"),
    _required("index", pa.int32(), "position in reading order, from 0"),
    _required("type", pa.string(), "what it is, such as heading, text, table or figure"),
    column("page", pa.int32(), "physical page or slide from 1; NULL where there are no pages"),
    column("level", pa.int32(), "heading level from 1; NULL for other elements"),
    _required("section_path", pa.list_(pa.string()), "headings above it, outermost first"),
    column("box", BOX, "x0, y0, x1, y1 in points from the top left; NULL if unknown"),
    _required("text", pa.string(), "Markdown of the element; a heading has no leading #"),
    column("cells", pa.string(), "JSON list of rows of a table; NULL for other elements"),
    column("spans", pa.string(), "JSON list of row, column, rows, columns of wide cells"),
    column("image", pa.string(), "SHA-256 of its picture; NULL if there is none"),
    column("language", pa.string(), "ISO 639-1 code; NULL if too short to tell"),
    column("confidence", pa.float32(), "of the text recognition, 0 to 1; NULL for a text layer"),
    column("engine", pa.string(), "parser that found it: the first, or one further down a chain"),
    column("problem", pa.string(), "why a table is not sound, or a figure lacks its picture"),
)
"""Parsed blocks, one table for each parser. Key: `element_id`, group: `document_id`."""

ELEMENT_TYPES = (
    "title",
    "heading",
    "text",
    "list",
    "table",
    "figure",
    "formula",
    "caption",
    "code",
    "footnote",
    "page_header",
    "page_footer",
)

HEADINGS = ("title", "heading")
"""Types of elements that begin a section."""

ACCOUNTS = pa.schema(
    [
        _required("document_id", pa.string(), "the document"),
        _required("fingerprint", pa.string(), "what its elements were made from"),
        _required("content", pa.string(), "the same without the helpers of its parser"),
        _required("plain", pa.bool_(), "whether the parser read all of it from the file itself"),
        column("pages", pa.int32(), "pages or slides of the file; NULL where there are none"),
        _required("parsed", pa.int32(), "how many of them were read"),
        _required("engines", pa.string(), "JSON list of engine and the pages that it read"),
        _required("replaced", pa.string(), "JSON list of pages and why a helper read them"),
        _required("failed", pa.string(), "JSON list of pages that no engine could read, and why"),
        _required("scanned", pa.string(), "pages without a text layer, such as 3, 5-9"),
        _required("empty", pa.string(), "pages that were read and gave nothing"),
        _required("lost_pages", pa.int32(), "how many pages no engine could read"),
        _required("empty_pages", pa.int32(), "how many pages gave nothing"),
        _required("layer_letters", pa.int64(), "letters and digits of the file's text layer"),
        _required("lost_letters", pa.int64(), "how many of them no element has"),
        _required("letters", pa.int64(), "letters and digits of the elements"),
        _required("garbled", pa.int64(), "characters of the elements that make no sense"),
        _required("tables", pa.int32(), "tables that the layout saw"),
        _required("sound_tables", pa.int32(), "tables that passed their validity check"),
        _required("figures", pa.int32(), "figures that the layout saw"),
        _required("kept_figures", pa.int32(), "figures with a picture or words"),
        column("language", pa.string(), "ISO 639-1 code of most of its text; NULL if unknown"),
        column("words", pa.int64(), "words that the parts of a Word file or slides show"),
        column("lost_words", pa.int64(), "how many of them no element has"),
        column("hidden", pa.string(), "how much of an Office file is hidden and left out"),
        column("doubts", pa.string(), "JSON list of what may be wrong with its text"),
    ]
)
"""What became of each document, one table for each parser. Key: `document_id`."""

IMAGES = pa.schema(
    [
        _required("image", pa.string(), "SHA-256 of the bytes"),
        _required("media_type", pa.string(), "image/png or image/jpeg"),
        _required("width", pa.int32(), "pixels"),
        _required("height", pa.int32(), "pixels"),
        _required("data", pa.large_binary(), "the picture"),
    ]
)
"""Pictures of figures and formulas, each stored once for all documents. Key: `image`."""

DESCRIPTIONS = derived(
    _required("image", pa.string(), "SHA-256 of the picture"),
    _required("model", pa.string(), "the vision model"),
    _required("description", pa.string(), "what the picture shows, in plain words"),
)
"""Figures in words, one table for each parser, if a vision model is configured. Key: `image`."""

FAMILIES = derived(
    _required("document_id", pa.string(), "the document"),
    _required("source", pa.string(), "name of the document source"),
    _required("uri", pa.string(), "path relative to the source root"),
    _required("content", pa.string(), "fingerprint of its elements: equal for copies"),
    _required("stated", pa.string(), "JSON of what its first page says, hashes of its text too"),
    _required("title", pa.string(), "its title; empty if it has none"),
    _required("number", pa.string(), "its number, such as STD-1234; empty if it has none"),
    _required("version", pa.string(), "its version, such as 2.1 or B; empty if unknown"),
    column("released", pa.date32(), "since when it is valid; NULL if unknown"),
    column("family", pa.string(), "id of its versions' family; NULL for a document without any"),
    column("place", pa.int32(), "order in the family from 0, the oldest; NULL if it has none"),
    _required("status", pa.string(), "current, superseded or proposed"),
    column("linked_by", pa.string(), "name, number, statement, decision or likeness"),
    _required("evidence", pa.string(), "one sentence on what the document itself says"),
)
"""The versions of documents, a table for each parser. Key: `document_id`."""

UNIT_TYPES = ("text", "table", "figure", "formula")

_MARKS = (
    column(
        "type", pa.string(), "what a chunk shows: text, table, figure or formula; NULL for rows"
    ),
    column("language", pa.string(), "ISO 639-1 code of most of its text; NULL if unknown"),
    column("fields", pa.list_(pa.string()), "`name: value` of its document's header fields"),
    column("image", pa.string(), "picture of a figure or formula; NULL if there is none"),
)

CHUNKS = derived(
    _required("chunk_id", pa.string(), "UUIDv5 of document, chunking, text hash and occurrence"),
    _required("document_id", pa.string(), "the document it was cut from"),
    _required("source", pa.string(), "name of the document source"),
    _required("uri", pa.string(), "the document's URI below the source root"),
    _required("index", pa.int32(), "position in the document, from 0; neighbours are index +- 1"),
    _required("text", pa.string(), "header, if any, and exact slice of the elements joined"),
    _required("text_hash", pa.string(), "SHA-256 of the text that enters the model"),
    _required("tokens", pa.int32(), "length under its tokenizer, special tokens counted"),
    _required("char_start", pa.int64(), "first character in the document's text"),
    _required("char_end", pa.int64(), "one past the last character"),
    _required("element_start", pa.int32(), "index of the first element"),
    _required("element_end", pa.int32(), "index of the last element"),
    _required("pages", pa.list_(pa.int32()), "all pages it touches; empty where there are none"),
    _required("section_path", pa.list_(pa.string()), "section of its first character"),
    *_MARKS,
)
"""Units cut from documents, one table for each parser + chunking. Group: `document_id`."""

PAIR = pa.struct(
    [
        _required("column", pa.string(), "column name at the source"),
        _required("heading", pa.string(), "the name in plain words, unit included"),
        column("value", pa.string(), "canonical value; NULL is an empty cell"),
        _required("numeric", pa.bool_(), "whether the value is a number"),
        _required("hidden", pa.bool_(), "kept out of the text (keys, ids)"),
    ]
)

TABLE_ROWS = derived(
    _required("row_id", pa.string(), "UUIDv5 of source, table, canonical pairs and occurrence"),
    _required("source", pa.string(), "name of the table source in the config"),
    _required("table", pa.string(), "table name at the source"),
    _required("title", pa.string(), "the table's name in plain words"),
    _required(
        "row_key", pa.string(), "key at the source, its parts joined by |; gold is anchored on it"
    ),
    _required("pairs", pa.list_(PAIR), "the row as ordered key-value pairs"),
    column(
        "shown",
        pa.list_(pa.string()),
        "for each pair the text that its file shows for the value, NULL where that is the value; "
        "NULL as a whole where no cell is shown otherwise",
    ),
)
"""The rows of all source tables. Key: `row_id`."""

SERIALIZED_ROWS = derived(
    _required("row_id", pa.string(), "the row"),
    _required("source", pa.string(), "name of the table source"),
    _required("table", pa.string(), "table name"),
    _required("title", pa.string(), "the table's name in plain words"),
    _required("row_key", pa.string(), "key at the source"),
    _required("text", pa.string(), "the row as text"),
    _required("text_hash", pa.string(), "SHA-256 of the text that enters the model"),
)
"""The rows as text, one table for each serializer. Key: `row_id`."""


SPARSE = "sparse"
"""Column of what an embedding model may give of a text beside its vector: weights of its tokens."""

TOKEN_WEIGHTS = pa.list_(
    pa.struct([pa.field("token", pa.int32(), False), pa.field("weight", pa.float32(), False)])
)
"""Lexical weights of a text: token ids of the model, ascending, with weights above 0."""


def units(dimension: int | None, *, sparse: bool = False) -> pa.Schema:
    """Units with their vectors: the tables that are searched. Key: `unit_id`.

    `documents`, `rows` and the joint table share this schema, so that a retriever needs to know
    only one. `dimension` is the length of the model's vectors; None: they are left out, as in the
    joint table of two models. With `sparse` they hold what else BGE-M3 gives of a text.
    """
    vector = pa.list_(pa.float32(), dimension or 1)
    vectors = [_required("vector", vector, "vector of length 1 (L2 norm)")] if dimension else []
    return derived(
        _required("unit_id", pa.string(), "chunk_id or row_id"),
        _required("domain", pa.string(), "document or table"),
        _required("source", pa.string(), "name of the source in the config"),
        _required("uri", pa.string(), "document URI, or source/table of a row"),
        column("document_id", pa.string(), "the document; NULL for rows"),
        column("table", pa.string(), "the table; NULL for chunks"),
        column("row_key", pa.string(), "key at the source; NULL for chunks"),
        _required("title", pa.string(), "file name or table title, to show"),
        _required("section", pa.string(), "section path joined by ' > '; empty for rows"),
        _required("pages", pa.list_(pa.int32()), "pages of the chunk; empty for rows"),
        column("index", pa.int32(), "position of the chunk in its document; NULL for rows"),
        column("char_start", pa.int64(), "first character in the document's text; NULL for rows"),
        column("char_end", pa.int64(), "one past the last character; NULL for rows"),
        _required("text", pa.string(), "the unit's text; a chunk's header, if any, comes first"),
        _required("text_hash", pa.string(), "SHA-256 of the text that enters the model"),
        _required("encoder_id", pa.string(), "model and path that computed the vector"),
        _required("windows", pa.int32(), "windows that were pooled; 1 if the text fits"),
        *vectors,
        *([_required(SPARSE, TOKEN_WEIGHTS, "weights of the text's tokens")] if sparse else []),
        *_MARKS,
    )


def slice_of(text: str, char_start: int, char_end: int) -> str:
    """The `text` of a chunk without its header: what stands in the document at that place."""
    return text[-(char_end - char_start) :]


MENTION = pa.struct(
    [
        _required(
            "kind", pa.string(), "name, identifier, formula, foreign_key, entity or relation"
        ),
        _required("name", pa.string(), "canonical form, which all spellings of it share"),
        _required("text", pa.string(), "as it is written"),
        _required("place", pa.string(), "column of a row, or characters of a text, such as 12-20"),
        _required("defines", pa.bool_(), "whether the row, or the document, is about it"),
    ]
)

_NAMES_OF_UNITS = (
    _required("unit_id", pa.string(), "chunk_id or row_id"),
    column("document_id", pa.string(), "the document; NULL for rows"),
    _required("uri", pa.string(), "document URI, or source/table of a row"),
    _required("mentions", pa.list_(MENTION), "names in the unit; a link is two that are equal"),
)
UNIT_LINKS = derived(*_NAMES_OF_UNITS)
"""The names that units mention and that they, or their documents, are about. Key: `unit_id`."""

READ_BY = "read_by"
READ_UNIT_LINKS = derived(
    *_NAMES_OF_UNITS,
    column(
        READ_BY,
        pa.string(),
        "hash of the text, of the language model that read it and of what it was asked; NULL of "
        "rows, and where it gave nothing",
    ),
)
"""The same where a language model finds entities and relations."""

DOMAINS = ("document", "table")

RANKINGS = pa.schema(
    [
        _required("query_index", pa.int32(), "position of the query in the call, from 0"),
        _required("rank", pa.int32(), "position of the unit in the ranking, from 1"),
        _required("unit_id", pa.string(), "chunk_id or row_id; unique within a query"),
        _required("score", pa.float64(), "the retriever's score; never grows with the rank"),
        _required("domain", pa.string(), "document or table"),
        _required("source", pa.string(), "name of the source in the config"),
        _required("uri", pa.string(), "document URI below its root, or source/table of a row"),
        column("table", pa.string(), "the table; NULL for chunks"),
        column("row_key", pa.string(), "key at the source; NULL for chunks"),
        _required("pages", pa.list_(pa.int32()), "pages of the chunk; empty if there are none"),
        column("index", pa.int32(), "position in its document; NULL for rows"),
        column("char_start", pa.int64(), "first character of its text; NULL for rows"),
        column("char_end", pa.int64(), "one past the last; NULL for rows"),
        _required("text_hash", pa.string(), "equal for units whose embedded text is the same"),
    ]
)
"""One row for each query and returned unit, sorted by `query_index`, then `rank`.

- `query_index` refers to the list of queries that was searched. A query without any result has
  no row: count queries by the list, never by this table.
- Ranks run 1, 2, 3, ... without a gap within a query, at most `top_k` of them; equal scores are
  ordered by `unit_id`, so that the same index always gives the same table.
- Units are distinct, but several of them may belong to one document or page. To measure at a
  coarser level than the unit, collapse them first:
  a document is (`source`, `uri`), a page is (`source`, `uri`, one of `pages`), a row of a table
  is (`source`, `table`, `row_key`). A chunk with several `pages` counts for each of them.
- `char_start` and `char_end` delimit the chunk in its document's text (elements joined), the
  place to project a quoted span on. Units with equal `text_hash` are exact duplicates.
- `score` has the retriever's own unit: cosine similarity in [-1, 1] for `baseline`, BM25 (from
  0, no upper bound) for `bm25`, reciprocal rank sums for `hybrid`, relevance in [0, 1] after a
  reranker. Compare it within one query and retriever only.
"""

RANKING_COLUMNS = ("retriever", "question_id", *RANKINGS.names[1:])
"""Columns of the rankings that an evaluation stores: of all its retrievers, by question."""

QUARANTINE_TABLE = "quarantine"
UNREAD = "/unread"
"""Ends the key of a document in quarantine whose file cannot be read now, and once could."""
QUARANTINE = pa.schema(
    [
        _required("target", pa.string(), "the table that lacks this input's output"),
        _required("key", pa.string(), "key of the input"),
        _required("fingerprint", pa.string(), "the input's fingerprint when it failed"),
        _required(
            "kind",
            pa.string(),
            "input: waits for a change; environment: tried again; limit: waits for a date",
        ),
        _required("reason", pa.string(), "what happened and what to do"),
        _required("label", pa.string(), "the file or row, as a person knows it"),
        _required("failed_at", pa.timestamp("us", tz="UTC"), "when it last failed"),
        column("attempts", pa.int32(), "how often it ran into a limit; NULL for other kinds"),
        column("tried_again", pa.date32(), "day (UTC) from which it is; NULL for other kinds"),
        column(
            "stale_since",
            pa.timestamp("us", tz="UTC"),
            "since when the target keeps what an earlier version gave; NULL: it lacks the input",
        ),
    ]
)
"""Inputs that could not be transformed. Key: `target`, `key`."""

QUESTIONS = derived(
    _required("question_id", pa.string(), "set/id: the id is unique within its set"),
    _required("question_set", pa.string(), "name of the set in the config"),
    _required("question", pa.string(), "the query"),
    _required("domain", pa.string(), "where the gold lies: document, table or combined"),
    _required("language", pa.string(), "language code; en unless given"),
    _required("split", pa.string(), "dev (settings are chosen on it), test, or another name"),
    _required("gold", pa.string(), "JSON list of what must be found, anchored to the source"),
    _required("support", pa.string(), "JSON list of bridging evidence"),
    column("answer", pa.string(), "for reading, not for retrieval"),
)
"""Questions with gold evidence anchored to the source. Key: `question_id`."""


GENERATED_QUESTIONS = derived(
    _required("question_id", pa.string(), "origin/hash of what it was made from and its text"),
    _required("input_id", pa.string(), "id of the document that it was made from, or source/table"),
    _required("index", pa.int32(), "position among those of the document or table, from 0"),
    column("document_id", pa.string(), "the document that it was made from; NULL for a table"),
    _required("origin", pa.string(), "from_documents, known_items or from_tables"),
    _required("kind", pa.string(), "sort of question, such as list or count"),
    _required("question", pa.string(), "the query"),
    _required("language", pa.string(), "language code"),
    _required("split", pa.string(), "dev or test, the same for all of one document or table"),
    _required("gold", pa.string(), "JSON list of what must be found, anchored to the source"),
    column("answer", pa.string(), "for reading, not for retrieval"),
    column("plan", pa.string(), "JSON of the lookup plan; NULL for questions to documents"),
    _required("maker", pa.string(), "the template or the language model that worded it"),
    _required("left_out", pa.string(), "why it is not in the test set; empty if it is"),
)
"""Questions made from one's own documents and tables. Key: `question_id`."""

TRAINING_PAIRS = derived(
    _required("pair_id", pa.string(), "hash of question and unit"),
    _required("question_id", pa.string(), "set/id of the question"),
    _required("question", pa.string(), "the query, without the model's prefix"),
    _required("domain", pa.string(), "where the unit lies: document or table"),
    _required("unit_id", pa.string(), "the unit that is to be found"),
    _required("text", pa.string(), "its text as the variant writes it, without the model's prefix"),
    _required("negative_ids", pa.list_(pa.string()), "units that look right and are not"),
    _required("negatives", pa.list_(pa.string()), "their texts, the most alike first"),
    _required("part", pa.string(), "train, or validation: the same for all of one document"),
)
"""What models are trained on: questions with a unit to find and units not to. Key: `pair_id`."""


ANSWERS = pa.schema(
    [
        _required("answer_id", pa.string(), "UUIDv7: begins with the time"),
        _required("kept_at", pa.timestamp("ms", tz="UTC"), "when it was answered"),
        _required("question", pa.string(), "what was asked"),
        _required("history", pa.list_(pa.string()), "earlier questions of the conversation"),
        _required("outcome", pa.string(), "computed, written, found or nothing"),
        _required("reason", pa.string(), "why there is no answer; else empty"),
        _required("sentences", pa.list_(pa.string()), "what was answered"),
        _required("compared", pa.list_(pa.string()), "what of each sentence was compared"),
        column("user", pa.string(), "who asked, as the caller said"),
        _required("variant", pa.string(), "variant that was searched"),
        _required("retriever", pa.string(), "what searched it"),
        _required("cited", pa.list_(pa.string()), "ids of the units that are cited"),
        _required(
            "shown", pa.list_(pa.string()), "ids of the units that were retrieved, best first"
        ),
        _required("seconds", pa.float64(), "wall time of all stages"),
        _required("program", pa.string(), "version of this program"),
        _required("conditions", pa.string(), "hash of tables, retriever and settings"),
        _required("answer", pa.string(), "JSON of the answer: see docs/answering.md"),
        _required("context", pa.string(), "JSON of filters, plan, checks and cost"),
    ]
)
"""Copies of kept answers, for analysis. Key: `answer_id`."""

DOCUMENT_FILES_TABLE = "document_files"
IMAGES_TABLE = "images"
TABLE_ROWS_TABLE = "table_rows"
ANSWERS_TABLE = "answers"
QUESTIONS_TABLE = "questions"
GENERATED_QUESTIONS_TABLE = "generated_questions"
TRAINING_PAIRS_TABLE = "training_pairs"


@dataclass(frozen=True, slots=True)
class VariantTables:
    """Names of the tables that one variant reads: a table is addressed by what made it.

    Two variants with the same settings of a parser share the table of its elements, and so on: see
    `config.addresses`.
    """

    elements: str
    accounts: str
    """The table of accounts: what became of each document."""
    families: str
    """The table that says which documents are versions of one."""
    descriptions: str
    chunks: str
    serialized_rows: str
    documents: str
    """Chunks with their vectors."""
    rows: str
    """Serialized rows with their vectors."""
    joint: str
    """Both domains in one table."""
    unit_links: str
    """The names that units mention and are about."""


ELEMENTS_PREFIX = "elements__"
DESCRIPTIONS_PREFIX = "descriptions__"
FAMILIES_PREFIX = "families__"
UNIT_LINKS_PREFIX = "unit_links__"
