"""The commands in the docs print what the docs say."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
_spec = importlib.util.spec_from_file_location("transcripts", ROOT / "docs" / "commands" / "transcripts.py")
transcripts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(transcripts)


def steady(text):
    """Without what differs from run to run: times, the room that they take in a table, and advice that weighs them."""
    text = re.sub(r"^Take .*$", "(advice)", re.sub(r"^Of tanager's own, .*\n", "", text, flags=re.M), flags=re.M)
    return re.sub(r"[ ]+", " ", re.sub(r"\b\d[\d.,e+]* (ms|s|/s|k/s|M/s)\b", "(time)", text))


@pytest.mark.long  # every command is a process, which takes a second to start; its other tests do without
@pytest.mark.parametrize("page", transcripts.PAGES, ids=lambda page: page.stem)
def test_the_commands_on_a_page_print_what_it_says(page):
    pytest.importorskip("matplotlib", reason="some of the commands draw, which needs the extra 'plot'")
    if page.stem == "convert":
        pytest.importorskip("onnx", reason="one of the commands needs the extra 'onnx'")
    assert steady(transcripts.run_page(page)) == steady(page.read_text()), (
        "the output of a command has changed. Look at it, and if it is right: python docs/commands/transcripts.py"
    )


def test_every_command_has_a_page_with_its_help():
    from tanager.cli.main import COMMANDS

    pages = {page.stem: page.read_text() for page in transcripts.PAGES}
    for name in COMMANDS:
        assert f"$ tanager {name} --help" in pages[name]
        assert pages[name].count("$ tanager") > 1, f"the page of {name} shows no use of it"
        assert f"]({name}.md)" in pages["README"]
