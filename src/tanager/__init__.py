"""tanager: Bayesian network classifiers that learn from a table, a stream or a cluster."""

from tanager.classifiers.a2de import A2DE
from tanager.classifiers.aode import AODE
from tanager.classifiers.best import BestOf
from tanager.classifiers.collection import Collection
from tanager.classifiers.fanc import FANC
from tanager.classifiers.hidden import HNB
from tanager.classifiers.kdb import KDB
from tanager.classifiers.naive import NaiveBayes
from tanager.classifiers.spc import SPC
from tanager.classifiers.spode import SPODE
from tanager.classifiers.superparent import SuperParentTAN
from tanager.classifiers.tan import FAN, TAN
from tanager.classifiers.tc import TC
from tanager.classifiers.waode import WAODE
from tanager.counts.estimates import BackOff, BDeu, Lidstone, MEstimate, PriorCounts
from tanager.counts.joint import JointCounts
from tanager.encoding import Column, Encoder, Schema
from tanager.errors import DataError, DataWarning, MemoryBudgetError, ModelFileError, OptionError, SchemaMismatch
from tanager.persist import load, save

__version__ = "0.1.0"


__all__ = [
    "A2DE",
    "AODE",
    "FAN",
    "FANC",
    "HNB",
    "KDB",
    "SPC",
    "SPODE",
    "TAN",
    "TC",
    "WAODE",
    "BDeu",
    "BackOff",
    "BestOf",
    "Collection",
    "Column",
    "DataError",
    "DataWarning",
    "Encoder",
    "JointCounts",
    "Lidstone",
    "MEstimate",
    "MemoryBudgetError",
    "ModelFileError",
    "NaiveBayes",
    "OptionError",
    "PriorCounts",
    "Schema",
    "SchemaMismatch",
    "SuperParentTAN",
    "load",
    "save",
]
