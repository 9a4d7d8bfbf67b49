import os
import pickle
import subprocess
import sys
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import config as config_module
from rag_assets.config import (
    Config,
    ConfigError,
    TableSource,
    TableSpec,
    find,
    load,
    redacted,
    resolve_package_path,
)
from rag_assets.config.checks import Bound

MINIMAL = """\
sources:
  documents: docs
  tables: sqlite:///data.sqlite
"""
SECRET = "tiger-9f3"


@pytest.fixture(autouse=True)
def _no_variables_of_this_machine(monkeypatch):
    for name in os.environ:
        if name.upper().startswith("RAG_ASSETS"):
            monkeypatch.delenv(name)


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "rag_assets.yaml"
        path.write_text(text, "utf-8")
        return path

    return write


def error_of(path):
    """What a person sees of the error: the message, and the whole traceback."""
    with pytest.raises(ConfigError) as raised:
        load(path)
    return str(raised.value), "".join(traceback.format_exception(raised.value))


def test_three_lines_are_a_whole_config(write):
    path = write(MINIMAL)

    config = load(path)

    (documents,), (tables,) = config.sources.documents, config.sources.tables
    assert (documents.name, documents.url) == ("documents", str(path.parent / "docs"))
    assert (tables.name, tables.is_database) == ("tables", True)
    assert tables.url.get_secret_value() == f"sqlite:///{path.parent / 'data.sqlite'}"
    assert [table.name for table in tables.tables] == ["*"]
    assert config.state_dir == path.parent / "data" / ".state"
    assert config.serving_variant == "default"
    assert config.tables_of("default").serialized_rows.startswith("serialized_rows__full_semantic-")


def test_an_empty_file_is_a_config_without_sources(write):
    assert load(write("")).sources == Config().sources


def test_absolute_places_and_urls_stay_as_they_are(write):
    config = load(
        write(
            "sources:\n  documents: [/srv/docs, 's3://bucket/docs']\n".replace(
                "[", "[{name: a, url: "
            )
            .replace(", 's3", "}, {name: b, url: 's3")
            .replace("docs']", "docs'}]")
            + "  tables:\n"
            "    - {name: c, url: 'sqlite:////srv/data.sqlite'}\n"
            "    - {name: d, url: 'package:mendeleev/elements.db'}\n"
        )
    )

    assert [source.url for source in config.sources.documents] == ["/srv/docs", "s3://bucket/docs"]
    assert [source.url.get_secret_value() for source in config.sources.tables] == [
        "sqlite:////srv/data.sqlite",
        "package:mendeleev/elements.db",
    ]


@pytest.mark.parametrize("spelling", ["weights/own", "./weights/own", "weights/../weights/own/"])
def test_a_model_folder_beside_the_file_is_one_recipe_however_it_is_spelled(
    write, monkeypatch, tmp_path, spelling
):
    (tmp_path / "weights/own").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    path = write(
        f"models: {{own: {{path: {spelling}}}}}\n"
        f"retrieval: {{rerankers: {{own: {{path: {spelling}}}}}}}\n"
        f"chunkings: {{fine: {{strategy: fixed, size: 64, tokenizer: {spelling}}}}}\n"
        "variants: {own: {model: own}}\n"
    )
    absolute = write(path.read_text("utf-8").replace(spelling, f"{tmp_path}/weights/own"))
    known = load(absolute)
    path.write_text(path.read_text("utf-8").replace(f"{tmp_path}/weights/own", spelling))
    monkeypatch.chdir(tmp_path / "elsewhere")

    config = load(path)

    assert config.models["own"].path == f"{tmp_path}/weights/own"
    assert config.retrieval.rerankers["own"].path == f"{tmp_path}/weights/own"
    assert config.chunkings["fine"].tokenizer == f"{tmp_path}/weights/own"
    assert config.tables_of("own") == known.tables_of("own")


def test_what_is_no_folder_or_has_a_server_is_a_name(write, tmp_path):
    (tmp_path / "served").mkdir()
    config = load(
        write(
            "models:\n  hub: {path: acme/encoder}\n"
            "  served: {path: served, backend: embeddings_api, max_tokens: 512, "
            "endpoint: {url: 'http://localhost:1/v1'}}\n"
        )
    )

    assert config.models["hub"].path == "acme/encoder"
    assert config.models["served"].path == "served"


