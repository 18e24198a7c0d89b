"""fairstress stress-tests claims of counterfactual fairness against hidden confounding."""

from typing import TYPE_CHECKING, Any

from fairstress import datasets
from fairstress.audit import Audit
from fairstress.errors import FairstressError, FairstressWarning, Status
from fairstress.inputs.graph import CausalGraph
from fairstress.version import __version__

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """Load the estimators when they are asked for: scikit-learn takes longer to import than all the rest."""
    if name in ("CounterfactuallyFairClassifier", "CounterfactuallyFairRegressor"):
        from fairstress import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'fairstress' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
