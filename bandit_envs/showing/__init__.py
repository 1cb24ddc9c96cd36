"""How results are shown: tables with four forms, pages of HTML, figures and charts.

Experimental: these names may change in any minor version.

A `Table` (`tables`) holds numbers with what is known of them. Its rows are lines for a terminal,
HTML, CSV, or LaTeX (`latex`). A page (`page`) is made of sections, each with such a table and a
chart (`charts`), or a figure (`plots`) where Plotly is not installed.
"""

__all__: list[str] = []
