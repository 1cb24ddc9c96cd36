"""Fixtures of all tests in this folder."""

from tests.drawing import drawn, no_figures

__all__ = ["drawn", "no_figures"]
