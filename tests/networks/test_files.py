"""Networks in files: our own come back exactly, those of other programs are read, and errors name the line."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import DIAMOND

from strategies import networks
from tanager import ModelFileError, Network, OptionError, read_network, write_network
from tanager.encoding.schema import OTHER
from tanager.networks import bif, dot, files, xmlbif

ENDINGS = [".bif", ".xml", ".json"]

# names and values that no format likes, of all types
ODD = Network(
    {
        "a b": ("(18, 65]", "(65, inf)", "-1", "1.5"),
        "a_b": (1, "1", 2.5, False),
        "A_b": ("yes; no", 'say "so"', "back\\slash", "{brace}"),
        "table": ("default", "table", "type", " spaces "),
        "12": (12, -3, 0.1, 1e300),
        "é = <ü> & ]]>": ("ß1", "a=b", "c//d */ /*", 7),
        "line\nbreak": ("a\tb", "", "\x01", "a\rb"),
        "x, y": (0, 1, 2, OTHER),
    },
    [("a b", "a_b"), ("x, y", "a_b"), ("A_b", "table"), ("é = <ü> & ]]>", "line\nbreak")],
)


def with_random_tables(network, seed=0):
    rng = np.random.default_rng(seed)
    shapes = {name: network.shape(name) for name in network}
    return network.with_tables({name: rng.dirichlet(np.ones(s[-1]), s[:-1]) for name, s in shapes.items()})


def there_and_back(network, path):
    write_network(network, path)
    return read_network(path)


def same_in_all(ours, theirs):
    """Equal, in the same order, and with values of the same types."""
    typed = [[(type(v), v) for v in n.values(name)] for n in (ours, theirs) for name in n]
    return (
        ours == theirs
        and ours.names == theirs.names
        and ours.arcs == theirs.arcs
        and typed[: len(ours)] == typed[len(ours) :]
    )


# --- our own files -------------------------------------------------------------------------------------------------


@given(network=networks())
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_network_comes_back_exactly(tmp_path_factory, ending, network):
    assert same_in_all(there_and_back(network, tmp_path_factory.mktemp("n") / f"network{ending}"), network)


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_and_values_of_any_kind_come_back(tmp_path, ending):
    network = with_random_tables(ODD)
    assert same_in_all(there_and_back(network, tmp_path / f"odd{ending}"), network)


@pytest.mark.parametrize("ending", [*ENDINGS, ".dot"])
def test_a_structure_without_tables_comes_back(tmp_path, ending):
    assert same_in_all(there_and_back(ODD, tmp_path / f"odd{ending}"), ODD)
    partly = DIAMOND.add("A", "D")
    if ending != ".dot":
        assert same_in_all(there_and_back(partly, tmp_path / f"partly{ending}"), partly)


@given(
    names=st.lists(st.text(max_size=4), min_size=2, max_size=4, unique=True),
    values=st.lists(st.text(max_size=3), min_size=2, max_size=4, unique=True),
)
@pytest.mark.parametrize("ending", [*ENDINGS, ".dot"])
def test_any_text_comes_back(tmp_path_factory, ending, names, values):
    network = Network(dict.fromkeys(names, values), [(names[0], names[1])])
    network = network if ending == ".dot" else with_random_tables(network)
    assert same_in_all(there_and_back(network, tmp_path_factory.mktemp("n") / f"network{ending}"), network)


def test_small_numbers_come_back_exactly(tmp_path):
    table = [1e-05, 1 / 3, 0.1, 1 - 1e-05 - 1 / 3 - 0.1]
    network = Network({"A": range(4)}, tables={"A": table})
    for ending in ENDINGS:
        assert there_and_back(network, tmp_path / f"n{ending}").tables["A"].tolist() == table


def test_bif_is_what_others_write():
    assert bif.write(DIAMOND.keep("AB")) == (
        "network unknown {\n}\n"
        'variable A {\n  type discrete [ 2 ] { 0, 1 };\n  property values = "[0, 1]";\n}\n'
        'variable B {\n  type discrete [ 2 ] { 0, 1 };\n  property values = "[0, 1]";\n}\n'
        "probability ( A ) {\n  table 0.5, 0.5;\n}\n"
        "probability ( B | A ) {\n  (0) 0.9, 0.1;\n  (1) 0.19999999999999996, 0.8;\n}\n"
    )


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "network.bif"
    write_network(DIAMOND, path)
    before = path.read_bytes()
    monkeypatch.setitem(files.FORMATS, ".bif", (bif.read, lambda network: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        write_network(DIAMOND.keep("AB"), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["network.bif"]


# --- the dialects of BIF -------------------------------------------------------------------------------------------

BNLEARN = """network unknown {
}
variable smoke {
  type discrete [ 2 ] { yes, no };
}
variable lung {
  type discrete [ 3 ] { none, early stage, >5cm };
}
probability ( smoke ) {
  table 0.25, 0.75;
}
probability ( lung | smoke ) {
  (yes) 0.5, 0.25, 0.25;
  (no) 9.9999e-01, 1e-05, 0;
}
"""

PGMPY = """network unknown {
}
variable lung {
    type discrete [ 3 ] { none, early stage, >5cm };
    property weight = 1 ;
}
variable smoke {
    type discrete [ 2 ] { yes, no };
}
probability ( lung | smoke ) {
    ( yes ) 0.5, 0.25, 0.25;
    ( no ) 0.99999, 1e-05, 0.0;

}
probability ( smoke ) {
    table 0.25, 0.75 ;
}
"""

PYAGRUM = """network "my net" {
// written by aGrUM 3.3.1
}

