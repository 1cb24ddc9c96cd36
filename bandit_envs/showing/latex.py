"""Tables of LaTeX: numbers with their errors, in rows and groups of rows, below a caption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bandit_envs.names.visible import visible_lines
from bandit_envs.showing.tables import SMALLEST, Cell, NumericColumn, Table

GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "varepsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
    "\N{GREEK SMALL LETTER NU}": "nu",
    "ξ": "xi",
    "π": "pi",
    "\N{GREEK SMALL LETTER RHO}": "rho",
    "σ": "sigma",
    "τ": "tau",
    "φ": "varphi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Δ": "Delta",
    "Σ": "Sigma",
    "Ω": "Omega",
}
"""How LaTeX names letters."""

COMMANDS = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{letter: rf"$\{name}$" for letter, name in GREEK.items()},
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{MINUS SIGN}": "$-$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "₀": "$_0$",
    "₁": "$_1$",
    "₂": "$_2$",
    "²": "$^2$",
    "…": r"\ldots{}",
}
"""How LaTeX writes signs."""

LEVELS = (0.05, 0.01, 0.001)
"""A p-value has a star for each of these that it is below."""


def to_latex(table: Table, caption: Sequence[str]) -> str:
    """Returns a table in the style of the package booktabs. Headings and texts are escaped.

    Args:
        table: the table.
        caption: sentences of LaTeX that say what it shows.
    """
    kinds = "".join("rr" if column.has_p else "r" for column in table.columns)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{' '.join(caption)}}}\medskip",
        rf"\begin{{tabular}}{{{'l' * len(table.stubs)}{kinds}}}",
        r"\toprule",
        _row(_headings(table)),
    ]
    for group in table.groups:
        lines.append(r"\midrule")
        if group.heading:
            width = len(table.stubs) + len(kinds)
            lines.append(_row([rf"\multicolumn{{{width}}}{{l}}{{{escape(group.heading)}}}"]))
        for texts, cells in group.rows:
            lines.append(_row([*map(escape, texts), *_numbers(table.columns, cells)]))
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    r"""Returns a text as LaTeX writes it, where it shows what is not printable.

    >>> print(escape("ε-greedy, from $5"))
    $\varepsilon$-greedy, from \$5
    """
    return "".join(COMMANDS.get(sign, sign) for sign in visible_lines(text))


def explain_stars() -> str:
    """Returns the words that say what stars are of a p-value."""
    names = [place * "*" for place in range(1, len(LEVELS) + 1)]
    *first, last = [f"{name} $p < {level:g}$" for name, level in zip(names, LEVELS)]
    return f"{', '.join(first)} and {last}"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _headings(table: Table) -> list[str]:
    """Returns the headings of the columns."""
    cells = [*map(escape, table.stubs)]
    for column in table.columns:
        cells.append(escape(column.heading))
        if column.has_p:
            cells.append("$p$")
    return cells


def _numbers(columns: Sequence[NumericColumn], cells: Sequence[Cell | None]) -> Iterator[str]:
    """Yields the numbers of a row."""
    for column, cell in zip(columns, cells):
        yield "" if cell is None else _number(cell, column.has_stars)
        if column.has_p:
            yield "" if cell is None or cell.p_value is None else _p_value(cell.p_value)


def _number(cell: Cell, has_stars: bool) -> str:
    """Returns a number; numbers of a column keep their places whatever stars they have."""
    stars = ""
    if has_stars:
        number = 0 if cell.p_value is None else sum(cell.p_value < level for level in LEVELS)
        space = "*" * (len(LEVELS) - number)
        stars = f"^{{{'*' * number}}}" if not space else rf"^{{{'*' * number}\phantom{{{space}}}}}"
    if cell.ends:
        start, end = cell.ends
        return f"${cell.value}{stars}$ (${start}$ to ${end}$)"
    return rf"${cell.value} \pm {cell.error}{stars}$" if cell.error else f"${cell.value}{stars}$"


def _p_value(p_value: float) -> str:
    """Returns a p-value with two digits."""
    return f"$< {SMALLEST:.4f}$" if p_value < SMALLEST else f"${p_value:.2g}$"
