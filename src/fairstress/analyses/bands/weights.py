"""Weights of a replicate: random ones of people or clusters, or those of a survey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fairstress.errors import SettingError
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, IntArray
from fairstress.resampling import BOOTSTRAP, Bootstrap

KEPT = 2**20  # weights of all replicates together that are kept, 8 megabytes


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Draws the weights of people, row of the table by row, for each replicate from a seed of its own."""

    weight: Array  # (n,) in the audit
    row_of: IntArray  # (n,) each row's distinct row
    n_rows: int  # distinct rows
    unit_of: IntArray | None  # (n,) the cluster of each; None: everyone is one
    table_of: IntArray | None  # (n,) which of several completed tables each row stands in
    counts: bool  # whether weights count people
    given: Array | None  # (n, R) a survey's replicate weights

    @classmethod
    def of(cls, table: Table, options: Bootstrap) -> Sampler:
        """Read who is drawn together, and check a survey's weights against the table."""
        table.check_held("limits by replicates")
        unit_of = None if table.cluster is None else pd.factorize(np.asarray(table.cluster, dtype=object))[0]
        own = options.replicate_weights
        given = None if own is None else own.array
        if given is not None and table.dropped is not None:
            raise SettingError("replicate_weights are given, but missing is 'drop', which changes rows' positions")
        n = table.weight.size if table.table_of is None else table.weight.size // (int(table.table_of.max()) + 1)
        if given is not None and len(given) != n:
            raise SettingError(f"replicate_weights have {len(given)} rows, but the data have {n}: give one per person")
        if given is not None and table.table_of is not None:
            given = np.tile(given, (table.weight.size // n, 1))
        if given is not None and not given[table.weight > 0].any(axis=0).all():
            column = int((~given[table.weight > 0].any(axis=0)).argmax())
            raise SettingError(f"column {column} of replicate_weights is 0 for everyone with a weight")
        return cls(table.weight, table.row_of, table.rows.a.size, unit_of, table.table_of, options.counts, given)

    def draw(self, number: int, seed: np.random.SeedSequence) -> Array:
        """(n,) the weights of one replicate, which add up to those of the audit."""
        rng = np.random.default_rng(seed)
        weight = self._random(rng) if self.given is None else np.where(self.weight > 0, self.given[:, number], 0.0)
        if self.table_of is not None:
            weight = weight * (self.table_of == rng.integers(int(self.table_of.max()) + 1))
        return np.asarray(weight * (self.weight.sum() / weight.sum()))

    def of_rows(self, weight: Array) -> Array:
        """(r,) the weights of the distinct rows."""
        return np.bincount(self.row_of, weight, minlength=self.n_rows).astype(float)

    def given_rows(self, number: int) -> Array:
        """(r,) the same with one of a survey's replicate weights, which add up to the audit's."""
        assert self.given is not None
        weight = np.where(self.weight > 0, self.given[:, number], 0.0)
        return self.of_rows(weight * (self.weight.sum() / weight.sum()))

    def _random(self, rng: np.random.Generator) -> Array:
        """Exponential weights of people or clusters times those of the audit; Gamma where these count people."""
        if self.unit_of is not None:
            return self.weight * rng.standard_exponential(int(self.unit_of.max()) + 1)[self.unit_of]
        if self.counts:
            return rng.standard_gamma(self.weight)
        return self.weight * rng.standard_exponential(self.weight.size)

    @property
    def n_given(self) -> int:
        """How many replicate weights a survey gives."""
        return 0 if self.given is None else int(self.given.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """The weights of replicates by their numbers, the same whenever they are asked for; kept where they are few.

    Where they are kept, the very same array is given again: what follows from it can be kept, too.
    """

    sampler: Sampler
    seeds: tuple[np.random.SeedSequence, ...]  # one for each replicate
    _kept: dict[tuple[int, ...], Array] = field(default_factory=dict, repr=False)

    def of_people(self, number: int) -> Array:
        """(n,) the weights of one replicate."""
        return self.sampler.draw(number, self.seeds[number])

    def of_rows(self, numbers: Sequence[int]) -> Array:
        """(b, r) the weights of the distinct rows in some replicates."""
        asked = tuple(numbers)
        known = self._kept.get(asked)
        if known is None:
            known = np.array([self.sampler.of_rows(self.of_people(number)) for number in numbers])
            if len(self.seeds) * self.sampler.n_rows <= KEPT:
                if known.size + sum(one.size for one in self._kept.values()) > 2 * KEPT:
                    self._kept.clear()  # they are put together in other ways now
                known.setflags(write=False)  # it is shared from now on
                self._kept[asked] = known
        return known


def is_covariance(options: Bootstrap) -> bool:
    """Whether a survey's weights give a covariance, not replicates."""
    return options.replicate_weights is not None and options.replicate_weights.kind != BOOTSTRAP
