"""Data to try fairstress on: the law-school table, the NHS survey that you bring, and simulations with known truth."""

from fairstress.inputs.datasets import law_school, nhs_staff_survey
from fairstress.model.simulation import Simulation, simulate

__all__ = ["Simulation", "law_school", "nhs_staff_survey", "simulate"]
