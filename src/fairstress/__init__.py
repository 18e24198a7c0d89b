"""fairstress stress-tests claims of counterfactual fairness against hidden confounding."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairstress.errors import FairstressError, FairstressWarning, Status
from fairstress.inputs.graph import CausalGraph
from fairstress.version import __version__

if TYPE_CHECKING:
    from fairstress import datasets
    from fairstress.audit import Audit
    from fairstress.estimators import CounterfactuallyFairClassifier, CounterfactuallyFairRegressor

__all__ = [
    "Audit",
    "CausalGraph",
    "CounterfactuallyFairClassifier",
    "CounterfactuallyFairRegressor",
    "FairstressError",
    "FairstressWarning",
    "Status",
    "__version__",
    "datasets",
]

_LATER = {
    "Audit": "fairstress.audit",
    "CounterfactuallyFairClassifier": "fairstress.estimators",  # scikit-learn takes longer to import than all the rest
    "CounterfactuallyFairRegressor": "fairstress.estimators",
}


def __getattr__(name: str) -> Any:
    """Load what takes time to import when it is asked for."""
    if name == "datasets":
        return import_module("fairstress.datasets")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'fairstress' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
