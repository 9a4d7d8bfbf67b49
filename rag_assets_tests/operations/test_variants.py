"""Variants are listed as they stand, and one goes without touching what others use."""

import json
import re
from dataclasses import astuple

import dagster as dg
import pytest

from rag_assets import config as configuration
from rag_assets.operations.serving_index.promotion import promote
from rag_assets.operations.serving_index.rollback import roll_back
from rag_assets.operations.variants import NotDroppedError, drop, variants_of
from rag_assets.serving import cli, dagster_instance
from rag_assets.serving.replies import FAILED, OK
from rag_assets.store import Store
from rag_assets_testing.faults.built import two_variants
from rag_assets_testing.faults.hashing import hashing


@pytest.fixture
def made(tmp_path, monkeypatch):
    found = two_variants(tmp_path / "project")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(found.file))
    return found


def states(made):
    return variants_of(made.store, made.config)


def test_the_list_says_what_serves_what_is_built_and_what_it_takes(made):
    made.file.write_text(made.file.read_text().replace("variants:\n", "variants:\n  never: {}\n"))
    found = states(made)

    assert list(found) == ["never", "default", "other"]
    assert [name for name, each in found.items() if each["serves"]] == ["default"]
    assert (found["never"]["built"], found["never"]["bytes alone"]) == (None, 0)
    assert found["other"]["built"]
    assert found["other"]["units"] > found["default"]["units"]
    assert found["other"]["bytes alone"] > 0
    assert (found["default"]["verdict"], found["other"]["verdict"]) == ("PASS", None)


def test_before_the_first_build_nothing_serves(made):
    before = variants_of(Store(made.home / "another"), made.config)
    assert [each["serves"] for each in before.values()] == [False, False]


@pytest.mark.parametrize("is_configured", [True, False])
def test_dropping_one_frees_its_own_tables_and_no_others(made, is_configured):
    if not is_configured:
        line = "  other: {parser: pdfium, chunking: tiny, serializer: json}\n"
        made.file.write_text(made.file.read_text().replace(line, ""))
    used = astuple(made.config.tables_of("default"))
    takes = states(made)["other"]["bytes alone"]
    before = set(made.store.generations())

    assert drop(made.store, made.config, "other", log=print) == takes

    gone = {made.store.known_as(each) for each in before - set(made.store.generations())}
    assert gone
    assert not gone & set(map(made.store.known_as, used))
    left = states(made)
    assert left["default"]["built"]
    assert ("other" in left) == is_configured
    assert not is_configured or left["other"]["built"] is None


def test_what_serves_is_not_dropped_and_what_a_rollback_needs_stays(made, capsys):
    assert cli.main(["variants", "drop", "default"]) == FAILED
    assert "serves: let another one serve first" in capsys.readouterr().err
    with pytest.raises(NotDroppedError, match="no variant nope; there are default, other"):
        drop(made.store, made.config, "nope", log=print)
    promote(made.store, made.config, "other", override="to try", log=print)

    assert cli.main(["variants", "drop", "default"]) == OK

    assert "take default out of `variants`" in capsys.readouterr().out
    assert roll_back(made.store, made.config).variant == "default"


def test_the_command_lists_and_tells_the_cost(made, capsys):
    assert cli.main(["variants"]) == OK
    assert re.search(r"^default +yes +\d{4}-", capsys.readouterr().out, re.MULTILINE)
    with hashing():
        assert cli.main(["variants", "cost", "other"]) == OK
    assert "other is up to date" in capsys.readouterr().out


def test_a_pass_on_known_items_only_says_so_wherever_it_is_told(made, capsys):
    words = "PASS on known items only"
    with hashing():
        assert cli.main(["variants", "promote", "other", "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["verdict"] == words

    for command in (["variants", "history"], ["status"], ["variants"]):
        assert cli.main(command) == OK
        assert words in " ".join(capsys.readouterr().out.split())
    assert cli.main(["variants", "history", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)["history"]
    assert [each["verdict"] for each in found] == [words, "PASS"], "the first build met nothing"
    assert states(made)["other"]["verdict"] == words


def test_what_serves_by_an_override_needs_nothing_more(made, capsys):
    text = made.file.read_text()
    made.file.write_text(text.replace("retriever: bm25", "retriever: baseline"))  # chance
    with hashing():
        assert cli.main(["variants", "promote", "other"]) == FAILED
        assert "What to do" in capsys.readouterr().out
        assert cli.main(["variants", "promote", "other", "--override", "to try"]) == OK
    shown = capsys.readouterr().out
    assert "Variant other serves now" in shown
    assert "What to do" not in shown


def test_what_a_run_of_the_ui_builds_is_not_dropped_meanwhile(made, capsys):
    from dagster._core.test_utils import create_run_for_test

    with dagster_instance.opened(made.config) as opened:
        create_run_for_test(
            opened,
            job_name="backfill_variant",
            status=dg.DagsterRunStatus.STARTED,
            tags={"dagster/partition": "other"},
        )

    assert cli.main(["variants", "drop", "other"]) == FAILED

    assert "backfill_variant of variant other is going on" in capsys.readouterr().err
    assert states(made)["other"]["built"]