def test_a_variable_names_the_file(write, monkeypatch, tmp_path):
    path = write(MINIMAL)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    assert find() == elsewhere / "rag_assets.yaml"
    monkeypatch.setenv("RAG_ASSETS_CONFIG", str(path))
    assert find() == path
    assert load().sources.documents[0].url == str(tmp_path / "docs")


def test_a_missing_file_comes_with_the_remedy(tmp_path):
    message, _ = error_of(tmp_path / "rag_assets.yaml")

    assert str(tmp_path / "rag_assets.yaml") in message
    assert "rag-assets init" in message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a: 1\nb: [", "line 2, column 5"),
        ("a: \x00", "special characters are not allowed"),
        ("- a\n- b\n", "keys and values"),
        ("just words", "keys and values"),
    ],
)
def test_a_file_that_is_no_config_is_named(write, text, named):
    path = write(text)

    message, _ = error_of(path)

    assert str(path) in message
    assert named in message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("answering: {risk: 0.1}", ["answering", "delete the line `risk`", "shown as found"]),
        ("answering: {sentences: 4}", ["delete the line `sentences`", "three best places"]),
        ("sorces: {}", ["unknown key sorces", "sources", "variants", "state_dir"]),
        ("sources: {document: docs}", ["unknown key sources.document", "documents, tables"]),
        (
            "variants: {fast: {modell: minilm}}",
            ["unknown key variants.fast.modell", "chunking, model, parser, serializer"],
        ),
        (
            "sources: {tables: [{url: 'sqlite:///x', tables: [{name: t, keys: [id]}]}]}",
            [
                "sources.tables.0.tables.0.keys",
                "cursor, decimal, headings, hidden, key, name, read, title",
            ],
        ),
        (
            "variants: {fast: {serializer: csv}}",
            ["variants.fast.serializer = 'csv'", "'json'", "'full_semantic'"],
        ),
        (
            "variants: {fast: {model: bge}}",
            ["variants.fast.model", "'bge'", "there are e5, minilm"],
        ),
        ("serving: {variant: fast}", ["serving.variant", "'fast'", "there are default"]),
        ("retrieval: {top_k: 0}", ["retrieval.top_k = 0", "greater than 0"]),
        ("retrieval: {top_k: many}", ["retrieval.top_k = 'many'", "integer"]),
        ("variants: {My Variant: {}}", ["variants.My Variant", "lowercase letters"]),
        ("variants: {a__b: {}}", ["a__b", "single - or _"]),
        (f"variants: {{{'a' * 61}: {{}}}}", ["variants.aaa", "at most 60 characters"]),
        ("variants: {}", ["variants", "at least 1"]),
        ("owner: Ada", ["owner = 'Ada'", "team:NAME", "e-mail"]),
        ("owner: 'team:'", ["owner", "team:NAME"]),
        ('owner: "ada@example.org\\n"', ["owner", "team:NAME"]),
        ("sources: {tables: {url: x, tables: [2024]}}", ["sources.tables.0.tables.0.name = 2024"]),
        ("sources: {tables: {url: x, tables: [a, a]}}", ["sources.tables.0.tables", "named a"]),
        (
            "sources: {tables: [{name: a-b, url: x}, {name: a_b, url: y}]}",
            ["sources", "a_b", "rename"],
        ),
        ('sources: {documents: "a\\0b"}', ["sources.documents contains a NUL"]),
        (
            'models: {m: {path: x, query_prefix: "\\ud800"}}',
            ["models.m.query_prefix contains a NUL"],
        ),
        ("schedule: {timezone: Europe}", ["schedule.timezone = 'Europe'", "Europe/Stockholm"]),
        ("schedule: {sensor_seconds: 1000000000000}", ["schedule.sensor_seconds", "86400"]),
        ("gate: {margin: .inf}", ["gate.margin", "less than or equal to 0.5"]),
        (
            "evaluation: {questions: [{name: a, path: x}, {name: a, path: y}]}",
            ["evaluation.questions", "two sets are named a"],
        ),
        ("chunkings: {c: {size: 100, overlap: 60}}", ["chunkings.c", "overlap 60", "size 100"]),
        (
            "schedule: {timezone: Stockholm}",
            ["schedule.timezone = 'Stockholm'", "Europe/Stockholm"],
        ),
        ("sources: {documents: [a, b]}", ["sources", "two sources are named documents"]),
        ("models: {m: {}}", ["models.m.path is missing"]),
        ("models: {m: {path: x, normalize: false}}", ["models.m.normalize = False", "normalised"]),
        (
            "models: {m: {backend: embeddings_api, path: x, max_tokens: 512}}",
            ["models.m", "embeddings_api needs an endpoint"],
        ),
        (
            "models: {m: {path: x, endpoint: {url: 'http://here/v1'}}}",
            ["models.m", "an endpoint needs backend: embeddings_api"],
        ),
        (
            "models: {m: {backend: embeddings_api, path: x, endpoint: {url: 'http://here/v1'}}}",
            ["models.m", "needs max_tokens"],
        ),
        (
            "models: {m: {backend: embeddings_api, path: x, max_tokens: 512, precision: fp16, "
            "endpoint: {url: 'http://here/v1'}}}",
            ["models.m", "the server's"],
        ),
        (
            "models: {m: {backend: embeddings_api, path: x, max_tokens: 512, "
            "endpoint: {url: 'http://here', key: abc}}}",
            ["unknown key models.m.endpoint.key", "key_variable"],
        ),
        (
            "retrieval: {rerankers: {r: {backend: rerank_api, path: x}}}",
            ["retrieval.rerankers.r", "rerank_api needs an endpoint"],
        ),
    ],
)
def test_an_error_names_file_key_value_and_what_is_allowed(write, text, named):
    path = write(text)

    message, _ = error_of(path)

    for part in [str(path), *named]:
        assert part in message


