"""One built project and one app for all tests of HTTP."""

import pytest
from starlette.testclient import TestClient

from rag_assets import config as configuration
from rag_assets.answering.assistant import AnswerModels
from rag_assets.serving.http.app import app_of
from rag_assets.store import Store, serving_pointer
from rag_assets_tests.answering import project

LOCALHOST = "http://localhost:8000"


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("http")
    project.built(folder)
    return folder


@pytest.fixture(scope="session")
def app(home):
    return app_of(configuration.load(home / "rag_assets.yaml"), AnswerModels(), user="anna")


@pytest.fixture(scope="session")
def client(app):
    with TestClient(app, base_url=LOCALHOST, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def service(app):
    return app.state.service


@pytest.fixture
def get(client):
    def get(path, **query):
        reply = client.get(f"/v1/{path}", params=query)
        assert reply.status_code == 200, reply.text
        return reply.json()

    return get


@pytest.fixture
def post(client):
    def post(path, status=200, **body):
        reply = client.post(f"/v1/{path}", json=body)
        assert reply.status_code == status, reply.text
        return reply.json()

    return post


@pytest.fixture
def moved(home):
    """Moves the pointer to another number, and back when the test is over."""
    store = Store.of(configuration.load(home / "rag_assets.yaml"))
    file = store.root / "serving" / "current.json"
    before = file.read_bytes()

    def move():
        pointer = serving_pointer.current(store)
        serving_pointer.move(store, pointer, after=pointer.number)

    yield move
    file.write_bytes(before)
