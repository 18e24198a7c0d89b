"""Values that one question has found so far, where each takes long."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairstress.inputs.rows import Array
from fairstress.search.members import Members

WIDER = 3.1  # times as wide as a set a box may be whose points tell enough about it


@dataclass(slots=True, eq=False)
class Known:
    """What one question has asked so far."""

    points: list[Array] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    led: list[bool] = field(default_factory=list)  # whether a surface led there
    explored: list[tuple[Array, Array]] = field(default_factory=list)  # boxes, by lower and upper ends

    def copy(self) -> Known:
        """The same for a question of its own, which tells nothing back."""
        return Known(list(self.points), list(self.values), list(self.led), list(self.explored))

    def covers(self, members: Members) -> bool:
        """Whether a box was explored that holds the set and is not much wider."""
        width = members.high - members.low
        for low, high in self.explored:
            holds = (low <= members.low).all() and (high >= members.high).all()
            if holds and (high - low <= WIDER * width)[width > 0].all():
                return True
        return False

    def within(self, members: Members) -> tuple[Array, Array, Array]:
        """The points that belong to a set, their values, and 1 where a surface led to them, otherwise 0."""
        points, values, led = np.array(self.points), np.array(self.values), np.array(self.led, dtype=float)
        inside = np.asarray(members.contains(points))
        return points[inside], values[inside], led[inside]
