"""Paths in the config: relative ones start at the file's folder, `package:NAME` at a package."""

from importlib.util import find_spec
from os.path import normpath
from pathlib import Path

from pydantic import SecretStr

from rag_assets.config.answering import Answering
from rag_assets.config.errors import ConfigError
from rag_assets.config.evaluation import JudgeSettings, check_rubric_file
from rag_assets.config.parsers import ParserSettings
from rag_assets.config.retrieval import Retrieval
from rag_assets.config.root import Config
from rag_assets.config.sources import Sources, TableSource
from rag_assets.config.training import with_trained


def with_absolute_paths(config: Config, *, root: Path) -> Config:
    """`config` with every relative path made absolute from `root`, and trained weights found."""
    state = _from(root, config.state_dir)
    sources = Sources(
        documents=[
            source.model_copy(update={"url": _anchored_url(source.url, root=root)})
            for source in config.sources.documents
        ],
        tables=[_anchored_tables(source, root=root) for source in config.sources.tables],
    )
    questions = [
        entry.model_copy(
            update={
                "path": _from(root, entry.path),
                "documents": entry.documents and _from(root, entry.documents),
            }
        )
        for entry in config.evaluation.questions
    ]
    return config.model_copy(
        update={
            "state_dir": state,
            "sources": sources,
            "evaluation": config.evaluation.model_copy(
                update={
                    "questions": questions,
                    "judges": [_anchored_judge(one, root=root) for one in config.evaluation.judges],
                }
            ),
            "questions": config.questions.model_copy(
                update={"folder": _from(root, config.questions.folder)}
            ),
            "glossary": config.glossary
            and config.glossary.model_copy(
                update={"files": [_from(root, file) for file in config.glossary.files]}
            ),
            "documents": config.documents.model_copy(
                update={"families": _from(root, config.documents.families)}
            ),
            "answering": _anchored_answering(config.answering, root=root),
            "retrieval": _anchored_retrieval(config.retrieval, root=root, state=state),
            "experiments": {
                name: experiment.model_copy(
                    update={key: _from(root, file) for key, file in experiment.files.items()}
                )
                for name, experiment in config.experiments.items()
            },
            "parsers": {
                name: _anchored_parser(parser, root=root) for name, parser in config.parsers.items()
            },
            "chunkings": {
                name: chunking.model_copy(
                    update={"tokenizer": _anchored_model(chunking.tokenizer, root=root)}
                )
                for name, chunking in config.chunkings.items()
            },
            "models": {
                name: model.model_copy(
                    update={
                        "path": with_trained(
                            _anchored_model(model.path, root=root, is_local=model.endpoint is None),
                            state=state,
                            kind="retriever",
                        )
                    }
                )
                for name, model in config.models.items()
            },
        }
    )


def _anchored_tables(source: TableSource, *, root: Path) -> TableSource:
    url = source.url and SecretStr(_anchored_url(source.url.get_secret_value(), root=root))
    headings = source.headings_file and _from(root, source.headings_file)
    anchored = source.model_copy(update={"url": url, "headings_file": headings})
    anchored._folder = root
    return anchored


def _anchored_retrieval(retrieval: Retrieval, *, root: Path, state: Path) -> Retrieval:
    retrievers = dict(retrieval.retrievers)
    for name, retriever in retrievers.items():
        fusion = retriever.query_fusion
        if fusion and fusion.path:
            with_absolute_paths = fusion.model_copy(update={"path": _from(root, fusion.path)})
            retrievers[name] = retriever.model_copy(update={"query_fusion": with_absolute_paths})
    rerankers = {
        name: reranker.model_copy(
            update={
                "path": with_trained(
                    _anchored_model(reranker.path, root=root, is_local=reranker.endpoint is None),
                    state=state,
                    kind="reranker",
                )
            }
        )
        for name, reranker in retrieval.rerankers.items()
    }
    return retrieval.model_copy(update={"retrievers": retrievers, "rerankers": rerankers})


def _anchored_parser(parser: ParserSettings, *, root: Path) -> ParserSettings:
    weights = parser.docling.artifacts_path
    return parser.model_copy(
        update={
            "python": parser.python and _from(root, parser.python),
            "docling": parser.docling.model_copy(
                update={"artifacts_path": weights and _from(root, weights)}
            ),
        }
    )


def _anchored_url(url: str, *, root: Path) -> str:
    if url.startswith("sqlite:///") and not url.startswith(("sqlite:////", "sqlite:///package:")):
        return f"sqlite:///{_from(root, Path(url.removeprefix('sqlite:///')))}"
    if "://" in url or url.startswith("package:"):
        return url
    return str(_from(root, Path(url)))


def _anchored_answering(answering: Answering, *, root: Path) -> Answering:
    judge = answering.judge
    if judge is None or judge.path is None:
        return answering
    anchored = judge.model_copy(update={"path": _from(root, judge.path)})
    return answering.model_copy(update={"judge": anchored})


def _anchored_judge(judge: JudgeSettings, *, root: Path) -> JudgeSettings:
    files = {name: _from(root, Path(name)) for name in judge.rubrics if name.endswith(".toml")}
    for file in files.values():
        check_rubric_file(file)
    names = [str(files.get(name, name)) for name in judge.rubrics]
    return judge.model_copy(update={"rubrics": names})


def _anchored_model(path: str, *, root: Path, is_local: bool = True) -> str:
    """A folder of the file, spelled in one way; else what a hub, a package or a server calls it.

    Args:
        path: As the file has it.
        root: The file's folder.
        is_local: Whether it can be a folder; a server's model has a name alone.
    """
    if not is_local or ":" in path.partition("/")[0]:
        return path
    place = normpath(_from(root, Path(path)))
    is_path = path.startswith(("/", "./", "../", "~/")) or (path and Path(place).exists())
    return place if is_path else path


def _from(root: Path, path: Path) -> Path:
    """`path` below `root`; `~` as its first part is the home folder, `~x` is a name like others."""
    return root / (path.expanduser() if path.parts[:1] == ("~",) else path)


def resolve_package_path(path: str) -> Path:
    """The file or folder that `package:NAME` or `package:NAME/PATH` stands for.

    The package is found without importing it.

    Raises:
        ConfigError: The package is not installed, or does not hold that path.
    """
    name, _, inner = path.removeprefix("package:").partition("/")
    spec = find_spec(name)
    places: list[str] = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise ConfigError(f"{path}: the Python package {name} is not installed (pip install it)")
    found = Path(places[0]) / inner
    if not found.exists():
        raise ConfigError(f"{path}: the package {name} holds no {inner}")
    return found
