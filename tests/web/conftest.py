import pytest


@pytest.fixture(scope="session")
def make_client():
    """make_client(**of make_app): a client of a new application."""
    pytest.importorskip("starlette", reason="needs starlette: pip install audamir-envs[web]")
    from web.asgi import Client

    from audamir_envs.web.app import make_app
    from audamir_envs.web.thinking import Levels

    clients = []

    def make(levels=None, **named):
        clients.append(Client(make_app(8000, levels or Levels(), **named)))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def client(make_client):
    return make_client()
