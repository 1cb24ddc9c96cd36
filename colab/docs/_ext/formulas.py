"""The formulas of docstrings, which are plain text there, as LaTeX."""

import re

GREEK = ["alpha", "beta", "gamma", "delta", "eta", "theta", "mu", "pi", "sigma", "tau", "xi"]
NAMED = {
    **{name: rf"\{name}" for name in (*GREEK, "cos", "exp", "ln", "log", "max", "min", "sum")},
    **{name: rf"\operatorname{{{name}}}" for name in ("argmax", "argmin")},
    **{"epsilon": r"\varepsilon", "phi": r"\varphi", "mod": r"\bmod"},
}
SIGNS = {
    **{"~": r"\sim ", "<=": r"\le ", ">=": r"\ge ", "*": r"\cdot ", ".": r"\cdot "},
    **{"<-": r"\leftarrow ", "{": r"\{", "}": r"\}", "...": r"\dots "},
}
RELATION = r"(?:[~=|]|[+*]=)"  # between spaces that only align
TOKEN = re.compile(
    r"""(?P<root>sqrt\()|\^(?P<power>\(|-?\d+(?:/\d+)?|\w+)
    |(?P<one>1(?=\[))|(?P<star>q\*)|(?P<quoted>"\w+")|(?P<possessive>'s\b)|(?P<prime>')
    |(?P<space>\ )
    |(?P<base>[A-Za-z]+)_(?P<index>\{[^}]*\}|[A-Za-z0-9](?!\w)|(?<=sum_)\w+)
    |(?P<name>[A-Za-z]\w*)|(?P<sign>\d+(?:\.\d+)?|\.\.\.|[<>]=|<-|.)""",
    re.VERBOSE,
)


def is_formulas(text: str) -> bool:
    """Whether an indented block of a docstring is not a list of hooks or of arrays."""
    return not re.search(r"->|\[B", text)


def lines(text: str) -> list[list[str]]:
    """Returns the formulas of each line, which several spaces separate."""
    text = re.sub(rf"(?<=\S) +(?={RELATION} )|(argm\w+_\w) +", r"\1 ", text)
    return [_line(line) for line in text.splitlines()]


def _line(line: str) -> list[str]:
    parts = re.split(" {2,}", line.strip())
    updates = [re.sub(r"^(.*?) ([+*])= ", r"\1 <- \1 \2 ", part) for part in parts]
    first, *rest = map(latex, updates)
    return [r"\qquad " * line.startswith(" ") + first, *rest]


def latex(text: str) -> str:
    """Returns a formula as LaTeX; a word that is not a mathematical name stays a word."""
    parts, place = [], 0
    while place < len(text):
        found = TOKEN.match(text, place)
        assert found
        place = found.end()
        if found["root"] or found["power"] == "(":
            end = _closing(text, place)
            inner, place = latex(text[place:end]), end + 1
            parts.append(rf"\sqrt{{{inner}}}" if found["root"] else rf"^{{({inner})}}")
        elif found["name"] == "N" and "," in text[place + 1 : _closing(text, place + 1)]:
            parts.append(r"\mathcal{N}")  # of a mean and a variance; N(a) is a count
        else:
            parts.append(_token(found))
    return _spaced("".join(parts))


def _token(found: re.Match[str]) -> str:
    kind, whole = str(found.lastgroup), found[0]
    written = {
        "one": r"\mathbb{1}",
        "star": "q_{*}",
        "quoted": rf"\text{{“{whole[1:-1]}”}}",
        "possessive": r"\text{'s}",
        "prime": r"^{\prime}",
        "space": r"\;",
        "sign": SIGNS.get(whole, whole),
    }
    if kind == "power":
        power = found["power"]
        return r"^{\top}" if power == "T" else rf"^{{{latex(power)}}}"
    if kind == "index" and (len(found["base"]) == 1 or found["base"] in NAMED):
        return rf"{_name(found['base'])}_{{{latex(found['index'].strip('{}'))}}}"
    return written[kind] if kind in written else _name(whole)


def _name(name: str) -> str:
    return name if len(name) == 1 else NAMED.get(name, rf"\text{{{name}}}")


def _spaced(formula: str) -> str:
    """Leaves spaces to the operators, and joins words."""
    formula = re.sub(r"\\;(?=[=+/<>-]|\\(?:le|ge|cdot|bmod))", " ", formula)
    formula = re.sub(r"([=+/<>-]|\\(?:leftarrow|le|ge|cdot|bmod) ?)\\;", r"\1 ", formula)
    words = re.compile(r"(?:\\text\{[^}]*\}\\;)+\\text\{[^}]*\}")
    return words.sub(lambda found: found[0].replace(r"}\;\text{", " "), formula)


def _closing(text: str, place: int) -> int:
    """Returns where the parenthesis closes that was opened before a place."""
    depth = 1
    while depth and place < len(text):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return place - 1
