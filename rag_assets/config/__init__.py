"""`rag_assets.yaml`: what is indexed, how, and where the state lies.

The file is validated on load; an error names the file, the key, the value and what is allowed.
Any value is overridden by `RAG_ASSETS__SECTION__KEY` (upper or lower case, `__` between levels;
the value is read as YAML). `${NAME}` inside a string is replaced by that environment variable:
the way to keep a password out of the file. Relative paths start at the file's own folder.
"""

from rag_assets.config.checks import Checks
from rag_assets.config.errors import ConfigError, redacted
from rag_assets.config.loading import DEFAULT_FILE, PATH_VARIABLE, find, load
from rag_assets.config.places import resolve_package_path
from rag_assets.config.retrieval import (
    Collapse,
    DomainFusion,
    Expansion,
    Fusion,
    QueryFusion,
    Reranker,
    Retrieval,
    Retriever,
    RetrieverName,
    Signal,
)
from rag_assets.config.sections import (
    SERIALIZERS,
    Chunking,
    CleanUp,
    Config,
    DocumentSource,
    EmbeddingModel,
    Evaluation,
    Execution,
    Index,
    Parser,
    QuestionSet,
    Schedule,
    SerializerName,
    Serving,
    Sources,
    Tables,
    TableSource,
    TableSpec,
    Variant,
)

__all__ = [
    "DEFAULT_FILE",
    "PATH_VARIABLE",
    "SERIALIZERS",
    "Checks",
    "Chunking",
    "CleanUp",
    "Collapse",
    "Config",
    "ConfigError",
    "DocumentSource",
    "DomainFusion",
    "EmbeddingModel",
    "Evaluation",
    "Execution",
    "Expansion",
    "Fusion",
    "Index",
    "Parser",
    "QueryFusion",
    "QuestionSet",
    "Reranker",
    "Retrieval",
    "Retriever",
    "RetrieverName",
    "Schedule",
    "SerializerName",
    "Serving",
    "Signal",
    "Sources",
    "TableSource",
    "TableSpec",
    "Tables",
    "Variant",
    "find",
    "load",
    "redacted",
    "resolve_package_path",
]
