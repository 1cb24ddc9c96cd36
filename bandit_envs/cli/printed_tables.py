"""Tables of results, of studies and of evaluations, as the command shows them in the terminal."""

from collections.abc import Sequence

import numpy as np

from bandit_envs.cli.console import OUT, new_table, print_grid
from bandit_envs.evaluations import Evaluation
from bandit_envs.evaluations.estimate_rows import EstimateRow, count_comparisons
from bandit_envs.evaluations.evaluation import PAGE, SEGMENTS
from bandit_envs.evaluations.showing.estimate_tables import (
    estimates_table,
    items_grid,
    title_of_items,
)
from bandit_envs.evaluations.showing.reasons import Reasons
from bandit_envs.names.visible import visible
from bandit_envs.showing.tables import Cell, p_text, with_decimals
from bandit_envs.showing.who_wins import explain_correction
from bandit_envs.studies import LoadedStudy
from bandit_envs.studies.definition.row_names import RowNames
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.differences import (
    compare_to,
    corrected_p_values,
    pairs_to_compare,
)
from bandit_envs.studies.results.expected import Comparison
from bandit_envs.studies.results.results import PairResult
from bandit_envs.studies.showing.study_cells import summary_cell
from bandit_envs.studies.showing.study_tables import explain_quantities

MAX_ROWS = 60
"""A table shows at most so many pairs; the files have all."""


def show_summary(found: LoadedStudy) -> None:
    """Prints what has finished of each policy in each environment."""
    study = found.study
    pairs = found.pairs
    headings = [shown.heading for shown in study.summary.values()]
    title = f"{study.title}\n{study.runs} runs of {study.steps} steps".lstrip()
    table = new_table(title, "policy", *headings, caption=_caption(found))
    shown = pairs[:MAX_ROWS]
    for pair, following in zip(shown, [*shown[1:], shown[-1]]):
        label = study.label(pair.environment, pair.policy)
        if pair.runs < study.runs:
            label += f" ({pair.runs} runs so far)"
        cells = [_cell(study, pair, name) for name in study.summary]
        table.add_row(label, *cells, end_section=_ends_group(study, pair, following))
    names = RowNames.of(study).policies
    for text in study.failed:
        table.add_row(f"{names[text]} (failed)")
    OUT.print(table)
    if any(_goes_on(study, pair) for pair in pairs):
        problem = f"Some runs have not stopped within {study.steps} steps"
        counted = "they count with so many steps, and with the answer that they had then"
        OUT.print(f"{problem}: {counted}. Take more steps.", soft_wrap=True)
    for note in found.notes:
        OUT.print(note, soft_wrap=True)
    if len(pairs) > MAX_ROWS:
        OUT.print(f"summary.csv has all {len(pairs)} rows")


def _ends_group(study: Study, pair: PairResult, following: PairResult) -> bool:
    """Returns whether a pair is the last of several in its environment, and others follow."""
    return len(study.policy) > 1 and not study.paired and pair.environment != following.environment


def _goes_on(study: Study, pair: PairResult) -> bool:
    """Returns whether a summary has runs of a policy that stops, and that have not stopped."""
    if "stopped" not in study.summary:
        return False
    shares = np.ravel(pair.statistics("stopped").mean)  # in per cent, after each step
    return bool(shares[-1] < 100.0)


def show_comparison(comparison: Sequence[Comparison]) -> None:
    """Prints expected values beside those measured: a table for each metric, step and source."""
    groups: dict[tuple[str, int, str], list[Comparison]] = {}
    for row in comparison:
        groups.setdefault((row.metric, row.step, row.source), []).append(row)
    for (metric, step, source), rows in groups.items():
        title = f"{metric} at step {step}\n{source}"
        table = new_table(title, "policy", "expected", "measured", "verdict")
        for row in rows:
            table.add_row(row.policy, row.expected, row.measured, row.verdict)
        OUT.print(table)


