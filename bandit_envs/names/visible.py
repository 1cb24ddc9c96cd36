"""Texts of files, as terminals and messages show them."""


def visible(text: str) -> str:
    r"""Returns a text as one line, in which `repr`'s escapes stand for what is not printable.

    Whatever a file says passes it before it is printed: a terminal would obey controls, and marks
    of direction would turn the rest of the line around.

    >>> visible("red\x1b]0;mine\n")
    'red\\x1b]0;mine\\n'
    """
    signs = (
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
    return text if text.isprintable() else "".join(signs)


def visible_lines(text: str) -> str:
    """Returns a text of several lines, each as `visible` has it."""
    return "\n".join(map(visible, text.split("\n")))
