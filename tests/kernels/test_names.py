"""Types of one name in two files corrupt memory without a word from compiler or linker; so names are looked at here."""

import re
from collections import defaultdict
from pathlib import Path

KERNELS = Path(__file__).parents[2] / "src" / "kernels"
SCOPE = re.compile(
    r"^(?:namespace(?P<opened> [\w:]+)? \{|\}  // namespace.*|(?:struct|class) (?P<type>\w+(?:::\w+)*)[^;]*\{)",
    re.MULTILINE,
)


def shared_types(source):
    """Types that other files can see, with the namespaces around them."""
    scopes, found = [], []
    for match in SCOPE.finditer(source):
        if match["type"]:
            if "" not in scopes:
                found.append("::".join([*scopes, match["type"]]))
        elif match[0].startswith("}"):
            scopes.pop()
        else:
            scopes.append((match["opened"] or "").strip())
    return found


def test_the_search_sees_namespaces():
    lines = (
        "namespace a {",
        "namespace {",
        "struct Own {",
        "};",
        "}  // namespace",
        "struct B : C {",
        "};",
        "class D;",
    )
    source = "\n".join([*lines, "}  // namespace a"])
    assert shared_types(source) == ["a::B"]


def test_no_two_files_have_a_type_of_one_name():
    places = defaultdict(set)
    for path in sorted(KERNELS.glob("*.?pp")):
        for name in shared_types(path.read_text()):
            places[name].add(path.name)
    assert len(places) > 50
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
