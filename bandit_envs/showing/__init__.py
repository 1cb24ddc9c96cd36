"""How results are shown: tables as text, HTML and LaTeX, and pages of them."""

__all__: list[str] = []