@pytest.mark.parametrize(
    "text",
    [
        "sources: {documents: a}\nsources: {tables: b}\n",
        "sources:\n  documents: [{url: a, exclude: [x], exclude: [y]}]\n",
    ],
)
def test_a_key_that_is_there_twice_is_an_error(write, text):
    with pytest.raises(ConfigError, match=r"the key (sources|exclude) occurs twice, line 2"):
        load(write(text))


def test_a_path_may_start_at_the_home_of_the_user(write, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    config = load(
        write(
            "state_dir: ~/state\n"
            "sources:\n  documents: [~/docs, {name: old, url: ~old}]\n"
            "  tables: {url: sqlite:///~/x.db, headings_file: ~/h.csv}\n"
            "models: {own: {path: ~/model}}\n"
            "evaluation: {questions: [{path: ~/q.jsonl}]}\n"
        )
    )
    home = tmp_path / "home"
    (tables,) = config.sources.tables
    assert config.state_dir == home / "state"
    assert config.sources.documents[0].url == str(home / "docs")
    assert config.sources.documents[1].url == str(tmp_path / "~old")
    assert tables.url.get_secret_value() == f"sqlite:///{home / 'x.db'}"
    assert tables.headings_file == home / "h.csv"
    assert config.models["own"].path == str(home / "model")
    assert config.evaluation.questions[0].path == home / "q.jsonl"


@pytest.mark.parametrize("part", ["documents", "tables"])
def test_an_empty_place_is_not_the_folder_of_the_config(write, monkeypatch, part):
    monkeypatch.setenv("PLACE", "")
    with pytest.raises(ConfigError, match=rf"sources\.{part}\.0\.url"):
        load(write(f"sources:\n  {part}: ${{PLACE}}\n"))


def test_a_mapping_may_be_merged_into_several(write):
    config = load(
        write("models: {a: &a {path: x}, b: {<<: *a, revision: c}, c: {<<: *a, revision: d}}")
    )
    assert config.models["c"].path == "x"


def test_all_errors_are_named_at_once(write):
    message, _ = error_of(write("sorces: {}\nretrieval: {top_k: 0, depth: -1}\n"))

    assert len(message.splitlines()) == 3


def test_variables_override_values_at_any_depth(write, monkeypatch):
    path = write(MINIMAL + "variants: {default: {serializer: json}}\n")
    monkeypatch.setenv("RAG_ASSETS__RETRIEVAL__TOP_K", "3")
    monkeypatch.setenv("rag_assets__variants__default__serializer", "yaml")
    monkeypatch.setenv("RAG_ASSETS__VARIANTS__FAST__CHUNKING", "fixed_512")
    monkeypatch.setenv("RAG_ASSETS__EVALUATION__CUTOFFS", "[1, 10]")
    monkeypatch.setenv("RAG_ASSETS__STATE_DIR", "elsewhere")

    config = load(path)

    assert config.retrieval.top_k == 3
    assert config.variants["default"].serializer == "yaml"
    assert config.variants["fast"].chunking == "fixed_512"
    assert config.evaluation.cutoffs == [1, 10]
    assert config.state_dir == path.parent / "elsewhere"


def test_a_number_in_a_variable_leads_into_a_list(write, monkeypatch):
    path = write(
        "sources: {tables: [{url: 'sqlite:///a', tables: [{name: t, headings: {YS: ys}}]}]}"
    )
    monkeypatch.setenv("RAG_ASSETS__SOURCES__TABLES__0__URL", "sqlite:////b")
    monkeypatch.setenv("RAG_ASSETS__SOURCES__TABLES__0__TABLES__0__HEADINGS__YS", "strength [MPa]")

    (source,) = load(path).sources.tables

    assert source.url.get_secret_value() == "sqlite:////b"
    assert source.tables[0].headings == {"YS": "strength [MPa]"}
    monkeypatch.setenv("RAG_ASSETS__SOURCES__TABLES__1__URL", "sqlite:////c")
    assert "RAG_ASSETS__SOURCES__TABLES__1__URL" in error_of(path)[0]


def test_an_unknown_key_of_a_variable_is_an_error(write, monkeypatch):
    monkeypatch.setenv("RAG_ASSETS__RETRIEVAL__TOPK", "3")

    assert "unknown key retrieval.topk" in error_of(write(MINIMAL))[0]


def test_variables_stand_in_for_parts_of_a_string(write, monkeypatch):
    path = write("sources: {tables: 'postgresql://reader:${DB_PASSWORD}@${DB_HOST}/plant'}")
    monkeypatch.setenv("DB_PASSWORD", SECRET)
    monkeypatch.setenv("DB_HOST", "db.internal")

    (source,) = load(path).sources.tables

    assert source.url.get_secret_value() == f"postgresql://reader:{SECRET}@db.internal/plant"
    monkeypatch.delenv("DB_HOST")
    message, _ = error_of(path)
    assert "${DB_HOST}" in message
    assert "not set" in message


@pytest.mark.parametrize(
    "text",
    [
        "sources: {tables: [{url: 'URL', name: UPPER}]}",
        "sources: {tables: [{url: 'URL', passwd: x}]}",
        "sources: {tables: [{url: ['URL']}]}",
        "sources: {tables: ['URL', 'URL']}",
        "sources: {tables: [['URL']]}",
        "sources: 'URL'",
        "retrieval: 'URL'",
        "sources: {tables: 'URL}",
        "sources: {tables: {uri: 'URL'}}",
    ],
)
@pytest.mark.parametrize("query", ["", "?password=" + SECRET])
def test_a_password_is_in_no_error(write, text, query):
    url = f"postgresql://reader:{SECRET}@db.internal/plant{query}"

    for shown in error_of(write(text.replace("URL", url))):
        assert SECRET not in shown


def test_a_password_in_a_variable_is_in_no_error(write, monkeypatch):
    path = write(MINIMAL)
    for value in (f"postgresql://u:{SECRET}@h/d", f"'{SECRET}", f"[{SECRET}"):
        monkeypatch.setenv("RAG_ASSETS__SOURCES", value)
        for shown in error_of(path):
            assert SECRET not in shown


def test_a_password_is_in_no_repr_and_no_dump(write):
    config = load(write(f"sources: {{tables: 'postgresql://reader:{SECRET}@db/plant'}}"))

    for shown in (repr(config), str(config), config.model_dump_json(), f"{config.sources}"):
        assert SECRET not in shown


@pytest.mark.parametrize("url", ["http://me:sesame@here/v1", "http://here/v1?key=sesame"])
def test_the_address_of_a_server_holds_no_secret(write, url):
    path = write(
        "models: {m: {backend: embeddings_api, path: x, max_tokens: 512, endpoint: "
        f"{{url: '{url}'}}}}}}"
    )
    message, _ = error_of(path)

    assert "models.m.endpoint.url" in message
    assert "environment variable" in message
    assert "sesame" not in message


@given(
    user=st.text("abc", max_size=4),
    password=st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1),
)
def test_redacting_takes_any_password_out_of_a_url(user, password):
    secret = f"<{password}>"

    shown = redacted(f"cannot reach postgresql://{user}:{secret}@db.internal:5432/plant today")

    assert shown == f"cannot reach postgresql://{user}:***@db.internal:5432/plant today"


