"""The path on which a model computes here: `device/engine/precision`, such as `cpu/openvino/bf16`.

The paths of this machine are tried from the fastest to the slowest, and the first one whose vectors
agree with those of fp32 in PyTorch is chosen. The choice is made once for each state folder and
kept: all vectors of a table must come from one path, so a machine never switches by itself.
"""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path

from rag_assets.config import EmbeddingModel
from rag_assets.models import openvino
from rag_assets.models.custom import load_without_weights
from rag_assets.models.embedding import TextEncoder, load_encoder
from rag_assets.models.replicas import EncoderError
from rag_assets.models.weights import Weights, weights_of
from rag_assets.store.atomic import write_atomically

CUDA = ("cuda/torch/fp16", "cuda/torch/bf16", "cuda/torch/fp32")
STATIC = ("cpu/torch/fp32",)
"""A table of vectors is looked up faster than it is sent to a GPU."""
CPU = ("cpu/openvino/fp32", "cpu/torch/fp32", "cpu/torch/bf16", "cpu/torch/fp16")
CPU_WITH_BF16 = (
    "cpu/openvino/bf16",
    "cpu/torch/bf16",
    "cpu/openvino/fp32",
    "cpu/torch/fp32",
    "cpu/torch/fp16",
)
"""Tokens a second of MiniLM-L6 on two cores with AVX512-BF16: 23,700, 13,000, 8,000 and 5,100."""
LEAST_COSINE = 0.9995
SENTENCES = (
    "steel",
    "The yield strength of 316L stainless steel is 205 MPa at room temperature.",
    "Sträckgränsen för höghållfast stål anges i tabell 3, se även bilaga B.",
    "density: 7.85 g/cm³; melting point: 1,538 °C; supplier: Nordic Alloys AB",
    "| C | Si | Mn | P | S |\n| 0.08 | 0.75 | 2.00 | 0.045 | 0.030 |",
    "Who approved the change of the coating thickness from 12 µm to 15 µm, and when?",
    "Solid oxide fuel cells use yttria-stabilised zirconia as electrolyte.",
    "Die Prüfung erfolgt nach DIN EN ISO 6892-1 bei Raumtemperatur.",
)
PROBES = (*SENTENCES, *(" ".join(SENTENCES * count)[: 160 * count] for count in range(1, 9)))
"""Texts from one word to about 500 tokens."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """The path of a model, as it is kept in `<home>/<name>.json`."""

    model_id: str
    path: str
    cosine: float | None = None
    """Least cosine of a probe's vector to that of fp32 in PyTorch."""
    asked: str = ""
    """`engine/precision` that the config asked for."""


def paths_here(model: EmbeddingModel) -> list[str]:
    """The paths of this machine that the model's settings allow, the fastest first.

    Raises:
        EncoderError: The config asks for what this machine lacks.
    """
    import torch

    if model.backend == "static":
        offered = STATIC
    elif torch.cuda.is_available() and model.engine != "openvino":
        offered = CUDA
    else:
        offered = CPU_WITH_BF16 if has_bf16() else CPU
    if not openvino.is_installed() or model.backend != "sentence_transformers":
        offered = tuple(path for path in offered if "openvino" not in path)
    fitting = [path for path in offered if _agrees(path, model)]
    if not fitting:
        raise EncoderError(
            f"the model {model.path} cannot be computed with engine {model.engine} and precision "
            f"{model.precision} here; there are {', '.join(offered)}. OpenVINO needs "
            "pip install 'rag-assets[openvino]' and the backend sentence_transformers"
        )
    return fitting


def chosen_path(
    model: EmbeddingModel,
    *,
    weights: Weights,
    name: str,
    home: Path,
    elsewhere: Callable[[EmbeddingModel], Choice] | None = None,
) -> str:
    """The path of the config's model called `name`, as kept in `home` or chosen now.

    Tables are addressed by the settings of a model, not by its name: a renamed model, or a second
    name for it, keeps the path that was chosen for its settings.

    Args:
        model: The model of the config.
        weights: Its weights.
        name: What the config calls it.
        home: Folder that keeps the choice.
        elsewhere: Chooses on another machine, where the model will compute; this one if None.

    Raises:
        EncoderError: No path that the config allows gives the vectors of fp32 here.
        WeightsError: The weights are broken.
    """
    file = home / f"{name}.json"
    asked = f"{model.engine}/{model.precision}"
    known = (kept for kept in _choices(model, weights, home, first=file) if kept.asked == asked)
    choice = next(known, None)
    if choice is None:
        choice = elsewhere(model) if elsewhere else choose(model, weights=weights, home=home)
    choice = replace(choice, asked=asked)
    if choice != _kept(file):
        write_atomically(file, json.dumps(asdict(choice), indent=1))
    return choice.path


