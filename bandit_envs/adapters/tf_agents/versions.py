"""What TF-Agents needs of the packages beneath it, said when the adapter is imported."""

# TensorFlow has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import sys
import warnings

import tensorflow as tf


def check_versions() -> None:
    """Warns of versions with which TF-Agents fails later, in words that do not name the reason.

    Raises:
        ImportError: Keras 2 is asked for, and not there.
    """
    version = _numbers(tf.__version__)
    _check_keras(version)
    if version < (2, 16):
        _check_typing_extensions()


def _check_keras(version: tuple[int, ...]) -> None:
    """Warns of Keras 3; ImportError if Keras 2 is asked for, and not there."""
    is_legacy = os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true")
    if is_legacy and importlib.util.find_spec("tf_keras") is None:
        advice = "unset it" if version < (2, 16) else "install tf_keras"
        raise ImportError(f"TF_USE_LEGACY_KERAS is set without tf_keras; {advice}", name="tf_keras")
    if version >= (2, 16) and not hasattr(tf.keras.losses, "mean_squared_error"):  # Keras 3
        _warn_where_imported(
            "networks and neural agents of TF-Agents need Keras 2; install tf_keras, and set "
            "TF_USE_LEGACY_KERAS=1 before TensorFlow is imported"
        )


def _check_typing_extensions() -> None:
    """Warns of a version whose protocols fail for the dicts of TensorFlow 2.15."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        found = importlib.metadata.version("typing_extensions")
        if _numbers(found) >= (4, 6):
            _warn_where_imported(
                f"TensorFlow {tf.__version__} fails with typing_extensions {found} where a module "
                "keeps a dict, such as specs; pip install typing-extensions==4.5.0"
            )


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the first two numbers of a version."""
    return tuple(map(int, version.split(".")[:2]))


def _warn_where_imported(message: str) -> None:
    """Warns at the line outside of this package that imported it, or else at the outermost one."""
    frame = sys._getframe()
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in {"bandit_envs", "importlib"}:
            break
        frame = frame.f_back
    warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno)
