"""Fixtures of all tests in this folder."""

from tests.drawing import no_figures

__all__ = ["no_figures"]
