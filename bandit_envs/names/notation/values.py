"""Values as TOML writes them."""

from __future__ import annotations

from collections.abc import Sequence

ALL_DIGITS = 17
"""So many digits tell any two floats apart."""

LONG_LIST = 12
"""Legends shorten lists of more items."""


def to_toml(value: object, digits: int = ALL_DIGITS) -> str:
    """Returns a value as in TOML, or a class by its name.

    With fewer than 17 digits, it rounds, but 0.99999 is never 1; and long lists are shortened.
    """
    if isinstance(value, (list, tuple)):
        return _list_to_toml(value, digits)
    if isinstance(value, type):
        return _quote(value.__name__)
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, float):
        rounded = float(f"{value:.{digits}g}")
        if not rounded.is_integer():
            return str(rounded)
    return str(value).lower()


def _list_to_toml(values: Sequence[object], digits: int) -> str:
    texts = [to_toml(each, digits) for each in values]
    if len(texts) > LONG_LIST and digits < ALL_DIGITS:
        texts[3:-1] = ["…"]
    return f"[{','.join(texts)}]"


def _quote(text: str) -> str:
    """Returns a string of TOML that a terminal can show."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    signs = [sign if sign.isprintable() else f"\\U{ord(sign):08X}" for sign in escaped]
    return f'"{"".join(signs)}"'
