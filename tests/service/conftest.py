"""A service over one small model, and ``ask`` to speak with it."""

import pytest
from serving import Asker, close, make_service, write_model


@pytest.fixture
def model_file(tmp_path):
    return write_model(tmp_path / "pets.tanager")


@pytest.fixture
def services():
    """Makes services that are closed in the end."""
    made = []

    def make(*paths, **options):
        made.append(make_service(*paths, **options))
        return made[-1]

    yield make
    for service in made:
        close(service)


@pytest.fixture
def service(services, model_file):
    return services(model_file)


@pytest.fixture
def ask(service):
    return Asker(service)
