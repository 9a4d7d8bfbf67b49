"""The page in a real browser: every click, keys alone, hostile texts, and the marks on PDF pages.

usage: page.py [--demo FOLDER] [--screenshots FOLDER] [--quotes 200] [--without-browser]

A copy of the demo gets documents and table cells that try to break a page, and is brought up to
date. `rag-assets serve` is started on it three times: without a language model, with one that plays
a script, and once there is a key, by which one has to log in. Chromium then does what people do. It
comes from `RAG_ASSETS_CHROMIUM` or the path; without one, that half is left out, and the last line
says so. axe-core is fetched from the npm registry and kept in the user's cache.

Marks are compared with what another engine says: sentences of chunks of real PDFs (those of the
demo, and of the shared data where it lies beside the project) are placed by the evidence card, and
by the boxes that PyMuPDF gives for the same words, line by line.
"""

import argparse
import hashlib
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import urllib.request
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from bounds import REPOSITORY, SHARED_DATA, Bound, at_least, at_most, equal, finish, rag_assets
from pydantic import TypeAdapter

sys.path.insert(0, str(REPOSITORY))

from rag_assets_testing.ports import free_port
from rag_assets_testing.scripted_language_model import Behaviour, ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, ViewportSize

    from rag_assets.config import Config

AXE = "https://registry.npmjs.org/axe-core/-/axe-core-4.14.1.tgz"
AXE_SHA256 = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
HINGE, CHANGED = "At how many degrees does the gromulated hinge open?", 55
WIDTH, HEIGHT, NARROW = 1440, 900, 360
"""Of the window, in pixels."""
FIRST_VIEW = 100_000
"""Bytes."""
OVERLAP, SHARE = 0.7, 0.95
"""Intersection over union that a mark needs, and the share of marks that has it."""

COMPUTED = "What is the tensile strength of SAE 1040?"
FOUND = "What quality level must welds of frame rails meet?"
NOTHING = "What is the hardness of QX-99812?"
FOLLOW_UP = ("What is the density of SAE 1040?", "And its yield strength?")

SCRIPTED = """\
language_models:
  scripted:
    base_url: "{url}"
    model: scripted
    sources: [documents, materials, mendeleev, promaterial]
answering:
  writer: scripted
  unsupported: mark
"""
SAID_SO = re.compile(r"status of 4\d\d|Status Error Code 4\d\d")
"""What the console says of a request that was refused, as it should be."""
ATTACK = '<script>document.title="broken"</script><img src=x onerror="document.title=\'broken\'">'
TURNED = "\u202eteehs detsur\u202c"
LONG = "Donaudampfschiff" * 60
HOSTILE = f"""\
# {ATTACK} hostile heading

Quibblezorp is a coating. {ATTACK} <a href="javascript:document.title='broken'">open</a>
<svg onload="document.title='broken'"></svg> {TURNED} {LONG} [1] {{{{ 7 * 7 }}}} &lt;b&gt;

The thickness of quibblezorp is 12 micrometres "' onmouseover="document.title='broken'.
"""
NAMES = (
    '<img src=x onerror="document.title=1">.md',
    f"{TURNED} fdp.md",
    "' onclick=document.title=1 .md",
)


@dataclass(frozen=True)
class Here:
    """What a check is given."""

    browser: "Browser"
    url: str
    home: Path
    shots: Path | None
    key: str = ""
    """With which one logs in."""

    @contextmanager
    def page(self, *, width: int = WIDTH, scripts: bool = True) -> "Generator[Page]":
        """A fresh page; it must have met no error and no broken rule when it is closed."""
        context = self.browser.new_context(
            viewport={"width": width, "height": HEIGHT}, java_script_enabled=scripts
        )
        page, seen = context.new_page(), []
        page.on("pageerror", lambda error: seen.append(f"error: {error}"))
        page.on("console", lambda told: seen.append(told.text) if told.type == "error" else None)
        page.on("dialog", lambda dialog: dialog.accept())
        page.on("request", lambda sent: seen.append(sent.url) if _is_outside(sent.url) else None)
        try:
            yield page
            refused = [each for each in seen if not SAID_SO.search(each)]
            assert not refused, refused
            assert "broken" not in page.title(), "a text of a source was run"
        finally:
            context.close()

    def shot(self, page: "Page", name: str) -> None:
        if self.shots:
            page.screenshot(path=self.shots / f"{name}.png")

    def wide_as_window(self, page: "Page") -> None:
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"the page is {wide} pixels wider than the window"


