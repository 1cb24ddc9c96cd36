"""Links the terms of the glossary where a page first uses them."""

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes

TERMS = {
    "action": "actions?",
    "context": "contexts?",
    "horizon": "horizons?",
    "policy": "policy|policies",
    "probability": "(?:probability|probabilities)(?= of (?:[a-z]+ )?(?:actions?|new policy))",
    "propensity": "propensity|propensities",
    "regret": "regret",
    "slate": "slates?",
    "state": "states?",
    "step": r"(?<!time\s)steps?(?!\ssize)",
    "time step": r"time\ssteps?",
}
NOT_PROSE = (
    *(nodes.literal, nodes.literal_block, nodes.math, nodes.raw, nodes.reference, nodes.title),
    *(nodes.comment, nodes.term, nodes.table, addnodes.desc, addnodes.glossary),
    addnodes.pending_xref,
)


def link(app: Any, document: nodes.document) -> None:
    """Links the first use of each term in the prose of a page, if the page does not already."""
    name = app.env.docname
    if name == "glossary":
        return
    links = document.findall(addnodes.pending_xref)
    linked = {node["reftarget"] for node in links if node["reftype"] == "term"}
    for term, words in TERMS.items():
        for text in [] if term in linked else list(document.findall(nodes.Text)):
            found = re.search(rf"(?<![\w-])({words})\b", text, re.IGNORECASE)
            if found and not _is_in(text, NOT_PROSE):
                before, after = text[: found.start()], text[found.end() :]
                parts = [nodes.Text(before), _reference(term, found[0], name), nodes.Text(after)]
                text.parent.replace(text, parts)
                break


def _is_in(node: Any, kinds: tuple[type, ...]) -> bool:
    while node is not None and not isinstance(node, kinds):
        node = node.parent
    return node is not None


def _reference(term: str, text: str, page: str) -> addnodes.pending_xref:
    shown = nodes.inline(text, text, classes=["xref", "std", "std-term"])
    target = {"refdomain": "std", "reftype": "term", "reftarget": term}
    return addnodes.pending_xref("", shown, **target, refexplicit=True, refdoc=page, refwarn=True)
