"""`rag_assets.yaml`: what is indexed, how, and where the state lies.

Read in this order: `root` (the whole file; each section has a module of its name),
`recipes` (what a variant is made of), `addresses` (from recipes to names of
tables), `loading` (from the file to a `Config`), `paths` (relative paths and `package:NAME`),
`json_schema` (the file, for editors) and `former_defaults` (what files without those keys built
before).

The file is validated on load; an error names the file, the key, the value and what is allowed.
Any value is overridden by `RAG_ASSETS__SECTION__KEY` (upper or lower case, `__` between levels;
the value is read as YAML). `${NAME}` inside a string is replaced by that environment variable:
use it to keep passwords out of the file. Relative paths start at the file's own folder.

A file with one wrong value:

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from rag_assets.config import ConfigError, load
>>> with TemporaryDirectory() as folder:
...     file = Path(folder, "rag_assets.yaml")
...     _ = file.write_text("variants: {default: {serializer: jsn}}")
...     try:
...         load(file)
...     except ConfigError as error:
...         print(str(error).removeprefix(f"{file}: ")[:70])
variants.default.serializer = 'jsn': Input should be 'json', 'yaml', '
"""

from rag_assets.config.alerts import Alerts, Email, MessageChannel, Ping, ProblemKind, Webhook
from rag_assets.config.answering import Answering, ReportSettings
from rag_assets.config.checks import Checks
from rag_assets.config.documents import Chunking, Documents, HeaderRules
from rag_assets.config.errors import ConfigError, redacted
from rag_assets.config.evaluation import Evaluation, JudgeSettings, QuestionSet, RubricName
from rag_assets.config.experiments import AnswerExperiment, Experiment
from rag_assets.config.figures import Figures
from rag_assets.config.gate import Gate
from rag_assets.config.glossary import GlossaryEntry, GlossarySettings
from rag_assets.config.indexes import (
    STOP_WORDS,
    AnnSearch,
    IndexSettings,
    TextIndexSettings,
    VectorIndexSettings,
)
from rag_assets.config.language_models import (
    EMBEDDED,
    NOBODY,
    BudgetSettings,
    LanguageModelSettings,
    TokenPrices,
)
from rag_assets.config.links import FOUND_KINDS, FoundKind, LinkSettings, NameKind
from rag_assets.config.loading import DEFAULT_FILE, PATH_VARIABLE, find, load, made_of
from rag_assets.config.models import EmbeddingEndpoint, EmbeddingModel, Endpoint
from rag_assets.config.named_models import DescribingModel
from rag_assets.config.naming import GPU_POOL, INDEX_TAG, Naming
from rag_assets.config.nodes import asset_path
from rag_assets.config.parsers import Docling, Marker, MarkerModel, ParserSettings
from rag_assets.config.paths import resolve_package_path
from rag_assets.config.recipes import SERIALIZERS, DomainModels, SerializerName, Tables, Variant
from rag_assets.config.rerankers import RerankerSettings
from rag_assets.config.retrieval import (
    RERANK_ARMS,
    UNWEIGHTED,
    ArmName,
    Collapse,
    DomainFusion,
    Expansion,
    Fusion,
    FusionMode,
    LinkStage,
    QueryFusion,
    Retrieval,
    Retriever,
    RetrieverName,
    RewritingStrategy,
    Signal,
    TextNameKind,
    Versions,
)
from rag_assets.config.root import Config
from rag_assets.config.running import LONGEST_RUN, CleanUp, Execution, Schedule, Serving
from rag_assets.config.sources import (
    LONGEST_TABLE_NAME,
    DocumentSource,
    RowGroups,
    Sources,
    TableSource,
    TableSpec,
)

__all__ = [
    "DEFAULT_FILE",
    "EMBEDDED",
    "FOUND_KINDS",
    "GPU_POOL",
    "INDEX_TAG",
    "LONGEST_RUN",
    "LONGEST_TABLE_NAME",
    "NOBODY",
    "PATH_VARIABLE",
    "RERANK_ARMS",
    "SERIALIZERS",
    "STOP_WORDS",
    "UNWEIGHTED",
    "Alerts",
    "AnnSearch",
    "AnswerExperiment",
    "Answering",
    "ArmName",
    "BudgetSettings",
    "Checks",
    "Chunking",
    "CleanUp",
    "Collapse",
    "Config",
    "ConfigError",
    "DescribingModel",
    "Docling",
    "DocumentSource",
    "Documents",
    "DomainFusion",
    "DomainModels",
    "Email",
    "EmbeddingEndpoint",
    "EmbeddingModel",
    "Endpoint",
    "Evaluation",
    "Execution",
    "Expansion",
    "Experiment",
    "Figures",
    "FoundKind",
    "Fusion",
    "FusionMode",
    "Gate",
    "GlossaryEntry",
    "GlossarySettings",
    "HeaderRules",
    "IndexSettings",
    "JudgeSettings",
    "LanguageModelSettings",
    "LinkSettings",
    "LinkStage",
    "Marker",
    "MarkerModel",
    "MessageChannel",
    "NameKind",
    "Naming",
    "ParserSettings",
    "Ping",
    "ProblemKind",
    "QueryFusion",
    "QuestionSet",
    "ReportSettings",
    "RerankerSettings",
    "Retrieval",
    "Retriever",
    "RetrieverName",
    "RewritingStrategy",
    "RowGroups",
    "RubricName",
    "Schedule",
    "SerializerName",
    "Serving",
    "Signal",
    "Sources",
    "TableSource",
    "TableSpec",
    "Tables",
    "TextIndexSettings",
    "TextNameKind",
    "TokenPrices",
    "Variant",
    "VectorIndexSettings",
    "Versions",
    "Webhook",
    "asset_path",
    "find",
    "load",
    "made_of",
    "redacted",
    "resolve_package_path",
]
