"""Every result type: the records that an audit's methods give, importable for type hints and `isinstance`."""

from fairstress.analyses.bands.limits import Estimate, Replication
from fairstress.analyses.benchmarks.result import Benchmark, Benchmarks
from fairstress.analyses.benchmarks.strength import HiddenCause
from fairstress.analyses.cause_contour import CauseContour
from fairstress.analyses.certificate import Certificate
from fairstress.analyses.check import Check, Finding, Verdict
from fairstress.analyses.contour import Contour
from fairstress.analyses.curve import BreakingPoint, Curve
from fairstress.analyses.decisions import Decisions, Extreme
from fairstress.analyses.diagnostics.finding import Diagnostic
from fairstress.analyses.diagnostics.influence import Influence
from fairstress.analyses.diagnostics.result import Diagnostics
from fairstress.analyses.people import People
from fairstress.analyses.plausibility import FeaturePlausibility, Plausibility
from fairstress.analyses.profile import Profile
from fairstress.analyses.robust.cuts import RobustPredictor
from fairstress.analyses.robust.frontier import BaselinePoint, Frontier
from fairstress.analyses.specification import Comparison, SpecificationCheck
from fairstress.analyses.worst_case import WorstCase
from fairstress.claim.claim import Baseline, Context
from fairstress.claim.evaluate import Functional
from fairstress.claim.spec import Settings
from fairstress.model.named import StructuralModel
from fairstress.report.data import Level, PairAlone, ReportData

__all__ = [
    "Baseline",
    "BaselinePoint",
    "Benchmark",
    "Benchmarks",
    "BreakingPoint",
    "CauseContour",
    "Certificate",
    "Check",
    "Comparison",
    "Context",
    "Contour",
    "Curve",
    "Decisions",
    "Diagnostic",
    "Diagnostics",
    "Estimate",
    "Extreme",
    "FeaturePlausibility",
    "Finding",
    "Frontier",
    "Functional",
    "HiddenCause",
    "Influence",
    "Level",
    "PairAlone",
    "People",
    "Plausibility",
    "Profile",
    "Replication",
    "ReportData",
    "RobustPredictor",
    "Settings",
    "SpecificationCheck",
    "StructuralModel",
    "Verdict",
    "WorstCase",
]
