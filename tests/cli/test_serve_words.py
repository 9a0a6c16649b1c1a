"""The words of ``tanager serve``: slips are told in one line, before anything is started."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="serving needs the extra 'serve'")


def test_a_file_that_is_not_there_is_told(refused, fitted):
    assert refused("serve", "irs.tanager") == (
        "tanager serve: there is no file 'irs.tanager'. Check the name and the folder. Did you mean 'iris.tanager'?"
    )


def test_two_models_of_one_name_are_refused(refused, fitted):
    Path("more").mkdir()
    Path("more/iris.tanager").write_bytes(Path(fitted).read_bytes())
    assert "two of the models have the name 'iris'" in refused("serve", fitted, "more/iris.tanager")


def test_what_is_no_model_is_refused(refused, iris):
    assert "iris.csv" in refused("serve", iris, "--port", 0)


def test_a_port_in_use_is_told(refused, fitted):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused("serve", fitted, "--port", port)
    assert f"cannot listen at 127.0.0.1, port {port}: address already in use." in said
    assert "--port" in said


def test_an_address_of_another_machine_is_told(refused, fitted):
    assert "cannot listen at 192.0.2.1" in refused("serve", fitted, "--host", "192.0.2.1", "--port", 0)


def test_an_empty_token_is_refused(refused, fitted, monkeypatch):
    Path("token.txt").write_text("\n")
    assert "the token must be" in refused("serve", fitted, "--token-file", "token.txt")
    monkeypatch.setenv("TANAGER_TOKEN", "two words")
    assert "the token must be" in refused("serve", fitted)


def test_without_the_extra_one_sentence_says_how_to_get_it(refused, fitted, monkeypatch):
    monkeypatch.setattr("tanager.cli.serve.NEEDED", ("no_such_package",))
    assert refused("serve", fitted).endswith('Run: pip install "tanager[serve]"')


def test_the_words_are_read_without_the_packages_of_the_service():
    code = "import sys, tanager.cli.serve; print(*{'starlette', 'uvicorn', 'msgspec', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "\n"
