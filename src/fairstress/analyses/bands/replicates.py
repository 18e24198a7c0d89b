"""A functional in replicates of the data: Model B fitted anew in each, or everything, and the number that follows.

The audited predictor, Model A, tuning and scaling stay as deployed. Model B is fitted without penalty: at the audit's
own, limits would leave out how far the penalty draws the deployed Model A from the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairstress.analyses.bands.limits import UPPER, Replication, check_enough, sides
from fairstress.analyses.bands.weights import Draws, Sampler, is_covariance
from fairstress.arguments import seed
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import Functional, fits, sampled
from fairstress.claim.refit import check_refit, refit_to
from fairstress.errors import FairstressError, SettingError, Status, describe_error
from fairstress.functionals.cfu import CFU
from fairstress.functionals.frame import OfFrame
from fairstress.functionals.relative import RelativeCFU
from fairstress.inputs.rows import Array
from fairstress.model.fit import Fit
from fairstress.model.linear import WORST_CONDITION
from fairstress.model.replicated import refits
from fairstress.model.system import system_of_batch, without_penalty
from fairstress.parallel import in_parallel
from fairstress.progress import Progress, Steps
from fairstress.resampling import ALL, Bootstrap, read_bootstrap
from fairstress.threads import one_thread

CHUNK = 20  # replicates of one task, whatever the number of processes
WORLDS = 20_000  # of all people together, where they have several
FAILED = (Status.STEP_LIMIT, Status.STALLED, Status.LOST_DIGITS)

Outcome = tuple[Array | None, str]  # (k,) values, or none and the reason
Task = Callable[[Sequence[int]], list[Outcome]]  # some replicates, by their numbers


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """The values of a functional at some correlations in the replicates that count."""

    values: Array  # (b, k)
    numbers: tuple[int, ...]  # which replicates these are
    failures: dict[str, int]  # how many do not count, by the reason


@dataclass(frozen=True, eq=False)
class Replicator:
    """Draws replicates, the same ones whatever is asked of them."""

    fitted: Fitted
    options: Bootstrap
    seed: int | None

    @classmethod
    def of(cls, fitted: Fitted, bands: Any, random_state: Any = None) -> Replicator | None:
        """Read an analyst's options; None where no limits are asked for. The seed is the audit's unless given."""
        wanted = read_bootstrap(bands)
        chosen = fitted.settings.random_state if random_state is None else seed(random_state)
        if wanted is not None and wanted.refit == ALL:
            check_refit(fitted)
        return None if wanted is None else cls(fitted, wanted, chosen)

    def in_one_process(self) -> Replicator:
        """The same where processes are shared out already."""
        return replace(self, options=replace(self.options, n_jobs=1))

    @cached_property
    def whole(self) -> Claim:
        """The deployed claim with a Model B that bears no penalty, where it has a reliable fit without."""
        claim = self.fitted.claim
        return claim if self.penalised else replace(claim, system=without_penalty(claim.system))

    @cached_property
    def claim(self) -> Claim:
        """The same, where people have several worlds on as many of them as replicates can afford."""
        return sampled(self.whole, self.seed, WORLDS) if self.whole.is_mixed else self.whole

    @cached_property
    def penalised(self) -> bool:
        """Whether Model B bears its penalty in replicates: nearly collinear columns leave no reliable fit without."""
        return self.fitted.claim.condition() > WORST_CONDITION

    @cached_property
    def draws(self) -> Draws:
        """The replicates' weights."""
        seeds = np.random.SeedSequence(self.seed).spawn(self.options.n_replicates)
        return Draws(Sampler.of(self.fitted.table, self.options), tuple(seeds))

    def values(
        self, functional: Functional, P: Array, progress: Progress | None = None, among: Sequence[int] | None = None
    ) -> Replicates:
        """A functional at each P (k, m, m) in each replicate, or in some of them by their numbers."""
        if isinstance(functional, OfFrame):
            raise SettingError(
                f"{functional.name} is a function of the frame, whose people cannot be weighted in a replicate: leave "
                "bands out, or give what effect, coefficient, flips, cfu_of_group or relative_cfu gives"
            )
        numbers = range(self.options.n_replicates) if among is None else among
        chunks = [numbers[start : start + CHUNK] for start in range(0, len(numbers), CHUNK)]
        task, steps = self._task(functional, P), Steps(len(chunks), progress)
        done = in_parallel(task, chunks, self.options.n_jobs, steps, partial=self.options.partial)
        found = [outcome for part in done for outcome in part]
        kept = [(number, value) for number, (value, _) in zip(numbers, found, strict=False) if value is not None]
        failures = dict(Counter(reason for _, reason in found if reason))
        if among is None:
            check_enough(len(kept), self.options, failures)
        values = np.array([value for _, value in kept]).reshape(len(kept), len(P))
        return Replicates(self.of_everyone(values, functional, P), tuple(number for number, _ in kept), failures)

    def of_everyone(self, values: Array, functional: Functional, P: Array) -> Array:
        """Values (b, k) on a sample of people, corrected by how it differs from everyone in the data as they are."""
        if self.claim.rows is self.whole.rows or self.options.refit == ALL:
            return values
        base = fits(self.whole, P, check_minima=False)
        whole, some = functional.values(self.whole, base), functional.values(self.claim, base)
        if sides(functional) == UPPER and (some > 0).all():
            return np.asarray(values * (whole / some))
        return np.asarray(values + (whole - some))

    def _task(self, functional: Functional, P: Array) -> Task:
        if self.options.refit == ALL:
            return _Procedure(self.fitted, functional, P, self.draws)
        self.claim.blocks()  # worked out once, for all replicates
        base = tuple(fits(self.claim, P, check_minima=False))
        deployed = _Deployed(self.claim, base, functional, self.draws, float(self.penalised))
        return self._normal_draws(deployed) if is_covariance(self.options) else deployed

    def _normal_draws(self, deployed: _Deployed) -> Task:
        """Draws around the fits, with the covariance that a survey's replicate weights give."""
        own = self.options.replicate_weights
        assert own is not None
        assert own.scale is not None
        moved = in_parallel(deployed.given, list(range(self.draws.sampler.n_given)), self.options.n_jobs)
        return _NormalDraws(deployed, tuple(moved), float(np.sqrt(own.scale)))

    def replication(self, replicates: Replicates, **more: Any) -> Replication:
        """How it went."""
        chosen = self.options
        return Replication(
            level=chosen.level,
            n_boot=chosen.n_replicates,
            n_done=len(replicates.numbers),
            failures=replicates.failures,
            refit=chosen.refit,
            simultaneous=chosen.simultaneous,
            penalised=self.penalised,
            normal=is_covariance(chosen),
            **more,
        )

    @property
    def can_search(self) -> bool:
        """Whether a replicate is a claim of its own, which can be searched: not a draw, nor fitted with all else."""
        return not is_covariance(self.options) and self.options.refit != ALL

    def claim_of(self, number: int) -> Claim:
        """The claim of one replicate."""
        return _reweighted(self.claim, self.draws.of_rows([number])[0], float(self.penalised))


