"""Formulas as MathML, which browsers show without a script, and so without a network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(translator: Any, node: nodes.Element) -> None:
    """Writes a formula in a sentence."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.Element) -> None:
    """Writes a formula of its own, which scrolls where it is wider than the page."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(f"{convert(node.astext(), display='block')}</div>")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Adds the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
