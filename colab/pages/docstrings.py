"""Docstrings of Google's style with words of Markdown, as Sphinx reads them."""

import re

CODE = re.compile(r"(`[^`]+`)")
SIGNS = re.compile(r"(?<!\*)\*(?!\*)|\||(?<=\w)_(?!\w)")
"""What has a meaning for Sphinx, and none in a docstring."""


def as_rest(text: str) -> str:
    """Returns a docstring with its code and its equations marked.

    >>> print(as_rest("The `mean` of x.\\n\\n    a = b"))
    The ``mean`` of x.
    <BLANKLINE>
    ::
    <BLANKLINE>
        a = b
    """
    blocks: list[str] = []
    was_code = False
    for block in filter(None, re.split(r"\n\s*\n", text.strip("\n"))):
        is_code = all(line.startswith("    ") for line in block.splitlines())
        if is_code and not was_code:
            blocks.append("::")
        is_plain = not is_code and not block.startswith(">>> ")
        blocks.append(mark_code(block) if is_plain else block)
        was_code = is_code
    return "\n\n".join(blocks)


def mark_code(block: str) -> str:
    """Returns a paragraph or a section with code in two backticks, and other signs escaped."""
    pieces = CODE.split(block)
    plain = [SIGNS.sub(r"\\\g<0>", piece) for piece in pieces[::2]]
    code = [f"`{piece}`" for piece in pieces[1::2]]
    return "".join(text for pair in zip(plain, [*code, ""]) for text in pair)
