"""PyTorch modules as predictors, with slopes by automatic differentiation. PyTorch is loaded by whoever brings one."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstress.errors import SettingError
from fairstress.inputs.rows import Array


def is_module(predictor: Any) -> bool:
    """Whether something is a ``torch.nn.Module``, found out without loading PyTorch."""
    return any((c.__module__, c.__name__) == ("torch.nn.modules.module", "Module") for c in type(predictor).__mro__)


def check_module(module: Any) -> None:
    """Refuse a module that would answer differently each time."""
    if any(part.training for part in module.modules()):
        raise SettingError(
            "predictor is a PyTorch module, or has one, in training mode, in which dropout and batch norms depend on "
            "chance and on the batch: call its eval() first"
        )


def call_module(module: Any, Z: Array) -> Array:
    """The module's outputs for inputs (r, p)."""
    import torch

    with torch.no_grad():
        return np.asarray(module(_tensor(module, Z)).double().cpu().numpy())


def module_slopes(module: Any, Z: Array) -> tuple[Array, Array]:
    """The outputs for inputs (r, p), and the derivative of each by its own inputs, as (r, p)."""
    import torch

    tensor = _tensor(module, Z).requires_grad_(True)
    with torch.enable_grad():
        out = module(tensor.clone())  # of which a module may make what it likes, in place
        if not out.requires_grad:
            raise SettingError(
                f"predictor {type(module).__name__} gives numbers that PyTorch cannot differentiate by its inputs, as "
                "steps or detached tensors are: give gradient='none'"
            )
        (slopes,) = torch.autograd.grad(out.sum(), tensor, materialize_grads=True)
    return np.asarray(out.detach().double().cpu().numpy()), np.asarray(slopes.double().cpu().numpy())


def _tensor(module: Any, Z: Array) -> Any:
    """Inputs in the module's own precision and on its own device; doubles for one without weights."""
    import torch

    like = next(iter(module.parameters()), None)
    tensor = torch.tensor(Z, dtype=torch.float64)
    return tensor if like is None else tensor.to(dtype=like.dtype, device=like.device)