@pytest.mark.parametrize(
    "text",
    [
        "mssql+pyodbc:///?odbc_connect=DRIVER%3D%7BODBC%7D%3BUID%3Dsa%3BPWD%3D{}%3BTrust%3Dyes",
        "mssql+pyodbc:///?odbc_connect=PWD%3D{}",
        "mysql+mysqldb://host/plant?user=u&passwd={}&charset=utf8",
        "postgresql:///plant?password={}&sslpassword={}",
    ],
)
def test_redacting_takes_passwords_out_of_parameters(text):
    shown = redacted(f"cannot reach {text.format('hunter2', 'hunter2')}")
    assert "hunter2" not in shown
    assert shown == f"cannot reach {text.format('***', '***')}"


@pytest.mark.parametrize(
    "text", ["http://localhost:8080/x", "see s3://bucket/a and mail me@example.org", "a:b@c", ""]
)
def test_redacting_leaves_everything_else(text):
    assert redacted(text) == text


def test_the_default_parts_stay_beside_own_ones(write):
    config = load(write("models: {bge: {path: BAAI/bge-m3}, minilm: {path: ./weights}}"))

    assert config.models["bge"].path == "BAAI/bge-m3"
    assert config.models["minilm"].path.endswith("/weights")
    assert set(config.parsers) == {"pymupdf", "pdfium", "docling", "marker"}
    assert set(config.chunkings) == {
        "fixed_256",
        "fixed_256_header",
        "fixed_512",
        "headers_800",
        "content_256",
        "sentences_256",
    }


