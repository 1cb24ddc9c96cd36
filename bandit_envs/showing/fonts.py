"""Fonts for letters that matplotlib's own font lacks, such as those of Chinese names."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterable, Iterator

from matplotlib import font_manager, rc_context, rcParams
from matplotlib.font_manager import FontEntry, FontProperties
from matplotlib.ft2font import FT2Font

NO_FONT = "Last Resort"
"""How the names of fonts begin that have a box for each letter."""

SHOWN = 10
"""A warning has at most so many letters."""


@contextlib.contextmanager
def fonts_for(texts: Iterable[str]) -> Iterator[None]:
    """A context in which figures are drawn and written with fonts for all letters of some texts.

    Where no font of the system has a letter, a box stands for it, and there is one warning.

    Args:
        texts: that the figures have.
    """
    families = rcParams["font.family"]
    letters = {letter for text in texts for letter in text if letter.isprintable()}
    missing = "".join(sorted(letters - _covered(tuple(families), frozenset(letters))))
    found, boxes = _find_families(missing) if missing else ((), "")
    if boxes:
        _warn_of(boxes)
    with rc_context({"font.family": [*families, *found]}), no_warnings_of_letters():
        yield


@contextlib.contextmanager
def no_warnings_of_letters() -> Iterator[None]:
    """A context without matplotlib's warnings, of which there is one a letter and figure."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


@functools.cache
def _warn_of(letters: str) -> None:
    """Warns once of letters that no font has."""
    shown = " ".join(letters[:SHOWN]) + (" ..." if len(letters) > SHOWN else "")
    problem = f"figures have boxes for {shown}, which no font of this system has"
    warnings.warn(f"{problem}; install one, such as Noto Sans CJK", stacklevel=6)


def _covered(families: tuple[str, ...], letters: frozenset[str]) -> set[str]:
    """Returns those of some letters that fonts of families have."""
    found: set[str] = set()
    if letters and max(letters) > "\x7f":
        for family in families:
            with contextlib.suppress(ValueError):
                properties = FontProperties(family=[family])
                path = font_manager.findfont(properties, fallback_to_default=False)
                found |= _in_font(str(path), letters)
        return found
    return set(letters)  # any font has those of ASCII


@functools.lru_cache(maxsize=64)
def _find_families(letters: str) -> tuple[tuple[str, ...], str]:
    """Returns the families of fonts that have letters, as few as needed, and letters of none."""
    _add_new_fonts()
    rest = set(letters)
    families = []
    while rest:
        found = {entry.name: _in_font(entry.fname, frozenset(rest)) for entry in _installed()}
        best = max(found, key=lambda name: len(found[name]), default="")
        if not best or not found[best]:
            break
        families.append(best)
        rest -= found[best]
    return tuple(families), "".join(sorted(rest))


def _add_new_fonts() -> None:
    """Lets matplotlib know fonts that were installed after it made its list."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in sorted(font_manager.findSystemFonts()):
        if path not in known:
            with contextlib.suppress(OSError, RuntimeError):
                font_manager.fontManager.addfont(path)


def _installed() -> list[FontEntry]:
    """Returns the upright fonts, of one name that of a usual weight last."""
    entries = [
        entry
        for entry in font_manager.fontManager.ttflist
        if entry.style == "normal" and not entry.name.startswith(NO_FONT)
    ]
    return sorted(
        entries, key=lambda entry: (entry.weight in (400, "normal", "regular"), entry.name)
    )


def _in_font(path: str, letters: frozenset[str]) -> set[str]:
    """Returns those of some letters that the font in a file has."""
    try:
        font = FT2Font(path)
        return {letter for letter in letters if font.get_char_index(ord(letter))}
    except (OSError, RuntimeError):  # a font that cannot be read
        return set()
