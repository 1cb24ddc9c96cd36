"""The summary of a study as a table of LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bandit_envs.base.checks import short_repr
from bandit_envs.metrics import Quantity
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.showing.latex import escape, explain_stars, to_latex
from bandit_envs.showing.tables import Cell, Group, NumericColumn, Table
from bandit_envs.studies.definition.changing import describe_regret
from bandit_envs.studies.definition.row_names import RowNames
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.differences import (
    compare_to,
    compared_quantities,
    corrected_p_values,
)
from bandit_envs.studies.showing.study_cells import paper_cell
from bandit_envs.studies.showing.study_tables import explain_quantities

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult


class Place(NamedTuple):
    """Where a number of a table belongs: texts of an environment and a policy, and a quantity."""

    environment: str
    policy: str
    quantity: str


def latex_table(
    study: Study,
    pairs: Sequence[PairResult],
    quantities: Sequence[str] | None,
    baseline: PolicyChoice | None,
    changing: Mapping[str, str],
) -> str:
    """Returns a table of the pairs that have finished all runs.

    A cell is a mean with its standard error, or with the study's quantiles, a median with these. A
    probability has Wilson's 95% interval. There is a column for each environment, or if there is
    one alone, for each quantity.

    Args:
        study: the study.
        pairs: what has finished of it.
        quantities: those that are shown; by default, those of the summary, and with a baseline,
            those of whole runs.
        baseline: stars say which policies differ from it; None for no stars.
        changing: environments whose actions change the state, as `LoadedStudy` has them.
    """
    shown = _find_quantities(study, quantities, is_tested=baseline is not None)
    finished = [pair for pair in pairs if pair.runs == study.runs]
    p_values = {} if baseline is None else _compare(study, finished, baseline)
    cells = {}
    for pair in finished:
        for name in shown:
            place = Place(str(pair.environment), str(pair.policy), name)
            cell = paper_cell(study, pair, name)
            cells[place] = cell._replace(p_value=p_values.get(place))
    caption = [
        *_title(study),
        f"{study.runs} runs of {study.steps} steps.",
        *_explain(study, finished, shown, baseline),
        *map(escape, describe_regret(study, changing, shown)),
        *_explain_missing(study, len(finished)),
    ]
    return to_latex(_make_table(study, shown, cells, has_stars=baseline is not None), caption)


def _find_quantities(
    study: Study, names: Sequence[str] | None, is_tested: bool
) -> dict[str, Quantity]:
    """Returns the quantities that are shown."""
    known = compared_quantities(study) if is_tested else study.quantities
    if names is None:
        return {name: each for name, each in known.items() if name in study.summary}
    for name in names:
        if name not in known:
            expected = f"expected some of {', '.join(known)}"
            raise ValueError(f"quantities has {short_repr(name)}; {expected}")
    return {name: known[name] for name in names}


def _compare(
    study: Study, pairs: Sequence[PairResult], baseline: PolicyChoice
) -> dict[Place, float]:
    """Returns the p-values of no difference to the baseline."""
    differences = compare_to(baseline, study, pairs)
    if not differences:
        raise ValueError(
            f"nothing has finished to compare with {baseline}; expected two runs or more of it and"
            " of another policy in an environment"
        )
    found = {}
    for difference, p_values in zip(differences, corrected_p_values(differences)):
        pair = difference.pair
        for name in difference.runs:
            found[Place(str(pair.environment), str(pair.policy), name)] = p_values[name].t
    return found


def _make_table(
    study: Study, shown: Mapping[str, Quantity], cells: Mapping[Place, Cell], has_stars: bool
) -> Table:
    """Returns the table of the policies that have numbers."""
    labels = {str(each): study.environment_label(each) for each in study.environment}
    headings = {name: each.heading or each.axis or name for name, each in shown.items()}
    if len(labels) > 1:
        columns = list(labels.values())
        groups = {headings[name]: [(environment, name) for environment in labels] for name in shown}
    else:
        columns = list(headings.values())
        groups = {"": [(environment, name) for environment in labels for name in shown]}
    found = [_make_group(study, heading, places, cells) for heading, places in groups.items()]
    return Table(
        stubs=["policy"],
        columns=[NumericColumn(heading, has_stars) for heading in columns],
        groups=[group for group in found if group.rows],
    )


def _make_group(
    study: Study,
    heading: str,
    places: Iterable[tuple[str, str]],
    cells: Mapping[Place, Cell],
) -> Group:
    """Returns rows of policies, with numbers of environments and quantities."""
    at = list(places)
    rows = []
    for policy in {str(each): each for each in study.policy}.values():
        row = [cells.get(Place(environment, str(policy), name)) for environment, name in at]
        if any(row):
            rows.append(([study.policy_label(policy)], row))
    return Group(heading, rows)


def _title(study: Study) -> list[str]:
    """Returns the title as a sentence; none if there is no title."""
    title = escape(study.title)
    ends = title.endswith((".", "?", "!"))
    return [title if ends else f"{title}."] if title else []


def _explain(
    study: Study,
    pairs: Sequence[PairResult],
    shown: Mapping[str, Quantity],
    baseline: PolicyChoice | None,
) -> list[str]:
    """Returns sentences that say what the numbers are."""
    sentences = []
    if study.quantiles:
        sentences.append(escape(f"{study.spread[0].upper()}{study.spread[1:]}."))
    elif study.runs > 1:
        sentences.append(
            rf"Means $\pm$ one standard error over the $n = {study.runs}$ runs:"
            f" their standard deviation, with $n - 1$, over the root of $n$."
        )
    found = explain_quantities(study, pairs, shown)
    sentences += [escape(f"{text[0].upper()}{text[1:]}.") for text in found]
    if baseline is not None:
        policy = escape(study.policy_label(baseline))
        test = f"a paired t-test of the difference to {policy}"
        corrected = "corrected by Holm for the number of policies in an environment"
        sentences.append(f"{explain_stars()}: by {test}, {corrected}.")
    return sentences


def _explain_missing(study: Study, finished: int) -> list[str]:
    """Returns sentences that say what is left out; none if nothing is."""
    sentences = []
    missing = len(study.pairs()) - finished
    if missing:
        sentences.append(f"Left out, as not finished: {missing} of {finished + missing}.")
    if study.failed:
        names = RowNames.of(study).policies
        failed = ", ".join(names[text] for text in study.failed)
        sentences.append(escape(f"Left out, as they failed: {failed}."))
    return sentences
