"""SciPy's special functions, which some policies need."""

from typing import Any


def import_special() -> Any:
    """Returns SciPy's special functions, or raises an error that names the extra with SciPy."""
    try:
        from scipy import special  # noqa: PLC0415
    except ModuleNotFoundError as error:
        advice = 'SciPy is not installed; in a checkout: pip install ".[cli]"'
        raise ModuleNotFoundError(advice, name=error.name) from error
    return special
