"""Formulas as MathML, which browsers show without a script."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import SphinxError


def _mathml(node: nodes.Element, display: str) -> str:
    """Returns a formula as MathML, in which no command of LaTeX is left."""
    formula = re.sub(r"\\arg\b", r"\\mathrm{arg}\\,", node.astext())  # unknown to the converter
    mathml = convert(formula, display=display)
    if unknown := re.search(r">(\\\w+)<", mathml):
        raise SphinxError(f"latex2mathml does not know {unknown[1]} in {node.astext()}")
    return mathml


def visit_inline(translator: Any, node: nodes.Element) -> None:
    """Writes a formula in a sentence."""
    translator.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.Element) -> None:
    """Writes a formula of its own, which scrolls where it is wider than the page."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(f"{_mathml(node, 'block')}</div>")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Adds the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