def test_an_entry_with_the_name_of_a_default_changes_what_it_names_alone(write, monkeypatch):
    path = write(
        """
models: {minilm: {engine: torch}}
chunkings: {fixed_512: {overlap: 50}}
parsers: {pdfium: {max_pages: 10}}
retrieval:
  retrievers:
    weighted_fusion: {domain_fusion: {top_j: 5}}
    hybrid_reranked: {candidates: 20}
    hybrid_late_fusion: {domain_fusion: null}
  rerankers: {bge_reranker_base: {revision: abc}}
"""
    )
    monkeypatch.setenv("RAG_ASSETS__RETRIEVAL__RERANKERS__LATE_INTERACTION__PRECISION", "fp32")
    config, plain = load(path), Config()

    model = plain.models["minilm"].model_copy(update={"engine": "torch"})
    assert config.models["minilm"] == model
    chunking = config.chunkings["fixed_512"]
    assert (chunking.size, chunking.overlap) == (512, 50)
    assert (config.parsers["pdfium"].engine, config.parsers["pdfium"].max_pages) == ("pdfium", 10)
    weighted, reranked, late = (
        config.retrieval.retrievers[name]
        for name in ("weighted_fusion", "hybrid_reranked", "hybrid_late_fusion")
    )
    fusion = weighted.domain_fusion
    assert fusion is not None
    assert (fusion.mode, fusion.alpha, fusion.top_j) == ("weighted", 0.1, 5)
    assert (reranked.reranker, reranked.candidates) == ("late_interaction", 20)
    assert reranked.signals == late.signals == ["dense", "bm25"]
    assert late.domain_fusion is None
    rerankers = config.retrieval.rerankers
    assert rerankers["bge_reranker_base"].path == "BAAI/bge-reranker-base"
    assert rerankers["bge_reranker_base"].backend == "flag_embedding"
    assert rerankers["late_interaction"].precision == "fp32"
    assert Config.from_record(config.model_dump()).retrieval == config.retrieval


