# The public names and where they live. `__init__.py` reads this file, and imports a name when it is first asked for.

from tanager.classifiers.a2de import A2DE as A2DE
from tanager.classifiers.aode import AODE as AODE
from tanager.classifiers.ban import BAN as BAN
from tanager.classifiers.best import BestOf as BestOf
from tanager.classifiers.collection import Collection as Collection
from tanager.classifiers.drawn import NetworkClassifier as NetworkClassifier
from tanager.classifiers.fanc import FANC as FANC
from tanager.classifiers.general import GeneralNetwork as GeneralNetwork
from tanager.classifiers.hidden import HNB as HNB
from tanager.classifiers.kdb import KDB as KDB
from tanager.classifiers.multinet import ChowLiuMultiNet as ChowLiuMultiNet
from tanager.classifiers.multinet import MultiNet as MultiNet
from tanager.classifiers.naive import NaiveBayes as NaiveBayes
from tanager.classifiers.selective_kdb import SelectiveKDB as SelectiveKDB
from tanager.classifiers.spc import SPC as SPC
from tanager.classifiers.spode import SPODE as SPODE
from tanager.classifiers.superparent import SuperParentTAN as SuperParentTAN
from tanager.classifiers.tan import FAN as FAN
from tanager.classifiers.tan import TAN as TAN
from tanager.classifiers.tc import TC as TC
from tanager.classifiers.waode import WAODE as WAODE
from tanager.classifiers.wrapped import Wrapped as Wrapped
from tanager.counts.estimates import BackOff as BackOff
from tanager.counts.estimates import BDeu as BDeu
from tanager.counts.estimates import Lidstone as Lidstone
from tanager.counts.estimates import MEstimate as MEstimate
from tanager.counts.estimates import PriorCounts as PriorCounts
from tanager.counts.joint import JointCounts as JointCounts
from tanager.counts.sample import Sample as Sample
from tanager.encoding import Column as Column
from tanager.encoding import Encoder as Encoder
from tanager.encoding import Schema as Schema
from tanager.errors import DataError as DataError
from tanager.errors import DataWarning as DataWarning
from tanager.errors import MemoryBudgetError as MemoryBudgetError
from tanager.errors import ModelFileError as ModelFileError
from tanager.errors import OptionError as OptionError
from tanager.errors import SchemaMismatch as SchemaMismatch
from tanager.networks.files import read_network as read_network
from tanager.networks.files import write_network as write_network
from tanager.networks.network import Network as Network
from tanager.persist import load as load
from tanager.persist import save as save
from tanager.plot import network_text as network_text
from tanager.plot import plot_network as plot_network
from tanager.structure.cbl import CBL as CBL
from tanager.structure.chow_liu import ChowLiu as ChowLiu
from tanager.structure.hill_climb import HillClimb as HillClimb
from tanager.structure.k2 import K2 as K2
from tanager.structure.learn import learn_network as learn_network
from tanager.structure.tests import GSquared as GSquared
from tanager.structure.tests import Pearson as Pearson
from tanager.structure.tests import Threshold as Threshold

__version__: str
__all__: list[str]
