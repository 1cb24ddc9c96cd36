"""Links from names in the text of a page to their entries in the reference."""

from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from colab.pages.words import path_of


class LinkNames(SphinxPostTransform):
    """Makes a link of each word of code that is a public name, such as `UCBPolicy`."""

    default_priority = 500

    def run(self, **_: Any) -> None:
        here = self.env.docname
        entries = self.env.domains.python_domain.objects
        for word in list(self.document.findall(nodes.literal)):
            found = entries.get(path_of(word.astext()))
            if found and not isinstance(word.parent, nodes.reference | nodes.title):
                builder = self.app.builder
                copy = word.deepcopy()
                link = make_refnode(builder, here, found.docname, found.node_id, copy)
                word.replace_self(link)


def setup(app: Any) -> dict[str, bool]:
    """Adds the links."""
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
