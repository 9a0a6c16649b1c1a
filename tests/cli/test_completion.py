"""The shell completes commands, options, files and names of models."""

import shutil
import subprocess

import click
import pytest
from click.shell_completion import BashComplete

from tanager.cli.main import COMMANDS, main


def proposals(*words):
    """What is proposed for the last word: (kind, value) pairs."""
    found = BashComplete(main, {}, "tanager", "_TANAGER_COMPLETE").get_completions([*words[:-1]], words[-1])
    return {(item.type, item.value) for item in found}


def test_commands_and_options_are_proposed():
    assert proposals("un") == {("plain", "unlearn")}
    assert ("plain", "--model") in proposals("fit", "--mo")
    assert {value for _kind, value in proposals("")} == set(COMMANDS)


def test_models_and_generators_are_proposed_by_name():
    assert {("plain", "tan"), ("plain", "tc")} <= proposals("fit", "--model", "t")
    assert ("plain", "nb,tan") in proposals("compare", "--models", "nb,ta")
    assert ("plain", "stagger") in proposals("generate", "st")


@pytest.mark.parametrize(
    "words", [("fit", "da"), ("predict", "m.tanager", "da"), ("fit", "-o", "mo"), ("serve", "m"), ("convert", "i", "o")]
)
def test_files_are_left_to_the_shell(words):
    assert proposals(*words) == {("file", words[-1])}


def test_what_is_no_file_is_not_taken_for_one():
    assert proposals("datasets", "ir") == proposals("explain", "m.tanager", "{") == set()


def test_every_command_can_be_asked_what_follows():
    for name in COMMANDS:
        assert ("plain", "--help") in proposals(name, "--he")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one(shell, tmp_path):
    source = click.shell_completion.get_completion_class(shell)(main, {}, "tanager", "_TANAGER_COMPLETE").source()
    assert "_TANAGER_COMPLETE" in source
    if shutil.which(shell):
        (tmp_path / "script").write_text(source)
        assert subprocess.run([shell, "-n", "script"], cwd=tmp_path).returncode == 0