def show_differences(found: LoadedStudy, baseline: str | None = None) -> None:
    """Prints how the runs of each policy differ from those of one policy, by default the first."""
    study = found.study
    policy = found.find_policy(baseline)
    compared = pairs_to_compare(policy, study, found.pairs)
    if not compared:
        return
    # Holm corrects for all policies of an environment, so those without a row are tested, too.
    environments = {str(pair.environment) for pair in compared[:MAX_ROWS]}
    tested = [pair for pair in found.pairs if str(pair.environment) in environments]
    differences = compare_to(policy, study, tested)
    quantities = {name: study.summary[name] for name in differences[0].runs}
    headings = [shown.heading for shown in quantities.values()]
    table = new_table(
        f"Differences to {study.policy_label(policy)} on the same problems",
        "policy",
        *headings,
        caption="with 95% intervals of the mean over runs, and p-values by t-test and Wilcoxon's"
        " test, corrected by Holm for the number of policies in an environment",
    )
    p_values_of_all = corrected_p_values(differences)
    shown = differences[:MAX_ROWS]
    for difference, following, p_values in zip(shown, [*shown[1:], shown[-1]], p_values_of_all):
        cells = []
        for name, quantity in quantities.items():
            statistics = difference.statistics(name)
            low, high = map(float, statistics.interval(0.95))
            numbers = (float(statistics.mean), low, high)
            value, *ends = with_decimals(*numbers, fewest=quantity.decimals, error=high - low)
            t, wilcoxon = map(p_text, p_values[name])
            cells.append(f"{Cell(value, ends=(ends[0], ends[1]))}\np {t}, {wilcoxon}")
        pair = difference.pair
        ends_group = _ends_group(study, pair, following.pair)
        table.add_row(study.label(pair.environment, pair.policy), *cells, end_section=ends_group)
    OUT.print(table)
    if len(compared) > MAX_ROWS:
        OUT.print(f"In Python, load(folder).differences() has all {len(compared)} rows")


def show_estimates(found: Evaluation) -> None:
    """Prints who wins, the tables of an evaluation, its segments and items, and each warning once.

    If those of segments are long, files alone have them.
    """
    if found.headline():
        OUT.print(found.headline(), soft_wrap=True)
    in_segments = [row for rows in found.segments.values() for row in rows]
    is_long = len(in_segments) > MAX_ROWS
    reasons = Reasons.of(found.rows, found.segments)
    table = estimates_table(found, reasons)
    for group in table.groups[: 1 if is_long else None]:
        tested = in_segments if group.heading else found.rows
        print_grid(group.heading, table.grid(group), _caption_of_gains(tested))
    if is_long:
        OUT.print(
            f"{SEGMENTS} and {PAGE} have the tables of all values of {visible(found.by or '')}"
        )
    for text in reasons.lines()[: len(reasons.of_all) if is_long else None]:
        OUT.print(text, soft_wrap=True)
    items = items_grid(found.summary)
    if items:
        print_grid(title_of_items(found.summary), items)


def _caption_of_gains(rows: Sequence[EstimateRow]) -> str | None:
    """Returns what the p-values of gains are; None without any."""
    number = count_comparisons(rows)
    return f"p: of a gain of 0{explain_correction(number)}" if number else None


def _caption(found: LoadedStudy) -> str:
    """Returns what the numbers of a summary are."""
    study = found.study
    parts = [study.spread, *explain_quantities(study, found.pairs, study.summary)]
    has_quantiles = [each.heading for each in study.summary.values() if each.quantiles]
    if has_quantiles and not study.quantiles:
        parts.append(f"{' and '.join(has_quantiles)}: with quantiles over runs")
    return "; ".join(parts)


def _cell(study: Study, pair: PairResult, name: str) -> str:
    """Returns the last value of a quantity as text, with quantiles over runs below it."""
    lines = [str(summary_cell(study, pair, name))]
    quantiles = pair.quantiles(name) if pair.runs > 1 and not study.quantiles else {}
    if len(set(quantiles.values())) > 1:
        decimals = study.summary[name].decimals
        lines += [
            f"{100 * level:g}%: {round(found, decimals) + 0.0:.{decimals}f}"
            for level, found in quantiles.items()
        ]
    return "\n".join(lines)