# ---------------------------------------------------------------- one replicate


@dataclass(frozen=True, slots=True, eq=False)
class _Deployed:
    """The deployed predictor: Model B alone is fitted anew."""

    claim: Claim
    base: tuple[Fit, ...]  # Model B at each correlation, fitted to the data as they are
    functional: Functional
    draws: Draws
    share: float  # of the penalty

    def __call__(self, numbers: Sequence[int]) -> list[Outcome]:
        weights = self.draws.of_rows(numbers)
        with one_thread:
            try:
                return self._judged(weights, self._refits(weights))
            except (FairstressError, np.linalg.LinAlgError):  # of one of them: which, and why?
                return [self._replicate(weight[None]) for weight in weights]

    def _replicate(self, weight: Array) -> Outcome:
        try:
            return self._judged(weight, self._refits(weight))[0]
        except (FairstressError, np.linalg.LinAlgError) as problem:
            return None, describe_error(problem)

    def _refits(self, weights: Array) -> list[list[Fit]]:
        claim = self.claim
        return refits(claim.system, claim.design, claim.everyone, weights, self.base, self.share)

    def _judged(self, weights: Array, made: Sequence[Sequence[Fit]]) -> list[Outcome]:
        """What each replicate gives: side by side where that needs a few people only, otherwise one by one."""
        together = self._together(weights, made)
        if together is not None:
            return [_finite(values) for values in together]
        claims = (self.claim.reweighted(weight, self.claim.system) for weight in weights)
        return [_judged(self.functional, claim, fits) for claim, fits in zip(claims, made, strict=True)]

    def _together(self, weights: Array, made: Sequence[Sequence[Fit]]) -> Array | None:
        if not isinstance(self.functional, CFU | RelativeCFU) or any(map(_failure, made)):
            return None
        return self.functional.under_weights(self.claim, weights, made)

    def given(self, number: int) -> list[Fit]:
        """The fits to one of a survey's replicate weights."""
        with one_thread:
            try:
                return self._refits(self.draws.sampler.given_rows(number)[None])[0]
            except np.linalg.LinAlgError:
                raise SettingError(
                    f"column {number} of replicate_weights leaves Model B no fit: it gives too few people a weight"
                ) from None


