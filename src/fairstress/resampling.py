"""How replicates of the data are drawn, from which limits are read off: options, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairstress.arguments import flag, is_positive, processes, share, whole_number, word
from fairstress.errors import SettingError, show

MODEL_B, ALL = "model b", "all"  # what is fitted anew in a replicate
BOOTSTRAP, JACKKNIFE, BALANCED = "bootstrap", "jackknife", "balanced"
N_BOOT = 200


@dataclass(frozen=True, slots=True, eq=False)
class ReplicateWeights:
    """Replicate weights that come with a survey, in place of drawn ones.

    Parameters
    ----------
    weights
        One row per person, as in the audited table, and one column per replicate.
    kind
        ``"bootstrap"`` (default): each column is a replicate. ``"jackknife"`` or ``"balanced"`` (balanced repeated
        replication): the columns give a covariance of Model B's parameters, from which normal draws are taken.
    scale
        By what the squared deviations of the replicates are multiplied to give that covariance; default ``(R - 1) / R``
        for a jackknife and ``1 / R`` for balanced replicates, R their number. With Fay's factor f it is
        ``1 / (R (1 - f)^2)``.

    Examples
    --------
    >>> import numpy as np
    >>> import fairstress as fs
    >>> fs.ReplicateWeights(1 - np.eye(4), kind="jackknife").scale
    0.75
    """

    weights: ArrayLike = field(repr=False)
    kind: str = BOOTSTRAP
    scale: float | None = None

    def __post_init__(self) -> None:
        try:
            weights = np.asarray(self.weights, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise SettingError("replicate_weights hold something that is not a number: give numbers") from None
        if weights.ndim != 2 or weights.shape[1] < 2:
            raise SettingError(
                f"replicate_weights have shape {weights.shape}: give a row per person and a column per replicate, two "
                "or more"
            )
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise SettingError("replicate_weights must be finite and nowhere negative")
        if not weights.any(axis=0).all():
            raise SettingError(f"column {int((~weights.any(axis=0)).argmax())} of replicate_weights is 0 for everyone")
        word(self.kind, "kind", BOOTSTRAP, JACKKNIFE, BALANCED)
        if self.kind == BOOTSTRAP and self.scale is not None:
            raise SettingError("scale is given, but bootstrap weights are replicates as they are: leave it out")
        if self.scale is not None and not is_positive(self.scale):
            raise SettingError(f"scale is {show(self.scale)}: give a positive number")
        count = weights.shape[1]
        usual = {BOOTSTRAP: 1.0, JACKKNIFE: (count - 1) / count, BALANCED: 1 / count}[self.kind]
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "scale", usual if self.scale is None else float(self.scale))

    @property
    def array(self) -> NDArray[np.float64]:
        """(n, R) the weights."""
        return np.asarray(self.weights, dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """How sure: how many replicates to draw, what is fitted anew in each, and the level of limits.

    Each replicate gives people (or clusters, where the audit has them) random exponential weights, a Bayesian
    bootstrap. Model A, the predictor, tuning and scaling stay as they are deployed; Model B is fitted anew, without
    penalty, and CFU averaged under the same weights. Of several completed tables a replicate draws one.

    Parameters
    ----------
    n_boot
        Number of replicates, default 200.
    level
        Confidence level of limits, default 0.95.
    simultaneous
        Whether a curve's or profile's limits hold at all of its points at once; default False, at each point alone.
    refit
        What is fitted anew: ``"model b"`` (default), which asks about the predictor that is deployed; ``"all"`` (Model
        A, predictor and baselines too, degrees and penalties as chosen), which asks about the procedure that made it.
        With ``"all"`` limits mean little near 0: a predictor that is fitted anew is at 0 again under Model A, whatever
        the error of the one that is deployed.
    counts
        Whether a sample weight of 3 stands for three people, default False: it is then one person who stands for
        others, and one random weight is drawn.
    replicate_weights
        `ReplicateWeights` of a survey, in place of drawn ones; default none.
    check
        Share of the replicates in which a worst case is sought anew by a full search, default 0.05; 0 for none.
    n_jobs
        Processes to use, default 1; -1 for one per core. It changes no number.
    partial
        Whether Ctrl-C gives what is done by then instead of an error; default False.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> worst = audit.worst_case(0.2, bands=fs.Bootstrap(n_boot=100))
    >>> f"{worst.value:.2f}, at most {worst.estimate.upper:.2f} (95 %)"
    '0.27, at most 0.75 (95 %)'
    """

    n_boot: int = N_BOOT
    level: float = 0.95
    simultaneous: bool = False
    refit: str = MODEL_B
    counts: bool = False
    replicate_weights: ReplicateWeights | None = None
    check: float = 0.05
    n_jobs: int = 1
    partial: bool = False

    def __post_init__(self) -> None:
        whole_number(self.n_boot, "n_boot")
        object.__setattr__(self, "level", _level(self.level))
        for name in ("simultaneous", "counts", "partial"):
            object.__setattr__(self, name, flag(getattr(self, name), name))
        word(self.refit, "refit", MODEL_B, ALL)
        if self.replicate_weights is not None and not isinstance(self.replicate_weights, ReplicateWeights):
            raise SettingError("replicate_weights is no ReplicateWeights: give ReplicateWeights(weights, kind=...)")
        object.__setattr__(self, "check", share(self.check, "check"))
        object.__setattr__(self, "n_jobs", processes(self.n_jobs))
        self._check_count()

    def _check_count(self) -> None:
        """Refuse fewer replicates than a limit of this level needs on either side."""
        least = math.ceil(round(2 / (1 - self.level), 9)) - 1
        if self.n_replicates < least:
            raise SettingError(
                f"n_boot is {self.n_replicates}, too few for limits of level {self.level:g}: give at least {least}"
            )
        own = self.replicate_weights
        if self.refit == ALL and own is not None and own.kind != BOOTSTRAP:
            raise SettingError(f"refit is '{ALL}', which needs replicates: {own.kind} weights give a covariance only")

    @property
    def n_replicates(self) -> int:
        """Number of replicates: that of the columns where bootstrap weights of a survey are given."""
        own = self.replicate_weights
        return int(own.array.shape[1]) if own is not None and own.kind == BOOTSTRAP else self.n_boot


def _level(value: Any) -> float:
    level = share(value, "level")
    if level < 0.5:
        raise SettingError(f"level is {show(value)}: give a confidence level from 0.5 up to, but not including, 1")
    return level


def read_bootstrap(bands: Any) -> Bootstrap | None:
    """Turn what an analyst gives, a value, a number of replicates or nothing, into a value."""
    if bands is None or bands is False:
        return None
    if isinstance(bands, Bootstrap):
        return bands
    if bands is True:
        return Bootstrap()
    if isinstance(bands, Integral):
        return Bootstrap(int(bands))
    raise SettingError(f"bands is {show(bands)}: give a number of replicates, or a value such as Bootstrap(n_boot=500)")
