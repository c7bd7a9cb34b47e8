"""Figures 1 to 4 of the study, from any corpus. matplotlib is an optional extra and imported only to draw."""

from pytest_tutoreval.reporting.figures.writing import FIGURES, write_figures

__all__ = ["FIGURES", "write_figures"]
