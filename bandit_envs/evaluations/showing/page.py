"""An evaluation as one page of HTML that needs no server and no network."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.evaluations.estimate_rows import EstimateRow
from bandit_envs.evaluations.showing.figures import draw_estimates, draw_segments, draw_weights
from bandit_envs.evaluations.showing.report import PolicyWeights, Report
from bandit_envs.studies.plots import to_image
from bandit_envs.studies.showing.page_parts import PAGE, STYLE, picture

NUMBERS = """
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
"""


def report_page(report: Report) -> str:
    """Returns a page with the tables, the figures, the warnings and the notes of an evaluation."""
    title = f"Policies on {report.log}"
    every = [*report.rows, *(row for rows in report.segments.values() for row in rows)]
    texts = list(dict.fromkeys(row.warnings for row in every if row.warnings))
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        *(f"<p>{html.escape(line)}</p>" for line in report.title.splitlines()),
        "<h2>Estimates and gains</h2>",
        *(f"<p>{html.escape(line)}</p>" for line in _explain_rows(report)),
        _estimates_table(report, report.rows, texts),
        *(f"<p>{html.escape(note)}</p>" for note in report.notes),
        picture("Estimates and gains", to_image(draw_estimates(report.rows, report.baseline))),
    ]
    if texts:
        parts += ["<h2>Warnings</h2>", "<ol>"]
        parts += [f"<li>{html.escape(text)}</li>" for text in texts]
        parts.append("</ol>")
    if report.segments:
        parts += _segments(report, texts)
    parts += [
        "<h2>Weights and overlap</h2>",
        *(f"<p>{html.escape(line)}</p>" for line in WEIGHTS_EXPLAINED),
        _weights_table(report.weights),
        picture(
            "Weights",
            to_image(draw_weights({each.policy: each.histogram for each in report.weights})),
        ),
    ]
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{STYLE}{NUMBERS}</style>",
    ]
    return PAGE.format(head="\n".join(head), body="\n".join(parts))


WEIGHTS_EXPLAINED = (
    "A weight is the policy's probability of a logged action over that of the policy that made the "
    "log. Where policies overlap, weights are near 1; their mean should be near 1 in any case.",
    "Effective rows are how many rows of equal weight would tell as much. If the log has all "
    "probabilities, they are also shown as expected, whatever actions were drawn. A Pareto k above "
    "0.5 says that the tail of the weights is heavy. A few decide if the largest is large, too.",
)


def _explain_rows(report: Report) -> Iterator[str]:
    """Yields what the numbers of the tables are."""
    level = f"{100.0 * report.confidence:.4g}%"
    first = f"The first row, {LOGGED}, is the policy that made the log"
    yield f"{first}, whose value is its mean reward. Intervals hold with probability {level} each."
    other = "the logged one" if report.baseline == LOGGED else report.baseline
    gain = f"A gain is how much more a policy would have earned than {other}"
    corrected = "P-values are of no gain, corrected by Holm for the number of comparisons"
    yield f"{gain}, from the same rows. {corrected}."


def _segments(report: Report, texts: Sequence[str]) -> Iterator[str]:
    """Yields the part of the page that has the segments."""
    yield f"<h2>By {html.escape(report.by or '')}</h2>"
    if any(row.gain_rows for rows in report.segments.values() for row in rows):
        yield picture("Gains by segment", to_image(draw_segments(report.segments, report.baseline)))
    for name, rows in report.segments.items():
        if rows:
            yield f"<h3>{html.escape(f'{report.by}: {name}')}</h3>"
            yield _estimates_table(report, rows, texts)


def _estimates_table(report: Report, rows: Sequence[EstimateRow], texts: Sequence[str]) -> str:
    """Returns a table of estimates and gains, whose warnings are the places of texts."""
    headings = ["policy", "estimator", "value", "interval", f"gain over {report.baseline}"]
    headings += ["interval", "p", "rows", "effective rows", "warning"]
    has_truth = any(row.truth == row.truth for row in rows)  # not NaN
    if has_truth:
        headings.insert(2, "truth")
    lines = []
    for row in rows:
        has_gain = row.gain_rows > 0
        cells = [
            row.policy,
            row.estimator,
            f"{row.value:.4f}",
            f"{row.low:.4f} to {row.high:.4f}",
            f"{row.gain:+.4f}" if has_gain else "",
            f"{row.gain_low:+.4f} to {row.gain_high:+.4f}" if has_gain else "",
            _p_value(row.p_value) if has_gain else "",
            f"{row.rows:,}",
            f"{row.effective_sample_size:,.0f}",
            f"[{texts.index(row.warnings) + 1}]" if row.warnings else "",
        ]
        if has_truth:
            cells.insert(2, f"{row.truth:.4f}")
        lines.append(cells)
    return _table(headings, lines, texts=2)


def _weights_table(weights: Sequence[PolicyWeights]) -> str:
    """Returns the table of what weights say."""
    headings = ["policy", "rows", "weights of 0", "largest", "mean", "± (standard error)"]
    headings += ["effective rows", "expected", "Pareto k"]
    lines = []
    for each in weights:
        histogram = each.histogram
        cells = [
            each.policy,
            f"{histogram.size:,}",
            f"{histogram.zeros / max(histogram.size, 1):.1%}",
            f"{histogram.largest:.3g}",
            f"{each.mean:.4f}",
            f"{each.mean_error:.4f}",
            f"{each.effective_rows:,.0f}",
            "" if each.expected_rows is None else f"{each.expected_rows:,.0f}",
            f"{each.pareto_k:.2f}",
        ]
        lines.append(cells)
    return _table(headings, lines, texts=1)


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]], texts: int) -> str:
    """Returns a table, whose first columns are of text, and the others of numbers."""
    kinds = ["" if place < texts else ' class="number"' for place in range(len(headings))]

    def cells(tag: str, values: Sequence[str]) -> str:
        found = (f"<{tag}{kind}>{html.escape(value)}</{tag}>" for kind, value in zip(kinds, values))
        return f"<tr>{''.join(found)}</tr>"

    body = "\n".join([cells("th", headings), *(cells("td", line) for line in lines)])
    return f'<div class="wide"><table>{body}</table></div>'


def _p_value(value: float) -> str:
    return "<1e-4" if value < 1e-4 else f"{value:.2g}"
