"""The summary of a study as a table of LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bandit_envs.base.checks import short_repr
from bandit_envs.studies.definition.formulas import find_fault, split_formulas
from bandit_envs.studies.definition.shown import ShownQuantity
from bandit_envs.studies.definition.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

COMMANDS = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "ε": r"$\varepsilon$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "σ": r"$\sigma$",
    "±": r"$\pm$",
    "₀": r"$_0$",
    "₁": r"$_1$",
    "…": r"\ldots{}",
}
"""How LaTeX writes signs."""


def latex_table(
    study: Study, pairs: Sequence[PairResult], quantities: Sequence[str] | None = None
) -> str:
    r"""Returns a table with a row for each pair that has finished all runs.

    It is in the style of the package booktabs. A cell is a mean with its standard error, or with
    the study's quantiles, a median with these. A probability has Wilson's 95% interval.

    Args:
        study: the study.
        pairs: what has finished of it.
        quantities: the columns; by default, those of the summary.
    """
    columns = _find_columns(study, quantities)
    headings = [escape(each.heading or each.axis or name) for name, each in columns.items()]
    lines = [
        rf"\begin{{tabular}}{{l{len(columns) * 'r'}}}",
        r"\toprule",
        _row(["policy", *headings]),
    ]
    environment = ""
    for pair in pairs:
        if pair.runs < study.runs:
            continue
        if len(study.environment) > 1 and environment != str(pair.environment):
            environment = str(pair.environment)
            label = escape(study.environment_label(pair.environment))
            lines += [r"\midrule", _row([rf"\multicolumn{{{1 + len(columns)}}}{{l}}{{{label}}}"])]
        elif not environment:
            environment = str(pair.environment)
            lines.append(r"\midrule")
        cells = [_cell(study, pair, name, each) for name, each in columns.items()]
        lines.append(_row([escape(study.policy_label(pair.policy)), *cells]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


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
        parts[place] = "".join(COMMANDS.get(sign, sign) for sign in parts[place])
    return "$".join(parts)


def _find_columns(study: Study, names: Sequence[str] | None) -> dict[str, ShownQuantity]:
    """Returns the quantities of the columns."""
    if names is None:
        return study.summary
    known = study.quantities
    for name in names:
        if name not in known:
            expected = f"expected some of {', '.join(known)}"
            raise ValueError(f"quantities has {short_repr(name)}; {expected}")
    return {name: known[name] for name in names}


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(study: Study, pair: PairResult, name: str, shown: ShownQuantity) -> str:
    """Returns the last value of a quantity, with what it varies by over runs."""
    value, low, high = pair.last(name, study)
    error = high - value
    center, start, end, spread = shown.texts(value, low, high, error, error=error)
    if pair.runs == 1:
        return f"${center}$"
    if study.quantiles or shown.quantity.is_probability:
        return f"${center}$ (${start}$ to ${end}$)"
    return rf"${center} \pm {spread}$"