variable smoke {
   type discrete[2] {yes, no};
}

variable lung {
   type discrete[3] {none, early stage, >5cm};
}

probability (smoke) {
   table 0.25 0.75;
}
probability (lung | smoke) {
   (yes) 0.5 0.25 0.25;
   (no) 0.99999 1e-05 0;
}
"""

JAVABAYES = """// Bayesian network
network "Internal-Network" { //2 variables and 2 probability distributions
\tproperty "credal-set constant-density-bounded 1.1" ;
}
variable  "smoke" { //2 values
\ttype discrete[2] {  "yes"  "no" };
\tproperty "position = (73, 165)" ;
}
variable  "lung" { type discrete[3] {  "none"  "early stage"  ">5cm" }; }
probability (  "smoke" ) { //1 variable(s) and 2 values
\ttable 0.25
 0.75 ;
}
probability (  "lung"  "smoke" ) { /* the child
varies slowest */
\ttable 0.5 0.99999 // p(none | evidence)
\t0.25 0.00001
\t0.25 0;
}
"""


@pytest.mark.parametrize("text", [BNLEARN, PGMPY, PYAGRUM, JAVABAYES], ids=["bnlearn", "pgmpy", "pyagrum", "javabayes"])
def test_all_dialects_of_bif_say_the_same(text):
    network = bif.read(text, "x.bif")
    values = {"smoke": ("yes", "no"), "lung": ("none", "early stage", ">5cm")}
    tables = {"smoke": [0.25, 0.75], "lung": [[0.5, 0.25, 0.25], [0.99999, 1e-05, 0]]}
    assert network == Network(values, [("smoke", "lung")], tables)


def test_a_default_stands_for_all_other_contexts():
    text = """
    network x { } variable A { type discrete [ 2 ] { a, b }; } variable B { type discrete [ 2 ] { c, d }; }
    variable C{type discrete[2]{e,f};} probability(A){default .5,.5;} probability ( B ) { table 0.5 0.5; }
    probability ( C | A , B ) { default 0.1 0.9 ; (b, c) 0.2 0.8; }"""
    network = bif.read(text, "x.bif")
    assert network.tables["C"].tolist() == [[[0.1, 0.9], [0.1, 0.9]], [[0.2, 0.8], [0.1, 0.9]]]


def test_values_with_commas_and_brackets_are_told_apart_by_what_was_declared():
    text = """network x {
}
variable age {
  type discrete [ 2 ] { "(18, 65]", "(65, inf)" };
}
variable B {
  type discrete [ 2 ] { c, d };
}
probability ( age ) {
  table 0.5, 0.5;
}
probability ( B | age ) {
  ("(65, inf)") 0.1, 0.9;
  ((18, 65]) 0.3, 0.7;
}
"""
    network = bif.read(text, "x.bif")
    assert network.values("age") == ("(18, 65]", "(65, inf)")
    assert network.tables["B"].tolist() == [[0.3, 0.7], [0.1, 0.9]]


def test_rounded_numbers_are_made_to_sum_to_one_and_others_are_refused():
    text = BNLEARN.replace("0.5, 0.25, 0.25", "0.33, 0.33, 0.33")
    assert bif.read(text, "x.bif").tables["lung"][0].tolist() == pytest.approx([1 / 3] * 3)
    with pytest.raises(
        ModelFileError, match=r"^x, line 12: the table of P\(lung \| smoke\) .* sum to 0\.9 given smoke"
    ):
        bif.read(BNLEARN.replace("0.5, 0.25, 0.25", "0.4, 0.25, 0.25"), "x")


BAD_BIF = {
    "no variable": ("", "x, line 1: no variable is declared. Is this a BIF file?"),
    "another format": ("<xml>\n</xml>", "x, line 1: expected a block 'network', 'variable' or 'probability' with its"),
    "cut short": (BNLEARN[:-40], "x, line 13: expected numbers and ';', found '0.5, 0.2'."),
    "cut in a block": (BNLEARN[:60], "x, line 4: expected 'type discrete [ n ] { values };' of the variable 'smoke'"),
    "wrong number of values": (
        BNLEARN.replace("[ 3 ]", "[ 4 ]"),
        "x, line 6: the variable 'lung' has 3 values, expected the 4 it declares.",
    ),
    "numbers": (
        BNLEARN.replace("type discrete [ 2 ]", "type continuous [ 2 ]"),
        "x, line 3: the variable 'smoke' is cont",
    ),
    "a word among numbers": (
        BNLEARN.replace("1e-05", "tiny"),
        "x, line 14: expected a number in the row (no) of 'lung', found 'tiny'.",
    ),
    "too few numbers": (
        BNLEARN.replace("0.25, 0.75", "0.25"),
        "x, line 10: the table of 'smoke' has 1 numbers, expected 2.",
    ),
    "unknown parent": (
        BNLEARN.replace("| smoke", "| smokes"),
        "x, line 12: 'smokes' is not declared as a variable. Did you mean 'smoke'?",
    ),
    "unknown value": (
        BNLEARN.replace("(no)", "(never)"),
        "x, line 14: expected values of smoke in brackets, found '(never)",
    ),
    "a row missing": (
        BNLEARN.replace("  (no) 9.9999e-01, 1e-05, 0;\n", ""),
        "x, line 12: there are no probabilities of 'lung' given smoke = no.",
    ),
    "a row twice": (BNLEARN.replace("(no)", "(yes)"), "x, line 14: the row (yes) of 'lung' is given twice."),
    "a variable twice": (
        BNLEARN.replace("variable lung", "variable smoke"),
        "x, line 6: the variable 'smoke' is declared twice.",
    ),
    "a value twice": (
        BNLEARN.replace("yes, no", "no, no"),
        "x, line 3: the variable 'smoke' has a duplicate value: no, no.",
    ),
    "a table twice": (
        BNLEARN.replace("( lung | smoke )", "( smoke )"),
        "x, line 12: the probabilities of 'smoke' are given twice, first in line 9.",
    ),
    "a cycle": (
        BNLEARN.replace("( smoke )", "( smoke | lung )").replace("table 0.25, 0.75;", "default 0.25, 0.75;"),
        "x: the arcs close the cycle smoke -> lung -> smoke.",
    ),
    "below zero": (
        BNLEARN.replace("0.25, 0.75", "-0.25, 1.25"),
        "x, line 9: the table of P(smoke) must hold probabilities",
    ),
    "no brackets": (
        BNLEARN.replace("( smoke )", "smoke"),
        "x, line 9: expected ( variable | parents ) after 'probability', found 'smoke'.",
    ),
    "another statement": (
        BNLEARN.replace("table", "tabel"),
        "x, line 10: expected 'table', 'default', a row '(values) numbers;' or '}', found 'tabel",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD_BIF.values(), ids=BAD_BIF)
def test_a_bif_file_that_cannot_be_read_is_refused_with_its_line(text, message):
    with pytest.raises(ModelFileError) as error:
        bif.read(text, "x")
    assert str(error.value).startswith(message)


def test_a_few_words_cannot_ask_for_all_memory():
    variables = "".join(f"variable v{i} {{ type discrete [ 4 ] {{ a, b, c, d }}; }}\n" for i in range(30))
    text = variables + f"probability ( v0 | {', '.join(f'v{i}' for i in range(1, 30))} ) {{ default 1 0 0 0; }}"
    with pytest.raises(ModelFileError, match=r"the table of 'v0' has 1\.15e\+18 cells; at most 100,000,000 are read"):
        bif.read(text, "x")


# --- XMLBIF --------------------------------------------------------------------------------------------------------

WEKA = """<?xml version="1.0"?>
<!-- DTD for the XMLBIF 0.3 format -->
<!DOCTYPE BIF [
\t<!ELEMENT BIF ( NETWORK )*>
\t      <!ATTLIST BIF VERSION CDATA #REQUIRED>
\t<!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
\t<!ELEMENT NAME (#PCDATA)>
\t<!ELEMENT VARIABLE ( NAME, ( OUTCOME |  PROPERTY )* ) >
\t      <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
\t<!ELEMENT OUTCOME (#PCDATA)>
\t<!ELEMENT DEFINITION ( FOR | GIVEN | TABLE | PROPERTY )* >
\t<!ELEMENT FOR (#PCDATA)>
\t<!ELEMENT GIVEN (#PCDATA)>
\t<!ELEMENT TABLE (#PCDATA)>
\t<!ELEMENT PROPERTY (#PCDATA)>
]>


<BIF VERSION="0.3">
<NETWORK>
<NAME>lung-weka.filters</NAME>
<VARIABLE TYPE="nature">
<NAME>smoke</NAME>
<OUTCOME>yes</OUTCOME>
<OUTCOME>no</OUTCOME>
<PROPERTY>position = (0,0)</PROPERTY>
</VARIABLE>
<VARIABLE TYPE="nature">
<NAME>lung</NAME>
<OUTCOME>none</OUTCOME>
<OUTCOME>early stage</OUTCOME>
<OUTCOME>&gt;5cm</OUTCOME>
<PROPERTY>position = (0,100)</PROPERTY>
</VARIABLE>
<DEFINITION>
<FOR>smoke</FOR>
<TABLE>
0.25 0.75\x20
</TABLE>
</DEFINITION>
<DEFINITION>
<FOR>lung</FOR>
<GIVEN>smoke</GIVEN>
<TABLE>
0.5 0.25 0.25\x20
0.99999 1.0E-5 0.0\x20
</TABLE>
</DEFINITION>
</NETWORK>
</BIF>
"""


def test_a_file_of_weka_is_read():
    assert xmlbif.read(WEKA.encode(), "x") == bif.read(BNLEARN, "x")


BAD_XML = {
    "no xml": ("network unknown {", "x, line 1: this is not well-formed XML: syntax error."),
    "cut short": (WEKA[:900], "x, line 32: this is not well-formed XML: unclosed token."),
    "another document": (
        "<html><body/></html>",
        "x, line 1: expected <BIF> with one <NETWORK> in it, found <HTML> with 0.",
    ),
    "an entity": (
        WEKA.replace("]>", '<!ENTITY a "b">]>', 1),
        "x, line 16: the document defines entities, which are not",
    ),
    "a file as entity": (
        WEKA.replace("]>", '<!ENTITY a SYSTEM "file:///etc/passwd">]>', 1).replace("yes", "&a;"),
        "x, line 16: the document defines entities",
    ),
    "an unknown entity": (WEKA.replace("yes", "&a;"), "x, line 24: this is not well-formed XML: undefined entity."),
    "a decision": (
        WEKA.replace('TYPE="nature"', 'TYPE="decision"'),
        "x, line 22: the variable 'smoke' has the type 'decision'",
    ),
    "no name": (WEKA.replace("<NAME>smoke</NAME>", ""), "x, line 22: expected one <NAME> in <VARIABLE>, found 0."),
    "too few numbers": (WEKA.replace("0.25 0.75", "1"), "x, line 37: the table of 'smoke' has 1 numbers, expected 2."),
    "too deep": ("<a>" * 30 + "</a>" * 30, "x, line 1: elements are nested more than 20 deep."),
}


@pytest.mark.parametrize(("text", "message"), BAD_XML.values(), ids=BAD_XML)
def test_an_xml_file_that_cannot_be_read_is_refused_with_its_line(text, message):
    with pytest.raises(ModelFileError) as error:
        xmlbif.read(text.encode(), "x")
    assert str(error.value).startswith(message)


def test_a_document_type_elsewhere_is_not_fetched():
    text = (
        WEKA[: WEKA.index("<!DOCTYPE")]
        + '<!DOCTYPE BIF SYSTEM "http://localhost:9/no.dtd">'
        + WEKA[WEKA.index("\n\n\n<BIF") :]
    )
    assert xmlbif.read(text.encode(), "x").names == ("smoke", "lung")


# --- JSON and DOT --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "is not a network: JSONDecodeError"),
        ("[1]", "is not a network: TypeError"),
        ("{}", "is not a network: KeyError: 'variables'"),
        ("[" * 100_000, "is not a network: RecursionError"),
        (json.dumps({"variables": [{"name": "A", "values": [[1]], "parents": []}]}), ": values must be text, numbers"),
        (json.dumps({"variables": [{"name": "A", "values": ["a"], "parents": ["B"]}]}), ": there is no variable 'B'"),
        (
            json.dumps({"variables": [{"name": "A", "values": ["a"], "parents": [], "table": [[1], [2, 3]]}]}),
            "of numbers",
        ),
    ],
)
def test_json_of_something_else_is_refused(tmp_path, data, message):
    path = tmp_path / "x.json"
    path.write_text(data)
    with pytest.raises(ModelFileError) as error:
        read_network(path)
    assert message in str(error.value)
    assert "x.json" in str(error.value)


def test_arcs_drawn_by_hand_are_read():
    text = """strict digraph "my net" { // by hand
        rankdir = LR; node [shape=box, style="filled"]; edge [color=red]
        smoke -> { lung; "heart disease" } -> tired [label="why"];
        subgraph cluster_1 { label=rest; age; 12 }   # alone
        age:s -> smoke:n; /* comment
        */ }"""
    network = dot.read(text, "x")
    assert network.names == ("smoke", "lung", "heart disease", "tired", "age", "12")
    assert set(network.arcs) == {
        ("smoke", "lung"),
        ("smoke", "heart disease"),
        ("lung", "tired"),
        ("heart disease", "tired"),
        ("age", "smoke"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "x, line 1: expected 'digraph', found 'graph'."),
        ("digraph {\n a -- b }", "x, line 2: found an undirected edge, --; a network has arcs, ->."),
        ("digraph {\n a -> b -> a }", "x: the arcs close the cycle a -> b -> a."),
        ("digraph {\n a -> ", "x, line 2: expected a variable, but the file ends."),
        ("digraph {\n a -> <b> }", "x, line 2: expected a word of DOT, found '<b>'."),
        ('digraph {\n a [values="{}"] }', "x, line 2: the values of 'a' must be a JSON list"),
        ("digraph " + "{" * 30, "x, line 1: braces are nested more than 20 deep."),
    ],
)
def test_a_drawing_that_is_no_network_is_refused_with_its_line(text, message):
    with pytest.raises(ModelFileError) as error:
        dot.read(text, "x")
    assert str(error.value).startswith(message)


# --- at the door ---------------------------------------------------------------------------------------------------


def test_endings_and_names_are_checked(tmp_path):
    with pytest.raises(OptionError, match=r"'x\.net' is not that of a network format\. Use one of \.bif, \.xml"):
        read_network("x.net")
    with pytest.raises(OptionError, match="is not that of a network format"):
        write_network(DIAMOND, tmp_path / "diamond")
    with pytest.raises(FileNotFoundError, match="there is no network file"):
        read_network(tmp_path / "no.bif")
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(ModelFileError, match="is a folder"):
        read_network(tmp_path / "folder.bif")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_network(DIAMOND, tmp_path / "no" / "x.bif")


def test_a_file_in_latin_1_is_read(tmp_path):
    path = tmp_path / "x.bif"
    path.write_bytes(BNLEARN.replace("smoke", "fumée").encode("latin-1"))
    assert read_network(path).names == ("fumée", "lung")