def test_the_first_variant_serves_unless_one_is_named(write):
    variants = "variants: {b: {}, a: {}}\n"

    assert load(write(variants)).serving_variant == "b"
    assert load(write(variants + "serving: {variant: a}")).serving_variant == "a"


def test_asking_for_an_unknown_variant_names_the_known_ones():
    with pytest.raises(ConfigError, match=r"'fast'.*default"):
        Config().variant("fast")


def test_a_table_may_be_named_by_a_word_or_a_pattern():
    source = TableSource(url="sqlite:///x", tables=["steels", "test_*", {"name": "a?"}])

    assert source.tables == [TableSpec(name=name) for name in ("steels", "test_*", "a?")]
    assert [table.is_pattern for table in source.tables] == [False, True, True]


@pytest.mark.parametrize(
    ("url", "is_database"),
    [
        ("postgresql+psycopg://h/d", True),
        ("mysql://h/d", True),
        ("sqlite:///x", True),
        ("tables", False),
        ("s3://bucket/tables", False),
        ("file:///srv/tables", False),
        ("package:mendeleev/elements.db", False),
    ],
)
def test_what_counts_as_a_database(url, is_database):
    assert TableSource(url=url).is_database is is_database


def test_places_in_packages_are_found_without_importing_them():
    assert resolve_package_path("package:rag_assets/config/__init__.py").samefile(
        config_module.__file__
    )
    with pytest.raises(ConfigError, match="no_such_package is not installed"):
        resolve_package_path("package:no_such_package/x")
    with pytest.raises(ConfigError, match=r"rag_assets holds no nothing\.db"):
        resolve_package_path("package:rag_assets/nothing.db")


def test_a_check_keeps_the_defaults_that_the_file_does_not_name(write):
    checks = load(
        write(
            "checks: {vectors: {vectors_normalised: {max: 0.5}, one_encoder: off,"
            " drift: {centroid: null}}, chunks: {tokens_fit: warning}}"
        )
    ).checks

    assert checks.vectors.vectors_normalised == Bound(severity="error", max=0.5)
    assert checks.vectors.one_encoder.severity == "off", "YAML reads a bare off as false"
    assert checks.vectors.drift.model_dump() == {
        "severity": "warning",
        "rows": 0.3,
        "norms": 0.01,
        "centroid": None,
    }
    assert checks.chunks.tokens_fit.severity == "warning"
    assert checks.chunks.text_present.severity == "error"


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ("{chunk: {}}", "unknown key checks.chunk; known here: chunks, documents"),
        ("{chunks: {token_fit: off}}", "unknown key checks.chunks.token_fit; known here: .*tokens"),
        ("{chunks: {tokens_fit: fatal}}", "chunks.tokens_fit.severity = 'fatal': .*'error'"),
        ("{chunks: {drift: {nulls: 1}}}", "unknown key checks.chunks.drift.nulls; .*lengths"),
        ("{rows: {few_cells_empty: {max: -1}}}", "few_cells_empty.max = -1: .*greater"),
        (
            "{chunks: {expectations: [{expect: ExpectColumnValuesToBeUniqe, column: text}]}}",
            "expectations.0.expect = .*did you mean ExpectColumnValuesToBeUnique",
        ),
        (
            "{chunks: {expectations: [{expect: ExpectColumnValuesToBeUnique, column: txt}]}}",
            "no column 'txt' in this stage; there are chunk_id, .*text",
        ),
        (
            "{chunks: {expectations: [{expect: ExpectTableRowCountToBeBetween},"
            " {expect: ExpectTableRowCountToBeBetween}]}}",
            "named table_row_count_to_be_between: give this one a `name`",
        ),
        (
            "{chunks: {expectations: [{expect: ExpectTableRowCountToBeBetween, name: drift}]}}",
            "another check of this stage is named drift",
        ),
    ],
)
def test_checks_that_cannot_be_are_named_with_what_can(write, checks, message):
    with pytest.raises(ConfigError, match=message):
        load(write(f"checks: {checks}"))


