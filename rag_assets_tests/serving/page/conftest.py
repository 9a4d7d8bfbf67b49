"""One small project that serves: reports, a PDF, a hostile document, and a table."""

import pytest
from starlette.testclient import TestClient

from rag_assets.answering.assistant import AnswerModels
from rag_assets.serving.http.app import app_of
from rag_assets_testing.documents.making import pdf
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh

ATTACK = '<script>alert(1)</script><img src=x onerror="alert(2)">'
GUIDE = """\
# Salt spray

## 2.1 Hours in the chamber

The hinges stay in the chamber for seven hundred hours before anybody looks at them again.
"""
GUIDE_SV = """\
# Saltdimma

## 2.1 Tid i kammaren

Gångjärnen ska vara i kammaren under sju hundra timmar innan någon får titta på dem igen. Därefter
sköljs de i rent vatten och torkas över natten. Protokollet skrivs av den som öppnade kammaren, och
det ska finnas kvar på laboratoriet i minst tio år.
"""
WELDS = "Welds of frame rails meet quality level B."


@pytest.fixture(scope="package")
def made(tmp_path_factory):
    pytest.importorskip("pymupdf")
    made = project.make(tmp_path_factory.mktemp("page") / "project", documents=3, rows=6)
    made.write("attack.md", f"# {ATTACK}\n\nQuibblezorp is a coating. {ATTACK}\n")
    made.write("nhs_3101.md", "# NHS 3101\n\nZorbling takes nine minutes.\n")
    made.write("coats.md", "# Coats\n\nTop coats are zorbled by NHS 3101.\n")
    made.write("guide.md", GUIDE)
    made.write("guide_sv.md", GUIDE_SV)
    pdf(made.documents / "welds.pdf", [f"<p>Scope of this paper. {WELDS} They are ground.</p>"])
    project.age(made.documents / "welds.pdf")
    with hashing():
        refresh(made.config)
    return made


@pytest.fixture(scope="package")
def client(made):
    with (
        hashing(),
        TestClient(
            app_of(made.config, AnswerModels(), user="anna"), base_url="http://localhost"
        ) as client,
    ):
        yield client


@pytest.fixture(scope="package")
def asked(client):
    """Asks, and gives the events as pieces of the page."""

    def ask(question, **fields):
        begun = client.post(
            "/ask", data={"question": question, **fields}, headers={"HX-Request": "true"}
        )
        assert begun.status_code == 200, begun.text
        return events(client.get(begun.text.split('sse-connect="')[1].split('"')[0]).text)

    return ask


def events(text):
    """Name and piece of each server-sent event."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        name = next((line[7:] for line in lines if line.startswith("event: ")), None)
        if name:
            said = "\n".join(line[6:] for line in lines if line.startswith("data: "))
            found.append((name, said))
    return found