def choose(
    model: EmbeddingModel, *, weights: Weights | None = None, home: Path | None = None
) -> Choice:
    """The first path of this machine whose vectors agree with those of fp32.

    Raises:
        EncoderError: There is none.
        WeightsError: There are no weights, or they are broken.
    """
    weights = weights or weights_of(model, home=home)
    load = partial(load_encoder, model, weights=weights, home=home)
    paths = paths_here(model)
    refused: list[str] = []
    for path in paths:
        plain = f"{path.partition('/')[0]}/torch/fp32"
        # Nothing to compare: this is fp32 in PyTorch, by which the others are judged.
        if path == plain:
            return Choice(weights.model_id, path)
        try:
            cosine = fidelity(load(path=path), load(path=plain, is_kept=False))
        except EncoderError as error:
            refused.append(f"{path}: {error}")
        else:
            if cosine >= LEAST_COSINE:
                return Choice(weights.model_id, path, round(cosine, 6))
            refused.append(f"{path}: the least cosine to fp32 is {cosine:.5f}")
        logger.warning("not taken for %s: %s", model.path, refused[-1])
    raise EncoderError(
        f"no way to compute the model {model.path} on this machine is close enough to fp32, with a "
        f"cosine of at least {LEAST_COSINE} ({'; '.join(refused)}): set models.<name>.precision to "
        "fp32"
    )


def fidelity(encoder: TextEncoder, reference: TextEncoder) -> float:
    """Least cosine between the two encoders' vectors of the same texts."""
    ours, theirs = (one.embed_passages(PROBES).vectors for one in (encoder, reference))
    return float((ours * theirs).sum(axis=1).min())


def path_of(model: EmbeddingModel, *, weights: Weights, name: str, home: Path) -> str:
    """The path for another use of a model: that of an index of the same model, if there is one.

    Otherwise it is chosen under `name`, as by `chosen_path`; in a read-only state folder the choice
    is not kept.

    Raises:
        EncoderError, WeightsError: As `chosen_path` does.
    """
    if known := next(_choices(model, weights, home), None):
        return known.path
    try:
        return chosen_path(model, weights=weights, name=name, home=home)
    except OSError as error:
        logger.info("the path of %s is chosen anew each time: %s", name, error)
        return choose(model, weights=weights, home=home).path


def known_path(model: EmbeddingModel, *, weights: Weights, name: str, home: Path) -> str | None:
    """The path that `chosen_path` would find in `home`; None if it was never chosen."""
    asked = f"{model.engine}/{model.precision}"
    known = _choices(model, weights, home, first=home / f"{name}.json")
    return next((kept.path for kept in known if kept.asked == asked), None)


def load_for_queries(model: EmbeddingModel, *, name: str, home: Path) -> TextEncoder:
    """The model on the path of its index, or on another where this machine lacks that one.

    Vectors of different paths agree closely enough to be compared, if not to be mixed.

    Raises:
        EncoderError: The model cannot compute here.
        WeightsError: There are no weights, or they are broken.
    """
    if not model.has_weights:
        return load_without_weights(model, home=home)
    weights = weights_of(model, home=home)
    load = partial(load_encoder, model, weights=weights, home=home)
    if known := next(_choices(model, weights, home, first=home / f"{name}.json"), None):
        try:
            return load(path=known.path)
        except EncoderError as error:
            logger.info("queries are computed on another path than the index: %s", error)
    return load(path=choose(model, weights=weights, home=home).path)


@cache
def has_bf16() -> bool:
    """Whether this processor multiplies in bf16: AVX512-BF16 or AMX."""
    import torch

    flags = torch.cpu.get_capabilities()
    return bool(flags.get("avx512_bf16") or flags.get("amx_bf16"))


def _choices(
    model: EmbeddingModel, weights: Weights, home: Path, *, first: Path | None = None
) -> Iterator[Choice]:
    """Kept choices for these weights that the config allows, under any name, `first` first."""
    for file in chain([first] if first else [], sorted(home.glob("*.json"))):
        kept = _kept(file)
        if kept and kept.model_id == weights.model_id and _agrees(kept.path, model):
            yield kept


def _kept(file: Path) -> Choice | None:
    try:
        entries = json.loads(file.read_text("utf-8"))
        return Choice(**entries)
    except (OSError, ValueError, TypeError):
        return None


def _agrees(path: str, model: EmbeddingModel) -> bool:
    _, engine, precision = path.split("/")
    return model.precision in ("auto", precision) and model.engine in ("auto", engine)
