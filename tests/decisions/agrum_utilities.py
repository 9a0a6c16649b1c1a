"""Diagrams on stdin, as ``to_dict`` writes them; their largest expected utilities by pyAgrum on stdout.

A process of its own: pyAgrum 3.3 crashes where other packages are loaded before it makes an influence diagram.
"""

import json
import sys


def diagram_of(gum, data):
    """The same diagram, arc by arc and cell by cell."""
    diagram = gum.InfluenceDiagram()
    add = {"chance": diagram.addChanceNode, "decision": diagram.addDecisionNode, "utility": diagram.addUtilityNode}
    for node in data["nodes"]:
        values = [str(value) for value in node.get("values", ["value"])]
        add[node["kind"]](gum.LabelizedVariable(node["name"], node["name"], values))
    for node in data["nodes"]:
        for parent in node["parents"]:
            diagram.addArc(parent, node["name"])
    for node in data["nodes"]:
        if "table" in node:
            utility = node["kind"] == "utility"
            cells = diagram.utility(node["name"]) if utility else diagram.cpt(node["name"])
            fill(cells, node["parents"], node["table"], {}, utility)
    return diagram


def fill(cells, parents, table, where, utility):
    if parents:
        for v, part in enumerate(table):
            fill(cells, parents[1:], part, {**where, parents[0]: v}, utility)
    else:
        row = [table] if utility else table
        if where:
            cells[where] = row
        else:
            cells[:] = row


def utility_of(gum, data):
    """Nothing is forgotten. None where pyAgrum gives up: it does not take every diagram."""
    try:
        engine = gum.ShaferShenoyLIMIDInference(diagram_of(gum, data))
        engine.addNoForgettingAssumption(data["order"])
        engine.makeInference()
        return engine.MEU()["mean"]
    except gum.GumException:
        return None


if __name__ == "__main__":
    import pyagrum  # not above: collecting tests would load it

    print(json.dumps([utility_of(pyagrum, data) for data in json.load(sys.stdin)]))
