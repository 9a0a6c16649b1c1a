"""A network of realistic size: the structure of ALARM, with tables drawn by a seed.

ALARM monitors patients under anaesthesia: 37 variables of 2 to 4 values, 46 arcs, 509 free parameters (Beinlich,
Suermondt, Chavez and Cooper, 1989). Arcs and values are as published; the numbers are not, so answers mean nothing.
"""

from __future__ import annotations

import numpy as np

from tanager import Network

# name: values, parents
ALARM = {
    "HISTORY": (2, "LVFAILURE"),
    "CVP": (3, "LVEDVOLUME"),
    "PCWP": (3, "LVEDVOLUME"),
    "HYPOVOLEMIA": (2, ""),
    "LVEDVOLUME": (3, "HYPOVOLEMIA LVFAILURE"),
    "LVFAILURE": (2, ""),
    "STROKEVOLUME": (3, "HYPOVOLEMIA LVFAILURE"),
    "ERRLOWOUTPUT": (2, ""),
    "HRBP": (3, "ERRLOWOUTPUT HR"),
    "HREKG": (3, "ERRCAUTER HR"),
    "ERRCAUTER": (2, ""),
    "HRSAT": (3, "ERRCAUTER HR"),
    "INSUFFANESTH": (2, ""),
    "ANAPHYLAXIS": (2, ""),
    "TPR": (3, "ANAPHYLAXIS"),
    "EXPCO2": (4, "ARTCO2 VENTLUNG"),
    "KINKEDTUBE": (2, ""),
    "MINVOL": (4, "INTUBATION VENTLUNG"),
    "FIO2": (2, ""),
    "PVSAT": (3, "FIO2 VENTALV"),
    "SAO2": (3, "PVSAT SHUNT"),
    "PAP": (3, "PULMEMBOLUS"),
    "PULMEMBOLUS": (2, ""),
    "SHUNT": (2, "INTUBATION PULMEMBOLUS"),
    "INTUBATION": (3, ""),
    "PRESS": (4, "INTUBATION KINKEDTUBE VENTTUBE"),
    "DISCONNECT": (2, ""),
    "MINVOLSET": (3, ""),
    "VENTMACH": (4, "MINVOLSET"),
    "VENTTUBE": (4, "DISCONNECT VENTMACH"),
    "VENTLUNG": (4, "INTUBATION KINKEDTUBE VENTTUBE"),
    "VENTALV": (4, "INTUBATION VENTLUNG"),
    "ARTCO2": (3, "VENTALV"),
    "CATECHOL": (2, "ARTCO2 INSUFFANESTH SAO2 TPR"),
    "HR": (3, "CATECHOL"),
    "CO": (3, "HR STROKEVOLUME"),
    "BP": (3, "CO TPR"),
}


def alarm(seed: int = 0) -> Network:
    """The network; each row of a table is drawn evenly from all distributions."""
    arcs = [(parent, name) for name, (_, parents) in ALARM.items() for parent in parents.split()]
    network = Network({name: range(n) for name, (n, _) in ALARM.items()}, arcs)
    rng = np.random.default_rng(seed)
    shapes = {name: network.shape(name) for name in network}
    return network.with_tables({name: rng.dirichlet(np.ones(s[-1]), s[:-1]) for name, s in shapes.items()})
