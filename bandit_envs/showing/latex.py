"""Tables of LaTeX: numbers with their errors, in rows and groups of rows, below a caption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bandit_envs.showing.formulas import find_fault, split_formulas
from bandit_envs.showing.tables import SMALLEST, Cell, Column, Table

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

SETTINGS = (
    "uncertainty-mode = separate, table-align-uncertainty = false, table-align-text-after = false"
)
"""Of siunitx: errors and stars follow their numbers."""


def to_latex(table: Table, caption: Sequence[str], siunitx: bool = False) -> str:
    """Returns a table in the style of the package booktabs. Headings and texts are escaped.

    Args:
        table: the table.
        caption: sentences of LaTeX that say what it shows.
        siunitx: whether the package siunitx aligns the numbers.
    """
    kinds = "".join(_kind(table, place, siunitx) for place in range(len(table.columns)))
    sets = [rf"\sisetup{{{SETTINGS}}}"] if siunitx else []
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{' '.join(caption)}}}\medskip",
        *sets,
        rf"\begin{{tabular}}{{{'l' * len(table.stubs)}{kinds}}}",
        r"\toprule",
        _headings(table, siunitx),
    ]
    for group in table.groups:
        lines.append(r"\midrule")
        if group.heading:
            width = len(table.stubs) + sum(1 + each.has_p for each in table.columns)
            lines.append(_row([rf"\multicolumn{{{width}}}{{l}}{{{escape(group.heading)}}}"]))
        for texts, cells in group.rows:
            lines.append(_row([*map(escape, texts), *_numbers(table.columns, cells, siunitx)]))
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _kind(table: Table, place: int, siunitx: bool) -> str:
    """Returns how LaTeX aligns a column of numbers, and that of its p-values."""
    column = table.columns[place]
    cells = [cells[place] for group in table.groups for _, cells in group.rows]
    is_aligned = siunitx and not any(cell and cell.ends for cell in cells)
    kind = _aligned(column, [cell for cell in cells if cell]) if is_aligned else "r"
    return f"{kind}r" if column.has_p else kind


def _headings(table: Table, siunitx: bool) -> str:
    """Returns the row of headings, which siunitx takes for no numbers in braces."""
    cells = [*map(escape, table.stubs)]
    for column in table.columns:
        heading = escape(column.heading)
        cells.append(f"{{{heading}}}" if siunitx else heading)
        if column.has_p:
            cells.append("$p$")
    return _row(cells)


def _numbers(
    columns: Sequence[Column], cells: Sequence[Cell | None], siunitx: bool
) -> Iterator[str]:
    """Yields the numbers of a row."""
    for column, cell in zip(columns, cells):
        if cell is None:
            yield ""
        elif siunitx and not cell.ends:
            yield _aligned_number(cell, column.has_stars)
        else:
            yield _plain_number(cell, column.has_stars)
        if column.has_p:
            yield "" if cell is None or cell.p_value is None else p_text(cell.p_value)


def escape(text: str) -> str:
    r"""Returns text as LaTeX writes it.

    Formulas between dollar signs stay, if all of them are made of the commands that labels may
    have. Else the text has no formula.

    >>> print(escape("ε-greedy, ε=0.1"))
    $\varepsilon$-greedy, $\varepsilon$=0.1
    """
    parts = split_formulas(text)
    if any(map(find_fault, parts[1::2])):
        parts = [text]
    for place in range(0, len(parts), 2):
        parts[place] = escape_signs(parts[place])
    return "$".join(parts)


def escape_signs(text: str) -> str:
    r"""Returns text without formulas as LaTeX writes it.

    >>> print(escape_signs("from $5 to $6"))
    from \$5 to \$6
    """
    return "".join(COMMANDS.get(sign, sign) for sign in text)


def p_text(p_value: float) -> str:
    """Returns a p-value with two digits.

    >>> p_text(0.0314), p_text(3e-7)
    ('$0.031$', '$< 0.0001$')
    """
    return f"$< {SMALLEST:.4f}$" if p_value < SMALLEST else f"${p_value:.2g}$"


def explain_stars() -> str:
    """Returns the words that say what stars are of a p-value."""
    names = [place * "*" for place in range(1, len(LEVELS) + 1)]
    *first, last = [f"{name} $p < {level:g}$" for name, level in zip(names, LEVELS)]
    return f"{', '.join(first)} and {last}"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _stars(cell: Cell) -> str:
    """Returns a star for each level that a p-value is below."""
    if cell.p_value is None:
        return ""
    return "*" * sum(cell.p_value < level for level in LEVELS)


def _plain_number(cell: Cell, has_stars: bool) -> str:
    """Returns a number; numbers of a column keep their places whatever stars they have."""
    stars = ""
    if has_stars:
        found = _stars(cell)
        space = rf"\phantom{{{'*' * (len(LEVELS) - len(found))}}}"
        stars = f"^{{{found if len(found) == len(LEVELS) else found + space}}}"
    if cell.ends:
        start, end = cell.ends
        return f"${cell.value}{stars}$ (${start}$ to ${end}$)"
    return rf"${cell.value} \pm {cell.error}{stars}$" if cell.error else f"${cell.value}{stars}$"


def _aligned_number(cell: Cell, has_stars: bool) -> str:
    """Returns a number as siunitx reads it."""
    number = f"{cell.value} +- {cell.error}" if cell.error else cell.value
    stars = _stars(cell) if has_stars else ""
    return f"{number} {{$^{{{stars}}}$}}" if stars else number


def _aligned(column: Column, cells: Sequence[Cell]) -> str:
    """Returns the column of siunitx that has room for numbers."""
    sign = "-" if any(cell.value.startswith("-") for cell in cells) else ""
    before, after = _digits([cell.value.lstrip("-") for cell in cells])
    error = max((len(cell.error.replace(".", "").lstrip("0")) for cell in cells), default=0)
    uncertainty = f"({error})" if error else ""
    after_text = ", table-space-text-post = {$^{***}$}" if column.has_stars else ""
    number = f"{sign}{before}.{after}{uncertainty}"
    return f"S[table-format = {number}{after_text}]"


def _digits(numbers: Sequence[str]) -> tuple[int, int]:
    """Returns the most digits before and after the point of numbers."""
    parts = [number.partition(".") for number in numbers]
    before = max((len(first) for first, _, _ in parts), default=1)
    after = max((len(last) for _, _, last in parts), default=0)
    return before, after