def test_the_classes_of_great_expectations_are_known_without_importing_it():
    code = (
        "import sys; from rag_assets.config.checks import expectation_classes as known\n"
        "names = known(); assert 'great_expectations' not in sys.modules\n"
        "from great_expectations import expectations\n"
        "assert len(names) > 50 and all(hasattr(expectations, name) for name in names)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("state_dir: 2026-99-99", "is not valid YAML: month must be in 1..12"),
        ("state_dir: &a [*a]", "is nested too deeply, or an alias contains itself"),
        (f"state_dir: {'[' * 3_000}{']' * 3_000}", "is nested too deeply"),
        ("state_dir: \x00", "is not valid YAML"),
    ],
)
@pytest.mark.parametrize("is_experiment", [False, True])
def test_what_no_loader_of_yaml_takes_is_one_sentence(write, tmp_path, text, said, is_experiment):
    file = write(MINIMAL if is_experiment else text)
    if is_experiment:
        file = tmp_path / "experiments" / "fusion.yaml"
        file.parent.mkdir()
        file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load(tmp_path / "rag_assets.yaml")
    assert said in str(error.value)
    assert "rag_assets.yaml" in str(error.value) or file.name in str(error.value)


@pytest.mark.parametrize("value", ["2026-99-99", "&a [*a]", "[" * 3_000])
def test_what_no_loader_of_yaml_takes_of_a_variable_is_one_sentence(write, monkeypatch, value):
    file = write(MINIMAL)
    monkeypatch.setenv("RAG_ASSETS__STATE_DIR", value)
    with pytest.raises(ConfigError):
        load(file)


def test_a_config_that_may_not_be_read_is_named(write, monkeypatch):
    file = write(MINIMAL)

    def forbidden(*_: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(file), "read_text", forbidden)
    with pytest.raises(ConfigError, match=r"rag_assets\.yaml cannot be read \(Permission denied\)"):
        load(file)


@pytest.mark.parametrize("key", ["lock_timeout_seconds", "statement_timeout_seconds"])
@pytest.mark.parametrize("value", [".inf", ".nan", "1e12", "0", "99999999999999"])
def test_a_time_that_no_server_or_clock_can_count_is_refused(write, key, value):
    with pytest.raises(ConfigError, match=key):
        load(write(f"sources: {{tables: [{{url: 'sqlite:///a.sqlite', {key}: {value}}}]}}"))
    with pytest.raises(ConfigError, match=r"execution\.max_runtime_seconds"):
        load(write(f"{MINIMAL}execution: {{max_runtime_seconds: {value}}}"))


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("{rewriter: model, model: poet}", "no language model is named 'poet'; there are writer"),
        ("{model: writer}", "strategy and model need rewriter: model"),
        ("{strategy: diverse}", "strategy and model need rewriter: model"),
        ("{rewriter: model, strategy: wild}", "conservative"),
    ],
)
def test_a_rewriter_that_cannot_be_asked_is_refused(write, said, complaint):
    writer = "language_models: {writer: {base_url: 'http://gpu/v1', model: large}}\n"
    retriever = f"retrieval: {{retrievers: {{twice: {{query_fusion: {said}}}}}}}\n"

    message, _ = error_of(write(writer + retriever))

    assert complaint in message
    assert "retrievers.twice" in message


def test_an_experiment_of_rewriting_names_a_language_model_of_the_config(write):
    message, _ = error_of(write("experiments: {rewriting: {model: poet}}\n"))

    assert "experiments.rewriting.model: no language model is named 'poet'" in message


@pytest.mark.parametrize(
    ("judges", "complaint"),
    [
        ("[{model: poet}]", "evaluation.judges.model: no language model is named 'poet'"),
        ("[{model: writer}, {model: writer}]", "writer: judges twice"),
        ("[{model: writer, rubrics: [beauty]}]", "answer_scores"),
        ("[{model: writer, rubrics: []}]", "evaluation.judges"),
        ("[{model: writer, most: 0}]", "most"),
    ],
)
def test_a_judge_that_cannot_be_asked_is_refused(write, judges, complaint):
    writer = "language_models: {writer: {base_url: 'http://gpu/v1', model: large}}\n"

    message, _ = error_of(write(f"{writer}evaluation: {{judges: {judges}}}\n"))

    assert complaint in message


