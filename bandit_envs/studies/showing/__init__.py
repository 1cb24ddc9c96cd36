"""How a study is shown: figures, tables, LaTeX, and a page of HTML."""

__all__: list[str] = []
