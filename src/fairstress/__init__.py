"""fairstress stress-tests claims of counterfactual fairness against hidden confounding."""

from fairstress.audit import Audit
from fairstress.errors import FairstressError, FairstressWarning, Status
from fairstress.inputs import datasets
from fairstress.inputs.graph import CausalGraph

__version__ = "0.1.0"
__all__ = ["Audit", "CausalGraph", "FairstressError", "FairstressWarning", "Status", "datasets"]
