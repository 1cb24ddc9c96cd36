"""Data sets that scikit-learn brings along."""

from __future__ import annotations

from typing import Any

from bandit_envs.datasets.dataset import Dataset, from_bunch


def load_digits() -> Dataset:
    """Loads 1,797 images of digits: 64 features, 10 labels.

    Source: scikit-learn's `load_digits`; Alpaydin & Kaynak (1998), UCI repository.
    """
    return from_bunch(_module().load_digits())


def load_wine() -> Dataset:
    """Loads 178 chemical analyses of wines: 13 features, 3 labels.

    Source: scikit-learn's `load_wine`; Aeberhard & Forina (1991), UCI repository.
    """
    return from_bunch(_module().load_wine())


def load_breast_cancer() -> Dataset:
    """Loads 569 diagnoses of tumours: 30 features, 2 labels.

    Source: scikit-learn's `load_breast_cancer`; Wolberg et al. (1993), UCI repository.
    """
    return from_bunch(_module().load_breast_cancer())


def _module() -> Any:
    try:
        import sklearn.datasets  # noqa: PLC0415
    except ModuleNotFoundError as error:
        advice = 'scikit-learn is not installed; in a checkout: pip install ".[datasets]"'
        raise ModuleNotFoundError(advice, name=error.name) from error
    return sklearn.datasets