Check = Callable[[Here], None]
WITHOUT_MODEL: dict[str, Check] = {}
WITH_MODEL: dict[str, Check] = {}
WITH_KEYS: dict[str, Check] = {}


def check(checks: dict[str, Check], name: str) -> Callable[[Check], Check]:
    def named(function: Check) -> Check:
        checks[name] = function
        return function

    return named


def _is_outside(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "data:", "about:", "blob:"))


def ask(page: "Page", question: str) -> str:
    """Ask, wait for the whole answer, and return its outcome."""
    before = page.locator(".turn .body:not(.waiting)").count()
    page.fill("#question", question)
    page.press("#question", "Enter")
    answer = page.locator(".turn .body:not(.waiting)").nth(before)
    answer.wait_for(timeout=120_000)
    return (answer.get_attribute("class") or "").removeprefix("body ").strip()


def last(page: "Page", selector: str) -> "Locator":
    return page.locator(f".turn:last-child {selector}")


@check(WITHOUT_MODEL, "a computed value leads with its rows; a number opens the row, Escape closes")
def computed(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        here.shot(page, "ask")
        assert ask(page, COMPUTED) == "computed"
        assert last(page, ".said table tbody tr").count() == 4
        number = last(page, ".said table .cite").first
        number.click()
        page.locator("#evidence tr.cited td.marked").first.wait_for()
        assert "Steel SAE 1040" in page.locator("#evidence tr.cited").inner_text()
        assert page.locator("#evidence tbody tr").count() == 5, "the row between its neighbours"
        here.shot(page, "row")
        page.keyboard.press("Escape")
        assert page.locator("#evidence .card").count() == 0
        assert number.evaluate("it => it === document.activeElement")
        ask(page, "What is the average density of standard materials?")
        assert "kg/m" in last(page, ".value").inner_text()
        last(page, ".sources .cite").first.click()
        page.locator("#evidence summary", has_text="SQL").click()
        assert "SELECT" in page.locator("#evidence .sql").inner_text().upper()
        here.shot(page, "value")


@check(WITHOUT_MODEL, "what is found is called so; a number opens the page, the place marked")
def found(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        assert ask(page, FOUND) == "found"
        assert "Found in your documents" in last(page, ".outcome").inner_text()
        assert last(page, ".passages li mark").count() == 3
        last(page, ".cite[aria-label*='page']").first.click()
        mark = page.locator("#evidence rect.quote").first
        mark.wait_for(timeout=60_000)
        box = mark.bounding_box()
        assert box is not None, "it is on the screen"
        assert box["width"] > 20
        assert page.locator("#evidence .passage mark mark").inner_text() in HELD_BY_EYE
        page.wait_for_timeout(300)
        here.shot(page, "page")


HELD_BY_EYE = (
    "Welds meet quality level B. For welds marked F (fatigue) on the drawing the undercut is at "
    "most 0.3 mm, the toe radius at least 1.0 mm, and start and stop are placed at least 50 mm "
    "from the end of the joint."
)


@check(WITHOUT_MODEL, "where nothing is, it says so, and what is near")
def nothing(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        assert ask(page, NOTHING) == "nothing"
        assert "QX-99812" in last(page, ".said").inner_text()
        assert last(page, ".said a[href^='/search']").count()
        here.shot(page, "nothing")


@check(WITHOUT_MODEL, "a follow-up is completed, and the page shows how")
def follow_up(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        ask(page, FOLLOW_UP[0])
        assert ask(page, FOLLOW_UP[1]) == "computed"
        assert "SAE 1040" in last(page, ".read-as").inner_text()
        assert page.locator(".turn").count() == 2


@check(WITHOUT_MODEL, "back closes the evidence card; a reload and a return show the answer again")
def back(here: Here) -> None:
    with here.page(width=NARROW) as page:
        page.goto(here.url)
        ask(page, FOLLOW_UP[0])
        ask(page, FOLLOW_UP[1])
        for close in (page.go_back, page.locator(".shut").dblclick):
            last(page, ".cite").first.click()
            page.locator("#evidence .card").wait_for()
            cell = page.locator("#evidence tr.cited .marked").last.bounding_box()
            assert cell, "it is on the screen"
            assert 0 <= cell["x"] <= NARROW - cell["width"], cell
            close()
            page.locator("#evidence .card").wait_for(state="detached")
            page.wait_for_timeout(500)
            assert page.locator(".turn").count() == 2, "the conversation stands"
        page.reload()
        assert page.locator(".question").inner_text() == FOLLOW_UP[1]
        page.locator("nav a[href='/search']").click()
        page.wait_for_url("**/search")
        page.go_back()
        assert ask(page, "And its density?") == "computed", "it goes on from there"
        assert "SAE 1040" in last(page, ".read-as").inner_text()
        page.get_by_role("button", name="on its own").last.click()
        page.locator(".turn .body:not(.waiting)").wait_for(timeout=60_000)
        assert not page.locator(".read-as").count()


@check(WITHOUT_MODEL, "what is refused below the page is told")
def refused(here: Here) -> None:
    with here.page() as page:
        page.goto(f"{here.url}/search")
        page.fill("#query", "x" * 300_000)
        page.keyboard.press("Enter")
        page.locator("#notice", has_text="400").wait_for()
        page.fill("#query", "steel")
        page.keyboard.press("Enter")
        page.locator(".results li").first.wait_for()
        assert not page.locator("#notice").inner_text()


@check(WITHOUT_MODEL, "search with filters; why these results")
def search(here: Here) -> None:
    with here.page() as page:
        page.goto(f"{here.url}/search")
        page.fill("#query", "hot rolled steel")
        page.keyboard.press("Enter")
        page.locator(".results li").first.wait_for()
        page.locator("summary", has_text="Filters").click()
        page.select_option("select[name=domain]", "document")
        page.fill("input[name=uri]", "suppliers/fjallstal_FS_700_MC_data_sheet.pdf")
        with page.expect_response(lambda reply: "uri=" in reply.url):
            page.locator(".line button").click()
        page.locator(".results .where").first.wait_for()
        places = page.locator(".results .where").all_inner_texts()
        assert places, "something is found"
        assert all(each.startswith("suppliers/fjallstal_FS_700") for each in places), places
        assert "domain=document" in page.url
        page.locator("summary", has_text="Why these results").click()
        ranks = page.get_by_role("region", name="Ranks in each stage")
        heads = ranks.locator("th").all_inner_texts()
        assert heads[:4] == ["Result", "Title", "meaning", "words"], heads
        here.shot(page, "search")
        page.locator(".results h2 a").first.click()
        page.locator("#evidence figure").wait_for(timeout=60_000)
        page.fill("input[name=uri]", "no/such.pdf")
        page.locator(".line button").click()
        page.get_by_text("Nothing was found under these filters").wait_for()


@check(WITHOUT_MODEL, "history: list, find, open, go on, ask again, delete")
def history(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        ask(page, COMPUTED)
        page.goto(f"{here.url}/history?text=tensile")
        here.shot(page, "history")
        page.locator(".kept a", has_text=COMPUTED).first.click()
        page.locator(".body.computed").wait_for()
        assert ask(page, "And its yield strength?") == "computed"
        assert "SAE 1040" in last(page, ".read-as").inner_text()
        page.goto(f"{here.url}/history?text=tensile")
        page.get_by_role("button", name=f"Ask again: {COMPUTED}").first.click()
        page.locator(".body.computed").wait_for(timeout=60_000)
        page.goto(f"{here.url}/history?text=tensile")
        before = page.locator(".kept li").count()
        page.get_by_role("button", name=f"Delete: {COMPUTED}").first.click()
        page.get_by_text("Erased for good").wait_for()
        page.reload()
        assert page.locator(".kept li").count() == before - 1


@check(WITHOUT_MODEL, "an answer that changed is told, and by keys alone opened and seen")
def changed(here: Here) -> None:
    hinge = here.home / "data" / "documents" / "gromulated_hinge.md"
    config = here.home / "rag_assets.yaml"
    for degrees in (40, 55):
        hinge.write_text(f"# Hinges\n\nThe gromulated hinge opens at {degrees} degrees.\n", "utf-8")
        done = rag_assets("refresh", config=config, environment=OFFLINE)
        told = rag_assets("variants", "promote", "default", "--override", "hinges", config=config)
        print(done.output[-300:], told.output[-300:])
        with here.page() as page:
            page.goto(here.url)
            if degrees == CHANGED:
                page.get_by_text("of your answers ha").wait_for()
                _tab_to(page, "header a[href='/changed']")
                page.keyboard.press("Enter")
                page.wait_for_url("**/changed")
                here.shot(page, "changed")
                said = page.locator(".changes li", has_text=HINGE).first.inner_text()
                assert said.index("40 degrees") < said.index("55 degrees"), said
                _tab_to(page, ".changes button[hx-post$='/seen']")
                page.keyboard.press("Enter")
                page.get_by_text("it is news no more").wait_for()
                page.goto(here.url)
                page.wait_for_load_state("networkidle")
                assert not page.get_by_text("of your answers ha").count()
            else:
                ask(page, HINGE)


@check(WITHOUT_MODEL, "feedback is kept, with the version and the rank")
def feedback(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        ask(page, FOUND)
        last(page, ".passages li").nth(1).get_by_role("button", name="right source").click()
        last(page, ".passages .thanks").wait_for()
        last(page, ".foot").get_by_role("button", name="Not helpful").click()
        last(page, ".foot .thanks").wait_for()
    with sqlite3.connect(here.home / "data" / ".state" / "answers" / "answers.sqlite") as file:
        rows = file.execute("SELECT kind, rank, index_version FROM feedback").fetchall()
    assert {kind for kind, _, _ in rows} >= {"right_source", "down"}, rows
    assert any(rank and version for _, rank, version in rows), rows


@check(WITHOUT_MODEL, "with keys alone: ask, open a source, close it, search, open the history")
def keys(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        page.keyboard.press("/")
        page.keyboard.type(FOUND)
        page.keyboard.press("Enter")
        page.locator(".body.found").wait_for(timeout=60_000)
        _tab_to(page, ".cite", backwards=True)
        here_was = page.evaluate("document.activeElement.getAttribute('href')")
        page.keyboard.press("Enter")
        page.locator("#evidence .card").wait_for()
        assert page.evaluate("document.activeElement.closest('#evidence') !== null")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.getAttribute('href')") == here_was
        _tab_to(page, "nav a[href='/search']", backwards=True)
        page.keyboard.press("Enter")
        page.wait_for_url("**/search")
        page.keyboard.press("/")
        page.keyboard.type("brake disc")
        page.keyboard.press("Enter")
        page.locator(".results li").first.wait_for()
        _tab_to(page, ".results a")
        page.keyboard.press("Enter")
        page.locator("#evidence .card").wait_for()
        page.keyboard.press("Escape")
        _tab_to(page, "nav a[href='/history']", backwards=True)
        page.keyboard.press("Enter")
        page.wait_for_url("**/history")
        _tab_to(page, ".kept a")
        page.keyboard.press("Enter")
        page.locator(".body").wait_for()


def _tab_to(page: "Page", selector: str, *, backwards: bool = False) -> None:
    for _ in range(120):
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
        if page.evaluate(f'document.activeElement.matches("{selector}")'):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", "where the focus is can be seen"
            return
    raise AssertionError(f"{selector} is not reached by the key Tab")


@check(WITHOUT_MODEL, "hostile documents, names, cells and questions are text, and break nothing")
def hostile(here: Here) -> None:
    for width in (WIDTH, NARROW):
        with here.page(width=width) as page:
            page.goto(here.url)
            assert ask(page, "What is the thickness of quibblezorp?") == "found"
            assert "onerror" in last(page, ".passages").inner_text(), "it is shown as text"
            here.wide_as_window(page)
            here.shot(page, f"hostile_{width}")
            last(page, ".cite").first.click()
            page.locator("#evidence .card").wait_for()
            here.wide_as_window(page)
            page.keyboard.press("Escape")
            ask(page, f"{ATTACK} quibblezorp {TURNED} {LONG[:400]}?")
            here.wide_as_window(page)
            page.fill("#question", "x" * 10_000)
            page.press("#question", "Enter")
            page.locator("#notice", has_text="2000 characters").wait_for()
            assert "/history/" in page.url, "what was refused leads nowhere"
            page.goto(f"{here.url}/search?query=zorblattium")
            page.locator(".results a").first.click()
            page.locator("#evidence .card").wait_for()
            assert "onerror" in page.locator("#evidence").inner_text(), "cells are text"
            here.wide_as_window(page)
            page.goto(f"{here.url}/search?query=quibblezorp&domain=document")
            assert page.locator(".results li").count() >= len(NAMES)
            here.wide_as_window(page)
            page.goto(f"{here.url}/history")
            here.wide_as_window(page)
            for place in (
                "/u/%3Cscript%3E?v=1",
                "/static/../limits.py",
                "/rows?plan=%7B%7D",
                "/u/x/page?v=9",
            ):
                page.goto(f"{here.url}{place}")
            assert not page.locator("a[href^='javascript']").count()


@check(WITHOUT_MODEL, "without scripts: search, evidence and history can be read")
def without_scripts(here: Here) -> None:
    with here.page(scripts=False) as page:
        page.goto(f"{here.url}/search?query=hot+rolled+steel")
        page.locator(".results a").first.click()
        page.locator(".card h2").wait_for()
        page.goto(f"{here.url}/history")
        page.locator(".kept a").first.click()
        page.locator(".body").wait_for()


@check(
    WITH_MODEL, "a language model writes: sentences with numbers, what is not in its sources marked"
)
def written(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        assert ask(page, FOUND) == "written"
        assert "Written by" in last(page, ".outcome").inner_text()
        assert last(page, ".said > p .cite").count() == 2
        assert last(page, ".said > p .unproven").all_inner_texts() == ["not in its sources"]
        here.shot(page, "written")
        last(page, ".said > p .cite").first.click()
        page.locator("#evidence .card").wait_for()


@check(WITH_MODEL, "an answer on its way shows progress, and can be stopped")
def stopped(here: Here) -> None:
    with here.page() as page:
        page.goto(here.url)
        page.fill("#question", f"Slowly: {FOUND}")
        page.press("#question", "Enter")
        page.locator(".progress", has_text="Found").wait_for(timeout=60_000)
        here.shot(page, "progress")
        page.locator(".progress a").first.click()
        page.locator("#evidence .card").wait_for()
        page.fill("#question", "And why?")
        page.press("#question", "Enter")
        page.locator("#notice", has_text="wait for it").wait_for()
        assert page.locator(".turn").count() == 1, "it would not know what it goes on from"
        page.reload()
        page.locator(".progress", has_text="Found").wait_for(timeout=60_000)
        page.get_by_role("button", name="Stop").click()
        page.locator(".body.nothing", has_text="Stopped").wait_for()
        assert ask(page, COMPUTED) == "computed"


@check(WITH_KEYS, "with the keyboard alone: log in by a key, land where one wanted to, log out")
def logged_in(here: Here) -> None:
    with here.page() as page:
        page.goto(f"{here.url}/search?query=steel")
        page.locator("#key:focus").wait_for()
        page.keyboard.type("rag_00000000_wrong")
        page.keyboard.press("Enter")
        page.locator("#problem[role=alert]", has_text="this is no key").wait_for()
        page.locator("#key:focus").wait_for()
        page.keyboard.type(here.key)
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?query=steel")
        page.locator(".results li").first.wait_for()
        [cookie] = page.context.cookies()
        assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Lax"), cookie
        assert here.key not in f"{cookie} {page.url} {page.content()}"
        assert not page.evaluate("document.cookie"), "no script reads it"
        assert not page.locator("nav a[href='/label']").count(), "the key has no such scope"
        _tab_to(page, "header form button", backwards=True)
        page.keyboard.press("Enter")
        page.wait_for_url("**/login")
        page.goto(f"{here.url}/history")
        page.locator("#key").wait_for()


def serious_at_the_door(here: Here, axe: str) -> int:
    """What axe-core finds that is serious or critical where one logs in, and once one did."""
    found = 0
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        context = here.browser.new_context(color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        for given in ("", "rag_00000000_wrong", here.key):
            page.goto(f"{here.url}/search?query=steel")
            if given:
                page.fill("#key", given)
                page.press("#key", "Enter")
                page.locator("#problem[role=alert], .results li").first.wait_for()
            page.evaluate(axe)
            for each in page.evaluate("axe.run()")["violations"]:
                print("axe:", scheme, page.url, each["id"], each["impact"])
                found += each["impact"] in ("serious", "critical")
        context.close()
    return found


def written_by(body: dict) -> Behaviour:
    """What the scripted model answers."""
    told = str(body["messages"])
    text = "Welds of frame rails meet quality level B [1]. Good welds take care and patience [1]."
    return Behaviour(text, seconds=6.0 if "Slowly:" in told else 0.3, pause=0.05)


def first_view(here: Here) -> int:
    """Bytes of the first view, all files counted."""
    with here.page() as page:
        sizes: list[int] = []
        page.on("response", lambda reply: sizes.append(len(reply.body())))
        page.goto(here.url, wait_until="networkidle")
        return sum(sizes)


def serious(here: Here, axe: str) -> list[str]:
    """What axe-core finds that is serious or critical, in all views, light and dark."""
    found = []
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        size: ViewportSize = {"width": WIDTH, "height": HEIGHT}
        context = here.browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
        page = context.new_page()

        def looked(page: "Page" = page, scheme: str = scheme) -> None:
            page.evaluate(axe)
            result = page.evaluate("axe.run()")
            found.extend(
                f"{scheme} {page.url}: {each['id']}: {each['nodes'][0]['html'][:120]}"
                for each in result["violations"]
                if each["impact"] in ("serious", "critical")
            )

        page.goto(here.url)
        looked()
        for question in (NOTHING, FOUND, COMPUTED):
            ask(page, question)
        last(page, ".cite").first.click()
        page.locator("#evidence .card").wait_for()
        looked()
        page.goto(f"{here.url}/search?query=hot+rolled+steel")
        page.locator("summary", has_text="Filters").click()
        page.locator("summary", has_text="Why").click()
        looked()
        page.locator(".results a", has_text=".pdf").first.click()
        page.locator("#evidence figure").wait_for(timeout=60_000)
        looked()
        if here.shots:
            here.shot(page, f"search_{scheme}")
        for place in ("history", "changed?seen=true"):
            page.goto(f"{here.url}/{place}")
            looked()
        page.goto(f"{here.url}/u/nothing?v=1")
        looked()
        context.close()
    return found


def axe_source() -> str:
    """axe-core (MPL-2.0), of the user's cache or fetched from the npm registry."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rag_assets"
    file = cache / AXE.rsplit("/", 1)[1]
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(AXE, timeout=60) as reply:
            file.write_bytes(reply.read())
    packed = file.read_bytes()
    if hashlib.sha256(packed).hexdigest() != AXE_SHA256:
        sys.exit(f"{file} is not what {AXE} was: delete it")
    with tarfile.open(fileobj=io.BytesIO(packed)) as package:
        member = package.extractfile("package/axe.min.js")
        assert member is not None, "the package has its script"
        return member.read().decode()


def copied(demo: Path, home: Path) -> Path:
    """A copy of the demo with hostile texts, brought up to date; its config."""
    shutil.copytree(demo / "data", home / "data", symlinks=True)
    config = home / "rag_assets.yaml"
    shutil.copy(demo / "rag_assets.yaml", config)
    documents = home / "data" / "documents" / "hostile"
    documents.mkdir()
    for number, name in enumerate(NAMES):
        (documents / name).write_text(f"{HOSTILE}\nQuibblezorp number {number}.\n", "utf-8")
    papers = SHARED_DATA / "materials_demo" / "docs"
    for paper in sorted(papers.glob("*.pdf")) if papers.is_dir() else ():
        shutil.copyfile(paper, home / "data" / "documents" / paper.name)
    with sqlite3.connect(home / "data" / "materials.sqlite") as database:
        columns = database.execute(
            "SELECT name, type FROM pragma_table_info('suppliers')"
        ).fetchall()
        values = [
            f"zorblattium {ATTACK} {TURNED} {LONG} {number}"
            if "CHAR" in kind or "TEXT" in kind
            else 990_000 + number
            for number, (_, kind) in enumerate(columns)
        ]
        marks = ", ".join("?" * len(columns))
        database.execute(f"INSERT INTO suppliers VALUES ({marks})", values)
    done = rag_assets("refresh", config=config, environment=OFFLINE)
    promoting = ("variants", "promote", "default", "--override", "hostile texts")
    promoted = rag_assets(*promoting, config=config, environment=OFFLINE)
    print(done.output[-600:], promoted.output[-600:])
    return config


@contextmanager
def serving(config: Path) -> Generator[str]:
    """`rag-assets serve`, until the block ends; gives its address."""
    port = free_port()
    command = [Path(sys.executable).with_name("rag-assets"), "serve", "--port", str(port)]
    environment = {**os.environ, **OFFLINE, "RAG_ASSETS_CONFIG": str(config)}
    server = subprocess.Popen(command, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{url}/readyz", timeout=60).close()
                break
            except OSError:
                time.sleep(0.5)
        yield url
    finally:
        server.terminate()
        server.wait(60)


def browsed(config: Path, chromium: str, shots: Path | None) -> Iterator[Bound]:
    """All that is done in the browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with serving(config) as url:
            here = Here(browser, url, config.parent, shots)
            yield at_most("first view, bytes", first_view(here), FIRST_VIEW)
            yield from held(WITHOUT_MODEL, here)
            found = serious(here, axe_source())
            for each in found:
                print("axe:", each)
            yield equal("serious findings of axe-core", len(found), 0)
        with ScriptedServer(written_by) as model:
            told = config.read_text("utf-8")
            added = SCRIPTED.format(url=model.url)
            config.write_text(f"{told}\n{added}", "utf-8")
            with serving(config) as url:
                yield from held(WITH_MODEL, Here(browser, url, config.parent, shots))
        made = rag_assets("keys", "create", "anna", "--json", config=config)
        key = json.loads(made.output)["key"]
        with serving(config) as url:
            here = Here(browser, url, config.parent, shots, key)
            yield from held(WITH_KEYS, here)
            found = serious_at_the_door(here, axe_source())
            yield equal("serious findings of axe-core at the login", found, 0)
        browser.close()


def held(checks: dict[str, Check], here: Here) -> Iterator[Bound]:
    for name, function in checks.items():
        try:
            function(here)
            passed = True
        except Exception:
            traceback.print_exc()
            passed = False
        print("passed" if passed else "FAILED", name, flush=True)
        yield equal(name, int(passed), 1)


@dataclass(frozen=True)
class Quote:
    """A sentence of a chunk, and where another engine has its words."""

    unit: dict
    start: int
    end: int
    page: int
    boxes: Sequence[Sequence[float]]


def quotes_of(config: "Config", count: int) -> list[Quote]:
    """Sentences of chunks whose words stand on one page once, by the words of PyMuPDF."""
    import pymupdf

    from rag_assets.schemas import slice_of
    from rag_assets.store import Store, serving_pointer

    store = Store.of(config)
    pointer = serving_pointer.current(store)
    assert pointer is not None, "the demo serves"
    joint = pointer.complete_set.joint
    names = ["unit_id", "uri", "text", "char_start", "char_end", "pages", "type"]
    rows = store.read(
        joint.table, columns=names, where="domain = 'document'", version=joint.version
    )
    units = [unit for unit in rows.to_pylist() if unit["uri"].endswith(".pdf")]
    chance = random.Random(40)
    chance.shuffle(units)
    found: list[Quote] = []
    for unit in [*units, *units, *units]:
        own = slice_of(unit["text"], unit["char_start"], unit["char_end"])
        sentences = [*re.finditer(r"[^\s.|][^.|\n]{24,260}[.|\n]", own)]
        if not sentences:
            continue
        sentence = chance.choice(sentences)
        start = len(unit["text"]) - len(own) + sentence.start()
        end = start + len(sentence.group().rstrip(" |\n"))
        if any((each.unit["unit_id"], each.start) == (unit["unit_id"], start) for each in found):
            continue
        wanted = _folded(unit["text"][start:end])
        placed = []
        with pymupdf.open(folder_of(config) / unit["uri"]) as document:
            for number in unit["pages"]:
                page = document[number - 1]
                words = [  # as the page is shown: some are turned
                    (*(pymupdf.Rect(word[:4]) * page.rotation_matrix), word[4])
                    for word in page.get_text("words", sort=False)
                ]
                places = [(word, letter) for word in words for letter in _folded(word[4])]
                said = "".join(letter for _, letter in places)
                at = said.find(wanted)
                while at >= 0:
                    placed.append((number, [word for word, _ in places[at : at + len(wanted)]]))
                    at = said.find(wanted, at + 1)
        if len(placed) == 1:
            [(number, words)] = placed
            boxes = list(dict.fromkeys(tuple(word[:4]) for word in words))
            found.append(Quote(unit, start, end, number, boxes))
        if len(found) == count:
            break
    return found


def folder_of(config: "Config") -> Path:
    return Path(config.sources.documents[0].url)


def _folded(text: str) -> str:
    import unicodedata

    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))


def marks(config: "Config", count: int) -> Iterator[Bound]:
    """How well the evidence card marks words."""
    from rag_assets.citations.card import PagePicture
    from rag_assets.documents.chunks.location import locate_chunk
    from rag_assets.documents.figures.quotes import asked_of
    from rag_assets.store import Store
    from rag_assets.workers import Task, run_here

    function = "rag_assets.documents.figures.quotes:find_quotes"
    result = TypeAdapter(tuple[PagePicture, ...])

    store = Store.of(config)
    overlaps, unmarked, wrong = [], 0, 0
    for quote in quotes_of(config, count):
        place = locate_chunk(store, config, variant=None, unit_id=quote.unit["unit_id"])
        asked = asked_of(store, place, quote.unit, [(quote.start, quote.end)])
        task = Task("quote", function, asked, 60.0, file=folder_of(config) / quote.unit["uri"])
        pages = result.validate_python(getattr(run_here(task), "value", None))
        lines = _lines(quote.boxes)
        size = (pages[0].width, pages[0].height)
        ours = [box for each in pages if each.page == quote.page for box in each.boxes]
        overlap = _overlap(ours, lines, size)
        overlaps.append(overlap)
        is_marked = any(each.boxes for each in pages)
        unmarked += not is_marked
        wrong += is_marked and overlap == 0
        if overlap < OVERLAP:
            said = quote.unit["text"][quote.start : quote.end]
            print(f"{overlap:.2f} {quote.unit['uri']} page {quote.page}: {said[:80]!r}")
    median = float(np.median(overlaps))
    print(f"{len(overlaps)} quotes; {unmarked} are not marked; median overlap {median:.3f}")
    yield at_least("quotes that were compared", len(overlaps), count)
    share = float(np.mean(np.array(overlaps) >= OVERLAP))
    yield at_least(f"share of quotes with an overlap of {OVERLAP}", share, SHARE)
    yield equal("quotes that are marked at a wrong place", wrong, 0)


def _lines(words: Sequence[Sequence[float]]) -> list[list[float]]:
    """The boxes of words, those of one line as one, blanks between them included."""
    lines: list[list[float]] = []
    for x0, y0, x1, y1 in words:
        middle = (y0 + y1) / 2
        if lines and lines[-1][1] <= middle <= lines[-1][3] and x1 > lines[-1][0]:
            line = lines[-1]
            lines[-1] = [min(line[0], x0), min(line[1], y0), max(line[2], x1), max(line[3], y1)]
        else:
            lines.append([x0, y0, x1, y1])
    return lines


def _overlap(
    ours: Sequence[Sequence[float]], others: Sequence[Sequence[float]], size: tuple[float, float]
) -> float:
    """Intersection over union of what two sets of boxes cover, in quarters of points."""

    def covered(boxes: Sequence[Sequence[float]]) -> np.ndarray:
        grid = np.zeros((round(size[1] * 4) + 1, round(size[0] * 4) + 1), bool)
        for x0, y0, x1, y1 in boxes:
            grid[round(y0 * 4) : round(y1 * 4), round(x0 * 4) : round(x1 * 4)] = True
        return grid

    left, right = covered(ours), covered(others)
    union = (left | right).sum()
    return float((left & right).sum() / union) if union else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", type=Path, default=REPOSITORY, help="the demo, built or not")
    parser.add_argument("--screenshots", type=Path, help="folder for pictures of the views")
    parser.add_argument("--quotes", type=int, default=200, help="quotes that are placed")
    parser.add_argument("--without-browser", action="store_true", help="compare marks alone")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("RAG_ASSETS_CHROMIUM") or shutil.which("chromium")
    bounds: list[Bound] = []
    with tempfile.TemporaryDirectory() as folder:
        config = copied(options.demo, Path(folder))
        from rag_assets import config as configuration

        bounds += marks(configuration.load(config), options.quotes)
        if options.without_browser or chromium is None:
            print("skipped: the browser (name one in RAG_ASSETS_CHROMIUM)")
        else:
            bounds += browsed(config, chromium, options.screenshots)
    finish("page", bounds)


if __name__ == "__main__":
    main()
