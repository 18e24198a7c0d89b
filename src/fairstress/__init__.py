"""fairstress stress-tests claims of counterfactual fairness against hidden confounding."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairstress.budgets import Pairwise, SingleCause, Spectral
from fairstress.errors import (
    DataError,
    FairstressError,
    FairstressWarning,
    GraphError,
    SettingError,
    Status,
)
from fairstress.options import Predictor, Robust, Search
from fairstress.version import __version__
from fairstress.wording import Wording

if TYPE_CHECKING:
    from fairstress import datasets, results
    from fairstress.audit import Audit
    from fairstress.estimators import CounterfactuallyFairClassifier, CounterfactuallyFairRegressor
    from fairstress.inputs.graph import CausalGraph
    from fairstress.resampling import Bootstrap, ReplicateWeights
    from fairstress.summing import set_threads

__all__ = [
    "Audit",
    "Bootstrap",
    "CausalGraph",
    "CounterfactuallyFairClassifier",
    "CounterfactuallyFairRegressor",
    "DataError",
    "FairstressError",
    "FairstressWarning",
    "GraphError",
    "Pairwise",
    "Predictor",
    "ReplicateWeights",
    "Robust",
    "Search",
    "SettingError",
    "SingleCause",
    "Spectral",
    "Status",
    "Wording",
    "__version__",
    "datasets",
    "results",
    "set_threads",
]

_MODULES = ("datasets", "results")
_LATER = {
    "Audit": "fairstress.audit",  # pandas and numpy, of which a command that only asks for help has no need
    "Bootstrap": "fairstress.resampling",
    "CausalGraph": "fairstress.inputs.graph",
    "CounterfactuallyFairClassifier": "fairstress.estimators",  # scikit-learn takes longer to import than all the rest
    "CounterfactuallyFairRegressor": "fairstress.estimators",
    "ReplicateWeights": "fairstress.resampling",
    "set_threads": "fairstress.summing",
}


def __getattr__(name: str) -> Any:
    """Load what takes time to import when it is asked for."""
    if name in _MODULES:
        return import_module(f"fairstress.{name}")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'fairstress' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
