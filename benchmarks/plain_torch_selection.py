"""What precedes the paper's curves, in plain PyTorch: degrees and penalties by cross-validation, predictor, baselines.

Folds are five, contiguous. The fit that is cross-validated is plain ridge at unit scales. For a given penalty its score
is a sum over features, so that each takes its best degree by itself; no product of degrees is fitted, as the authors'
program does. Columns are made once for a degree, the normal equations once for a fold, and solved for all penalties
together: as someone would write it who has thought about it. Models are those of `plain_torch`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from plain_torch import Problem, embed, embed_all, fit_model_a, fit_predictor, monomials, residuals
from plain_torch_ascent import Known
from torch import Tensor

FOLDS = 5


@dataclass(frozen=True)
class Chosen:
    """Model A and predictor with what cross-validation chose, and the baselines beside them."""

    known: Known
    unfairness: dict[str, float]  # of the unconstrained and of the blind baseline
    baselines: dict[str, tuple[int, float]]  # their degrees and penalties


def choose(problem: Problem, degrees: Sequence[int], penalties: Sequence[float]) -> Chosen:
    """Choose and fit everything; what the problem says of degrees and penalties is not looked at."""
    structure, penalty = choose_structure(problem, degrees, penalties)
    problem = replace(problem, degrees=structure, penalty=penalty)
    Phi = embed_all(problem)
    model_a = fit_model_a(problem, Phi)
    eps = residuals(problem, Phi, model_a.weights)
    problem, theta, y_hat = fit_chosen(problem, list(eps), degrees, penalties)
    unfairness, chosen = {}, {}
    for name, inputs in (("unconstrained", [problem.a, *problem.x]), ("blind", list(problem.x))):
        own, _, predicted = fit_chosen(problem, inputs, degrees, penalties)
        unfairness[name] = float((y_hat - predicted).square().mean())
        chosen[name] = own.predictor_degree, own.predictor_penalty
    return Chosen(Known(problem, Phi, model_a, theta, y_hat), unfairness, chosen)


def fit_chosen(
    problem: Problem, inputs: Sequence[Tensor], degrees: Sequence[int], penalties: Sequence[float]
) -> tuple[Problem, Tensor, Tensor]:
    """The degree and penalty of y by some inputs, weights, and predictions."""
    degree, penalty = choose_predictor(inputs, problem.y, degrees, penalties)
    problem = replace(problem, predictor_degree=degree, predictor_penalty=penalty)
    theta = fit_predictor(problem, torch.stack(list(inputs)))
    return problem, theta, theta @ monomials(inputs, degree)


def choose_structure(
    problem: Problem, degrees: Sequence[int], penalties: Sequence[float]
) -> tuple[tuple[int, ...], float]:
    """A degree per feature and one penalty, by the mean over folds of the R2 of all features stacked."""
    m = len(problem.x)
    losses = torch.empty(m, len(degrees), len(penalties), dtype=torch.float64)
    totals = torch.stack([squares(problem.x[:, fold]) for fold in folds(problem.a.numel())])
    for i, degree in enumerate(degrees):
        tried = replace(problem, degrees=(degree,) * m)
        for j in range(m):
            errors = held_out_errors(embed(tried, j, problem.a, problem.x), problem.x[j], penalties)
            losses[j, i] = (errors / totals).mean(dim=1)
    best = int(losses.amin(dim=1).sum(dim=0).argmin())
    return tuple(degrees[int(loss[:, best].argmin())] for loss in losses), float(penalties[best])


def choose_predictor(
    inputs: Sequence[Tensor], y: Tensor, degrees: Sequence[int], penalties: Sequence[float]
) -> tuple[int, float]:
    """A degree and a penalty by the mean over folds of R2."""
    totals = torch.stack([squares(y[fold]) for fold in folds(y.numel())])
    losses = torch.stack(
        [(held_out_errors(monomials(inputs, degree), y, penalties) / totals).mean(dim=1) for degree in degrees]
    )
    row, column = divmod(int(losses.argmin()), len(penalties))
    return degrees[row], float(penalties[column])


def held_out_errors(Phi: Tensor, y: Tensor, penalties: Sequence[float]) -> Tensor:
    """(penalties, folds) squared errors on each fold of the ridge of y on columns (d, n) fitted to the others."""
    lam = torch.tensor(list(penalties), dtype=torch.float64)[:, None, None] * torch.eye(len(Phi), dtype=torch.float64)
    errors = []
    for fold in folds(y.numel()):
        rest = torch.cat([Phi[:, : fold.start], Phi[:, fold.stop :]], dim=1)
        r = rest @ torch.cat([y[: fold.start], y[fold.stop :]])
        w = torch.linalg.solve(rest @ rest.T + lam, r.expand(len(lam), -1))
        errors.append((y[fold] - w @ Phi[:, fold]).square().sum(dim=1))
    return torch.stack(errors, dim=1)


def squares(x: Tensor) -> Tensor:
    """Squares of everything about its mean."""
    return (x - x.mean()).square().sum()


def folds(n: int) -> Iterator[slice]:
    """Contiguous folds, the first of them larger by one where n does not divide."""
    start = 0
    for number in range(FOLDS):
        stop = start + n // FOLDS + (number < n % FOLDS)
        yield slice(start, stop)
        start = stop