@dataclass(frozen=True, slots=True, eq=False)
class _NormalDraws:
    """The same where a survey's replicate weights give a covariance of Model B's parameters.

    ``theta + sqrt(scale) sum_r z_r (theta_r - theta)`` with z standard normal has that covariance. People are averaged
    under their own weights.
    """

    deployed: _Deployed
    moved: tuple[list[Fit], ...]  # the fits to each of the survey's replicate weights
    root: float  # of the scale

    def __call__(self, numbers: Sequence[int]) -> list[Outcome]:
        with one_thread:
            return [self._replicate(number) for number in numbers]

    def _replicate(self, number: int) -> Outcome:
        z = np.random.default_rng(self.deployed.draws.seeds[number]).standard_normal(len(self.moved)) * self.root
        base = self.deployed.base
        drawn = [self._drawn(fit, [fits[k] for fits in self.moved], z) for k, fit in enumerate(base)]
        return _judged(self.deployed.functional, self.deployed.claim, drawn)

    def _drawn(self, fit: Fit, moved: Sequence[Fit], z: Array) -> Fit:
        weights = _combined(fit.weights, [one.weights for one in moved], z)
        log_scales = _combined(fit.log_scales, [one.log_scales for one in moved], z)
        return replace(
            fit, weights=weights, log_scales=log_scales, cuts=_combined(fit.cuts, [one.cuts for one in moved], z)
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Procedure:
    """The procedure: Model A, predictor and baselines are fitted anew too."""

    fitted: Fitted
    functional: Functional
    P: Array
    draws: Draws

    def __call__(self, numbers: Sequence[int]) -> list[Outcome]:
        with one_thread:
            return [self._replicate(number) for number in numbers]

    def _replicate(self, number: int) -> Outcome:
        table = self.fitted.table.reweighted(self.draws.of_people(number))
        try:
            again = refit_to(self.fitted, table)
            made = fits(again.claim, self.P, check_minima=False)
            return _judged(_about(self.functional, self.fitted, again), again.claim, made)
        except (FairstressError, np.linalg.LinAlgError) as problem:
            return None, describe_error(problem)


def _about(functional: Functional, fitted: Fitted, again: Fitted) -> Functional:
    """The same functional, with the baseline that was fitted anew where it compares with one."""
    if not isinstance(functional, RelativeCFU):
        return functional
    for name, baseline in fitted.baselines.items():
        if baseline.claim is functional.baseline:
            return RelativeCFU(again.baselines[name].claim, functional.name)
    raise SettingError(f"{functional.name} is about another audit's baseline: ask this audit for relative_cfu")


def _judged(functional: Functional, claim: Claim, made: Sequence[Fit]) -> Outcome:
    if failure := _failure(made):
        return None, failure
    try:
        return _finite(functional.values(claim, made))
    except FairstressError as problem:
        return None, describe_error(problem)


def _failure(made: Sequence[Fit]) -> str:
    """How the first of some fits failed; nothing where all are well."""
    return next((str(fit.status) for fit in made if fit.status in FAILED), "")


def _finite(values: Array) -> Outcome:
    return (values, "") if np.isfinite(values).all() else (None, "The value is not finite.")


def _reweighted(claim: Claim, weight: Array, share: float) -> Claim:
    """The claim where everyone has another weight; its Model B is fitted to them with a share of the penalty."""
    everyone = replace(claim.everyone, weight=weight)
    return claim.reweighted(weight, system_of_batch(claim.system, claim.design, everyone, share))


def _combined(centre: Array, moved: Sequence[Array], z: Array) -> Array:
    return np.asarray(centre + z @ (np.array(moved) - centre))
