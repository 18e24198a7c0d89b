"""fairstress stress-tests claims of counterfactual fairness against hidden confounding."""

from fairstress import datasets
from fairstress.audit import Audit
from fairstress.errors import FairstressError, FairstressWarning, Status
from fairstress.inputs.graph import CausalGraph
from fairstress.version import __version__

__all__ = ["Audit", "CausalGraph", "FairstressError", "FairstressWarning", "Status", "__version__", "datasets"]
