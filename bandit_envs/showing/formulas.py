"""Formulas between dollar signs in labels: which commands they may have."""

from __future__ import annotations

import functools
import re

from bandit_envs.base.checks import short_repr

GREEK = """
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu
xi pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""
LETTERS = """
ell hbar Im Re mathbb mathbf mathcal mathfrak mathit mathrm mathsf mathtt operatorname text
acute bar breve check ddot dot grave hat mathring overline tilde vec widehat widetilde
"""
LAYOUT = """
binom dfrac frac genfrac sqrt left right big Big bigg Bigg langle rangle lbrace rbrace lceil rceil
lfloor rfloor vert Vert quad qquad
"""
FUNCTIONS = """
arccos arcsin arctan arg cos cosh cot det dim exp gcd inf ker lim liminf limsup ln log max min Pr
sin sinh sup tan tanh
"""
RELATIONS = """
approx ast bullet cap cdot cdots circ cong coprod cup dagger ddagger ddots div dots emptyset equiv
exists forall geq gg gtrsim in infty int ldots leftarrow leftrightarrow leq lesssim ll mapsto mid mp
nabla ne neg neq ni notin oint oplus otimes parallel partial perp pm prec prime prod propto
rightarrow setminus sim simeq star subset subseteq succ sum supset supseteq times to top varnothing
vdots vee wedge Leftarrow Leftrightarrow Rightarrow
"""

COMMANDS = frozenset(f"{GREEK} {LETTERS} {LAYOUT} {FUNCTIONS} {RELATIONS}".split())
"""The commands of LaTeX in formulas. None of them reads, writes, defines or loads anything."""

SIGNS = r",:;!| {}_%&#"
"""What may follow a backslash alone: spaces, and signs that LaTeX does not write otherwise."""

COMMAND = re.compile(r"\\([A-Za-z]+|.?)")

NOT_ALONE = "^^", "%", "#", "&", "~"
"""What changes the text around a formula. ^^5c is a backslash, for example."""


def split_formulas(text: str) -> list[str]:
    """Returns the parts of a text between dollar signs: text and formulas by turns.

    >>> split_formulas("costs $5")
    ['costs $5']
    >>> split_formulas("UCB, $c=2$")
    ['UCB, ', 'c=2', '']
    """
    parts = text.split("$")
    return parts if len(parts) % 2 else [text]  # a lonely dollar begins no formula


def find_fault(formula: str) -> str:
    r"""Returns what a formula has that it must not; "" if there is nothing.

    >>> find_fault(r"\varepsilon_{1} = \input{x}")
    '\\input'
    """
    for command in COMMAND.finditer(formula):
        name = command[1]
        is_known = name in COMMANDS if name.isalpha() else bool(name) and name in SIGNS
        if not is_known:
            return command[0]
    plain = COMMAND.sub(" ", formula)
    for sign in NOT_ALONE:
        if sign in plain:
            return sign
    depth = 0
    for sign in plain:
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            break
    return "" if depth == 0 else "a brace without its other one"


def check_formulas(what: str, text: str) -> str:
    """Returns a text whose formulas can be drawn and written to LaTeX.

    Args:
        what: names the text in errors.
        text: with formulas between dollar signs, or without.

    Raises:
        ValueError: a formula has a command that is not in `COMMANDS`; or matplotlib, if it is
            installed, cannot draw it.
    """
    for formula in split_formulas(text)[1::2]:
        fault = find_fault(formula)
        if fault:
            expected = "letters, numbers and commands of formulas, such as \\alpha"
            found = f"{what} is {short_repr(text)}, whose formula has {fault}"
            raise ValueError(f"{found}; expected {expected}")
    problem = _parse(text) if "$" in text else ""
    if problem:
        raise ValueError(f"{what} is {short_repr(text)}, which matplotlib cannot draw: {problem}")
    return text


@functools.lru_cache(maxsize=1024)
def _parse(text: str) -> str:
    """Returns why matplotlib cannot draw a text; "" if it can, or is not installed."""
    try:
        from matplotlib.cbook import is_math_text  # noqa: PLC0415
        from matplotlib.mathtext import MathTextParser  # noqa: PLC0415
    except ModuleNotFoundError:
        return ""
    if not is_math_text(text):
        return ""
    try:
        MathTextParser("path").parse(text)
    except ValueError as error:
        return str(error).strip().splitlines()[-1]
    return ""
