"""Networks written here are read by pgmpy and pyAgrum with the same posteriors, and the other way round."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from test_files import ODD, with_random_tables

from profiles import examples
from strategies import networks
from tanager import read_network, write_network


def posteriors(network, evidence):
    """P(every variable | evidence)."""
    return {name: network.posterior(name, evidence) for name in network if name not in evidence}


def some_evidence(network):
    """The last value of the first and of the last variable that have more than one."""
    free = [name for name in network if len(network.values(name)) > 1]
    return {name: network.values(name)[-1] for name in {*free[:1], *free[-1:]}}


# --- pyAgrum: BIF in single precision, XMLBIF exactly --------------------------------------------------------------


def agrum_posteriors(net, evidence):
    gum = pytest.importorskip("pyagrum", reason="compares with pyAgrum")
    engine = gum.LazyPropagation(net)
    engine.setEvidence({name: str(value) for name, value in evidence.items()})
    engine.makeInference()
    return {name: np.array(engine.posterior(name).tolist()) for name in net.names() if name not in evidence}


def assert_same(found, expected, tolerance):
    assert found.keys() == expected.keys()
    for name, cells in expected.items():
        np.testing.assert_allclose(found[name], cells, atol=tolerance)


@pytest.mark.parametrize(("ending", "tolerance"), [(".bifxml", 1e-9), (".bif", 1e-6)])
@examples(10)
@given(network=networks(min_variables=2, min_values=2))
def test_pyagrum_reads_our_files(tmp_path_factory, ending, tolerance, network):
    gum = pytest.importorskip("pyagrum", reason="compares with pyAgrum")
    path = tmp_path_factory.mktemp("n") / f"network{ending}"
    write_network(network, path)
    evidence = some_evidence(network)
    found = agrum_posteriors(gum.loadBN(str(path)), evidence)
    assert_same(found, posteriors(network, evidence), tolerance)


@pytest.mark.parametrize(("ending", "tolerance"), [(".bif", 1e-9), (".bifxml", 1e-5)])
def test_we_read_files_of_pyagrum(tmp_path, ending, tolerance):
    """It writes six digits into XMLBIF."""
    gum = pytest.importorskip("pyagrum", reason="compares with pyAgrum")
    net = gum.fastBN("A{yes|no|maybe}->B[3]->D<-C[1,4]<-A; E->D", 2)
    path = str(tmp_path / f"network{ending}")
    gum.saveBN(net, path)
    network = read_network(path)
    assert {(net.variable(u).name(), net.variable(v).name()) for u, v in net.arcs()} == set(network.arcs)
    evidence = {"D": "1", "C": "2"}
    assert_same(posteriors(network, evidence), agrum_posteriors(net, evidence), tolerance)


@pytest.mark.parametrize("ending", [".bifxml", ".bif"])
def test_pyagrum_reads_names_and_values_of_any_kind(tmp_path, ending):
    gum = pytest.importorskip("pyagrum", reason="compares with pyAgrum")
    network = with_random_tables(ODD.keep([name for name in ODD if "\n" not in name]))
    path = tmp_path / f"odd{ending}"
    write_network(network, path)
    net = gum.loadBN(str(path))
    assert net.size() == len(network)
    found = agrum_posteriors(net, {})
    for name, cells in zip(net.names(), found.values(), strict=True):
        assert len(cells) == net.variable(name).domainSize() == 4
    by_table = sorted(tuple(np.round(cells, 5)) for cells in found.values())
    assert by_table == sorted(tuple(np.round(network.posterior(name), 5)) for name in network)


# --- pgmpy: slow to import and to read, hence one network with all that is odd -------------------------------------


@pytest.fixture(scope="module")
def pgmpy():
    """The parts of pgmpy that are needed; it warns about itself when it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pgmpy", reason="compares with pgmpy")
        import pgmpy.inference
        import pgmpy.readwrite

        return pgmpy


def pgmpy_posteriors(pgmpy, model, evidence):
    engine = pgmpy.inference.VariableElimination(model)
    return {name: engine.query([name], evidence, show_progress=False).values for name in model if name not in evidence}


@pytest.mark.parametrize(("ending", "kind"), [(".bif", "BIF"), (".xml", "XMLBIF")])
def test_pgmpy_reads_our_files_and_we_read_its(pgmpy, tmp_path, ending, kind):
    network = with_random_tables(ODD)
    write_network(network, tmp_path / f"ours{ending}")
    model = getattr(pgmpy.readwrite, f"{kind}Reader")(str(tmp_path / f"ours{ending}")).get_model()
    words = dict(zip(network, model.nodes(), strict=True))  # as the format spells the names
    known = words["a_b"]
    found = pgmpy_posteriors(pgmpy, model, {known: model.get_cpds(known).state_names[known][2]})
    assert_same(found, {words[name]: cells for name, cells in posteriors(network, {"a_b": 2.5}).items()}, 1e-9)

    getattr(pgmpy.readwrite, f"{kind}Writer")(model).write(str(tmp_path / f"theirs{ending}"))
    again = read_network(tmp_path / f"theirs{ending}")
    assert set(again.arcs) == {(words[u], words[v]) for u, v in network.arcs}
    assert_same(posteriors(again, {known: again.values(known)[2]}), found, 1e-9)
