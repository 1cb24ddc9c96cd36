"""The summary of a study as a table of LaTeX."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from bandit_envs.base.checks import short_repr
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.metrics import Statistics
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.showing.latex import escape, escape_signs, explain_stars, to_latex
from bandit_envs.showing.tables import Cell, Column, Group, Table, rounded
from bandit_envs.studies.definition.shown import ShownQuantity
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.differences import compare_to, corrected_p_values
from bandit_envs.studies.showing.tables import explain_quantities

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult


class Layout(TypedDict, total=False):
    """What a table of LaTeX shows of a study; all are False where they are not given."""

    differences: bool
    """Differences of the runs to those of the baseline, in place of the means of runs."""

    stars: bool
    """Stars where the difference to the baseline is larger than chance makes it."""

    p_values: bool
    """P-values of no difference to the baseline, in columns of their own."""

    wide: bool
    """A column for each environment, in place of one for each quantity."""

    siunitx: bool
    """Numbers in columns of the package siunitx, in its version 3."""


class Compared(NamedTuple):
    """How the runs of a policy differ from those of the baseline in a quantity."""

    statistics: Statistics
    p_value: float


Place = tuple[str, str, str]
"""An environment, a policy and a quantity."""


def latex_table(
    study: Study,
    pairs: Sequence[PairResult],
    quantities: Sequence[str] | None,
    baseline: PolicyChoice,
    **layout: typing.Unpack[Layout],
) -> str:
    """Returns a table of the pairs that have finished all runs.

    A cell is a mean with its standard error, or with the study's quantiles, a median with these. A
    probability has Wilson's 95% interval.

    Args:
        study: the study.
        pairs: what has finished of it.
        quantities: the columns; by default, those of the summary, and of a comparison, those of
            whole runs.
        baseline: the policy that others are compared with.
        **layout: what is shown.
    """
    is_tested = compares(layout)
    columns = _find_columns(study, quantities, is_tested)
    finished = [pair for pair in pairs if pair.runs == study.runs]
    compared = _compare(study, finished, baseline) if is_tested else {}
    if is_tested and not compared:
        raise ValueError(
            f"nothing has finished to compare with {baseline}; expected two runs or more of it and"
            " of another policy in an environment"
        )
    cells = _find_cells(study, finished, columns, compared, bool(layout.get("differences")))
    caption = [
        *_title(study),
        f"{study.runs} runs of {study.steps} steps.",
        *_explain(study, finished, columns, baseline, layout),
        *_explain_missing(study, len(finished)),
    ]
    table = Table(
        stubs=["policy"],
        columns=_make_columns(study, columns, layout),
        groups=_make_groups(study, columns, cells, bool(layout.get("wide"))),
    )
    return to_latex(table, caption, bool(layout.get("siunitx")))


def compares(layout: Layout) -> bool:
    """Whether a table compares policies with a baseline; TypeError for what no layout has."""
    known = Layout.__annotations__
    for name in layout:
        if name not in known:
            raise TypeError(f"layout has {short_repr(name)}; expected some of {', '.join(known)}")
    return bool(layout.get("differences") or layout.get("stars") or layout.get("p_values"))


def _find_columns(
    study: Study, names: Sequence[str] | None, is_tested: bool
) -> dict[str, ShownQuantity]:
    """Returns the quantities that are shown."""
    known = study.summary if is_tested else study.quantities
    if is_tested:  # only quantities of whole runs are compared
        known = {name: each for name, each in known.items() if each.quantity.kind != "per_step"}
    if names is None:
        return {name: each for name, each in known.items() if name in study.summary}
    for name in names:
        if name not in known:
            expected = f"expected some of {', '.join(known)}"
            raise ValueError(f"quantities has {short_repr(name)}; {expected}")
    return {name: known[name] for name in names}


def _compare(
    study: Study, pairs: Sequence[PairResult], baseline: PolicyChoice
) -> dict[Place, Compared]:
    """Returns how policies differ from the baseline."""
    differences = compare_to(baseline, study, pairs)
    found = {}
    for difference, p_values in zip(differences, corrected_p_values(differences)):
        pair = difference.pair
        for name in difference.runs:
            place = (str(pair.environment), str(pair.policy), name)
            found[place] = Compared(difference.statistics(name), p_values[name].t)
    return found


def _find_cells(
    study: Study,
    pairs: Iterable[PairResult],
    columns: Mapping[str, ShownQuantity],
    compared: Mapping[Place, Compared],
    of_differences: bool,
) -> dict[Place, Cell]:
    """Returns the numbers of the table, by their places."""
    cells = {}
    for pair in pairs:
        for name, shown in columns.items():
            place = (str(pair.environment), str(pair.policy), name)
            found = compared.get(place)
            if not of_differences:
                p_value = found.p_value if found else None
                cells[place] = _cell_of_pair(study, pair, name)._replace(p_value=p_value)
            elif found:
                cells[place] = _cell_of_difference(found, shown)
    return cells


def _cell_of_pair(study: Study, pair: PairResult, name: str) -> Cell:
    """Returns the last value of a quantity, with what it varies by over runs."""
    value, low, high = pair.last(name, study)
    shown = study.quantities[name]
    error = max(high - value, value - low)
    texts = rounded(value, low, high, error, error=error)
    center, start, end, spread = texts or shown.texts(value, low, high, error, error=error)
    if pair.runs == 1:
        return Cell(center)
    if study.quantiles or shown.quantity.is_probability:
        return Cell(center, ends=(start, end))
    return Cell(center, spread)


def _cell_of_difference(found: Compared, shown: ShownQuantity) -> Cell:
    """Returns the mean difference of the runs, with its standard error."""
    mean = float(found.statistics.mean)
    error = float(found.statistics.standard_error)
    center, spread = rounded(mean, error, error=error) or shown.texts(mean, error, error=error)
    return Cell(center, spread, p_value=found.p_value)


def _make_columns(
    study: Study, columns: Mapping[str, ShownQuantity], layout: Layout
) -> list[Column]:
    """Returns the columns of numbers."""
    if layout.get("wide"):
        headings = [study.environment_label(each) for each in _environments(study)]
    else:
        headings = [_heading(name, each) for name, each in columns.items()]
    has_stars = bool(layout.get("stars"))
    has_p = bool(layout.get("p_values"))
    return [Column(heading, has_stars, has_p) for heading in headings]


def _make_groups(
    study: Study, columns: Mapping[str, ShownQuantity], cells: Mapping[Place, Cell], wide: bool
) -> list[Group]:
    """Returns the rows of policies that have numbers: by quantity if wide, or by environment."""
    environments = _environments(study)
    policies = list({str(each): each for each in study.policy}.values())
    groups = []
    if wide:
        for name, shown in columns.items():
            places = [(str(each), name) for each in environments]
            heading = _heading(name, shown)
            groups.append(_make_group(study, heading, policies, places, cells))
    else:
        for environment in environments:
            places = [(str(environment), name) for name in columns]
            heading = study.environment_label(environment) if len(environments) > 1 else ""
            groups.append(_make_group(study, heading, policies, places, cells))
    return [group for group in groups if group.rows]


def _make_group(
    study: Study,
    heading: str,
    policies: Sequence[PolicyChoice],
    places: Sequence[tuple[str, str]],
    cells: Mapping[Place, Cell],
) -> Group:
    """Returns rows of policies, with numbers of environments and quantities."""
    rows = []
    for policy in policies:
        row = [cells.get((environment, str(policy), name)) for environment, name in places]
        if any(row):
            rows.append(([study.policy_label(policy)], row))
    return Group(heading, rows)


def _environments(study: Study) -> list[EnvironmentChoice]:
    """Returns the environments, each once."""
    return list({str(each): each for each in study.environment}.values())


def _heading(name: str, shown: ShownQuantity) -> str:
    """Returns the heading of a quantity."""
    return shown.heading or shown.axis or name


def _title(study: Study) -> list[str]:
    """Returns the title as a sentence; none if there is no title."""
    title = escape_signs(study.title)
    ends = title.endswith((".", "?", "!"))
    return [title if ends else f"{title}."] if title else []


def _explain(
    study: Study,
    pairs: Sequence[PairResult],
    columns: Mapping[str, ShownQuantity],
    baseline: PolicyChoice,
    layout: Layout,
) -> list[str]:
    """Returns sentences that say what the numbers are."""
    policy = escape(study.policy_label(baseline))
    error = (
        rf"$\pm$ one standard error over the $n = {study.runs}$ runs:"
        f" their standard deviation, with $n - 1$, over the root of $n$."
    )
    sentences = []
    if layout.get("differences"):
        sentences += [f"Mean differences to {policy} on the same problems, {error}"]
    elif study.quantiles:
        sentences += [escape(f"{study.spread[0].upper()}{study.spread[1:]}.")]
    elif study.runs > 1:
        sentences += [f"Means {error}"]
    if not layout.get("differences"):
        found = explain_quantities(study, pairs, columns)
        sentences += [escape(f"{text[0].upper()}{text[1:]}.") for text in found]
    names = [explain_stars()] if layout.get("stars") else []
    names += ["$p$"] if layout.get("p_values") else []
    if names:
        test = f"a paired t-test of the difference to {policy}"
        corrected = "corrected by Holm for the number of policies in an environment"
        sentences.append(f"{'; '.join(names)}: by {test}, {corrected}.")
    return sentences


def _explain_missing(study: Study, finished: int) -> list[str]:
    """Returns the sentence that says how much is left out; none if nothing is."""
    missing = len(study.pairs()) - finished
    return [f"Left out, as not finished: {missing} of {finished + missing}."] if missing else []