def test_a_config_is_dumped_with_the_settings_of_its_experiments():
    given = {
        "mine": {"arms": [{"name": "words", "retriever": "bm25"}]},
        "serializers": {"top_k": 5},
    }

    dumped = Config.model_validate({"experiments": given}).model_dump(mode="json")["experiments"]

    assert dumped["serializers"]["top_k"] == 5
    assert dumped["mine"]["arms"] == [{"name": "words", "variant": None, "retriever": "bm25"}]


def test_a_config_can_be_pickled_for_another_process(write):
    path = write(
        "checks: {chunks: {tokens_fit: warning, drift: {rows: 0.5}}}\n"
        "experiments:\n"
        "  rewriting: {path: rewrites.jsonl}\n"
        "  mine: {arms: [{name: words, retriever: {signals: [bm25]}}, {name: now}]}\n"
    )
    config = load(path)

    assert pickle.loads(pickle.dumps(config)) == config


def test_an_experiment_on_answers_has_no_arms_of_its_own(write):
    message, _ = error_of(write("answer_experiments: {rag_or_not: {arms: []}}\n"))

    assert "unknown key answer_experiments.rag_or_not.arms" in message
    assert "'arms'" not in message


def test_settings_of_a_rewriter_by_rules_are_known_by_the_fingerprint_of_before():
    dumped = (
        Config.model_validate({"retrieval": {"retrievers": {"twice": {"query_fusion": {}}}}})
        .retrieval.retrievers["twice"]
        .model_dump(mode="json")["query_fusion"]
    )

    assert dumped.keys() == {"rewriter", "path", "queries", "fuse", "anchor", "fusion"}


@pytest.mark.parametrize("path", ["rag", "/rag/", "/a b", "/..", "https://x/rag", "/"])
def test_a_path_for_links_is_one_that_a_link_can_begin_with(write, path):
    with pytest.raises(ConfigError, match=r"serving\.root_path.*not a path such as /rag"):
        load(write(f"serving: {{root_path: '{path}'}}\n"))
    assert load(write("serving: {root_path: /rag/own}\n")).serving.root_path == "/rag/own"


def test_errors_of_every_kind_are_named_at_once(write, monkeypatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    message, _ = error_of(
        write(
            "sources: {document: docs, tables: 'sqlite:///${NOWHERE}/${NOR_HERE}'}\n"
            "schedule: {timezone: Stockholm, sensor_seconds: '${NOWHERE}'}\n"
            "answering: {risk: 0.1, sentences: 4}\n"
            "variants: {fast: {modell: bge, parser: pymupd}}\n"
            "serving: {variant: slow}\n"
        )
    )

    said = [line.partition(": ")[2] for line in message.splitlines()]
    assert [" ".join(line.split()[:3]) for line in said] == [
        "${NOWHERE}: that environment",
        "${NOR_HERE}: that environment",
        "unknown key sources.document;",
        "unknown key variants.fast.modell;",
        "answering: delete the",
        "answering: delete the",
        "schedule.timezone = 'Stockholm':",
        "variants.fast.parser: no parser",
        "variants.fast.model: no model",
        "serving.variant: no variant",
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("sorces: {}", "sources"),
        ("variants: {fast: {chunks: fixed_256}}", "chunking"),
        ("variants: {fast: {serializer: full_semantics}}", "full_semantic"),
        ("variants: {fast: {parser: pymupd}}", "pymupdf"),
        ("retrieval: {retriever: bets}", "best"),
        ("experiments: {fusion_mode: {}}", "fusion_modes"),
        ("top_k: 5", "retrieval.top_k"),
        ("index: {stem: true}", "index.text.stem"),
        ("documents: ./handbook", "sources.documents"),
        ("zzz: 5", None),
    ],
)
def test_what_was_meant_is_proposed(write, text, meant):
    message, _ = error_of(write(text))

    assert len(message.splitlines()) == 1
    assert message.endswith(f"did you mean {meant}?") if meant else "did you mean" not in message


def test_a_mended_key_makes_no_other_error(write):
    """What is taken out to look further is not missed in what is told."""
    message, _ = error_of(
        write(
            "variantz: {fast: {}}\n"
            "serving: {variant: fast}\n"
            "models: {m: {path: 3}}\n"
            "chunkings: {c: {size: 100, overlap: 60}, d: {strategy: sentence}}\n"
        )
    )

    assert len(message.splitlines()) == 4, message
