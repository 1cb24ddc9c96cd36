"""The subcommand `route`: what routers score and cost, over prices and at a budget."""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bandit_envs.cli.console import ERR, OUT, RowProgress, print_grid
from bandit_envs.cli.evaluate import output_folder
from bandit_envs.cli.learn import output_file
from bandit_envs.datasets import Outcomes, read_outcomes
from bandit_envs.evaluations.routing import PriceCurves, PricePoint, evaluate_prices, learn_router
from bandit_envs.evaluations.routing.curves import TABLE
from bandit_envs.logged import write_policy
from bandit_envs.names.visible import visible
from bandit_envs.showing.tables import Cell

EXPLAINED = (
    "Scores and costs are of a held-out request; gains are over the best mix of single models with "
    "the same cost"
)
"""What the numbers of the tables are."""

SMALLEST_SHARE = 0.005
"""The share of requests from which on a model is shown."""


def route(options: argparse.Namespace) -> int:
    """Tries routers at prices; writes and shows a table and a figure.

    Returns 1 if the interval of a gain reaches below --fail-below, or if a router cannot keep to
    the budget; then no router is written.
    """
    folder = output_folder(options, f"{options.table.stem}-prices", TABLE, "results of prices")
    prices = None if options.prices is None else _numbers(options.prices)
    if options.fail_below is not None:
        _check_one_price(options, prices, "--fail-below")
    if options.router is not None:
        _check_router(options, prices)
    outcomes = _read(options)
    if options.router is not None:
        _check_writable(options.policy[0], outcomes)
    with RowProgress() as progress:
        curves = evaluate_prices(
            outcomes,
            options.policy,
            prices,
            budget=options.budget,
            all_outcomes=options.all_outcomes,
            observer=progress,
        )
    curves.write(folder)
    _show(curves)
    for note in curves.notes:
        OUT.print(note, soft_wrap=True)
    OUT.print(f"Results: {folder}", soft_wrap=True)
    code = 0 if options.fail_below is None else _check_gains(curves, options.fail_below)
    if options.router is not None and code == 0:
        return _write_router(options, outcomes, curves)
    return code


def _check_router(options: argparse.Namespace, prices: Sequence[float] | None) -> None:
    """Raises ValueError if it is not known which router is to be written, or where to."""
    output_file("router", options.router, options.overwrite)
    if len(options.policy) != 1:
        raise ValueError(f"--router is of one --policy; expected one, not {len(options.policy)}")
    _check_one_price(options, prices, "--router")


def _check_one_price(
    options: argparse.Namespace, prices: Sequence[float] | None, option: str
) -> None:
    """Raises ValueError if an option is given that is of one price, and there are others."""
    if options.budget is None and (prices is None or len(prices) != 1):
        raise ValueError(f"{option} is of one price; expected --budget, or one of --prices")


def _check_writable(policy: str, outcomes: Outcomes) -> None:
    """Raises an error, before routers learn, if one of this policy cannot be written."""
    if not outcomes.features:
        found = "the features of texts belong to the whole table"
        raise ValueError(f"--router: {found}; expected --features of numbers, such as embeddings")
    one = outcomes._replace(
        contexts=outcomes.contexts[:1],
        rewards=outcomes.rewards[:1],
        costs=None if outcomes.costs is None else outcomes.costs[:1],
        available=None,
    )
    with tempfile.TemporaryDirectory() as folder:
        write_policy(Path(folder) / "router.npz", learn_router(one, policy))


def _write_router(options: argparse.Namespace, outcomes: Outcomes, curves: PriceCurves) -> int:
    """Writes the router as it has learned from all requests; 1 if no price keeps to the budget."""
    points = _points_of_one_price(curves)
    if not points:
        ERR.print(f"{options.router} is not written: no price keeps to the budget", soft_wrap=True)
        return 1
    (point,) = points
    price = 0.0 if math.isnan(point.price) else point.price
    router = learn_router(
        outcomes,
        options.policy[0],
        price,
        all_outcomes=options.all_outcomes,
    )
    options.router.parent.mkdir(parents=True, exist_ok=True)
    write_policy(options.router, router)
    text = f"{options.router}: {point.policy}, learned from all requests at the price {price:.4g}"
    OUT.print(f"{text}.", soft_wrap=True)
    return 0


def _read(options: argparse.Namespace) -> Outcomes:
    """Returns the table that the options name."""
    if options.layout is None and not all((options.features, options.reward, options.cost)):
        raise ValueError("expected --features, --reward and --cost, or --layout")
    return read_outcomes(
        options.table,
        options.features or (),
        options.reward or (),
        options.cost,
        example=options.example,
        action=options.action,
        unit=options.unit,
        by=options.by,
        layout=options.layout,
        drop_missing=options.drop_missing,
    )


def _numbers(texts: Sequence[str]) -> list[float]:
    """Returns numbers in texts."""
    try:
        return [float(text) for text in texts]
    except ValueError as error:
        raise ValueError(f"prices is {','.join(texts)}; expected numbers with commas") from error


def _show(curves: PriceCurves) -> None:
    """Prints a table of all prices, one of the budget, and one of each segment."""
    print_grid("", _grid(curves, [*curves.models, *curves.points]))
    if curves.at_budget:
        title = f"At a budget of {curves.budget:g} a request"
        print_grid(title, _grid(curves, curves.at_budget))
    for name, points in curves.segments.items():
        print_grid(f"In {visible(name)}", _grid(curves, points))
    OUT.print(_explain(curves), soft_wrap=True)


def _explain(curves: PriceCurves) -> str:
    """Returns what the numbers of the tables are."""
    if curves.best is None:
        return f"{EXPLAINED}. No single model keeps to the budget."
    among = "" if curves.budget is None else " that keeps to the budget"
    best = f"or over {visible(curves.best)}, the best single model{among}"
    return f"{EXPLAINED}, {best} on the requests that routers learned from."


def _grid(curves: PriceCurves, points: Sequence[PricePoint]) -> list[list[str]]:
    """Returns the headings, and a row for each point."""
    level = f"{100.0 * curves.confidence:.4g}% interval"
    names = ["score", "cost", "gain over a mix"]
    if curves.best is not None:
        names.append(f"gain over {visible(curves.best)}")
    numbers = [f"{name}\n({level})" for name in names]
    models = [model.policy for model in curves.models]
    rows = [
        [point.policy, *_cells(point)[: 1 + len(names)], _shares(point, models)] for point in points
    ]
    return [["policy", "price", *numbers, "requests to models"], *rows]


def _cells(point: PricePoint) -> list[str]:
    """Returns the numbers of a point as texts; "" for none."""
    return [
        "" if math.isnan(point.price) else f"{point.price:.3g}",
        _interval((point.score, point.score_low, point.score_high)),
        _interval((point.cost, point.cost_low, point.cost_high)),
        _interval((point.gain, point.gain_low, point.gain_high), form="+.2g"),
        _interval((point.over_best, point.over_best_low, point.over_best_high), form="+.2g"),
    ]


def _shares(point: PricePoint, models: Sequence[str]) -> str:
    """Returns which share of the requests each model gets, as text."""
    found = [
        f"{visible(model)} {share:.0%}"
        for model, share in zip(models, point.shares)
        if share >= SMALLEST_SHARE
    ]
    return ", ".join(found)


def _interval(numbers: Sequence[float], form: str = ".3g") -> str:
    """Returns a number and its interval as text; "" if it is not known."""
    if math.isnan(numbers[0]):
        return ""
    exact = (round(number, 9) + 0.0 for number in numbers)  # 0 except for rounding is 0
    value, low, high = (f"{number:{form}}" for number in exact)
    return str(Cell(value, ends=(low, high)))


def _check_gains(curves: PriceCurves, bound: float) -> int:
    """Returns 1 and says why if a router does not keep to the budget, or gains too little."""
    points = _points_of_one_price(curves)
    failed = [text for point in points for text in _describe_low_gains(curves, point, bound)]
    tried = {point.policy for point in curves.points}
    missing = sorted(tried - {point.policy for point in points})
    failed += [f"{name}: no price keeps to the budget" for name in missing]
    for text in failed:
        ERR.print(text, soft_wrap=True)
    return 1 if failed else 0


def _points_of_one_price(curves: PriceCurves) -> Sequence[PricePoint]:
    """Returns the routers at the budget, or at the only price."""
    return curves.points if curves.budget is None else curves.at_budget


def _describe_low_gains(curves: PriceCurves, point: PricePoint, bound: float) -> Iterator[str]:
    """Yields which gains of a router may be below a bound."""
    gains = {"a mix": point.gain_low}
    if curves.best is not None:
        gains[visible(curves.best)] = point.over_best_low
    for name, low in gains.items():
        if not low >= bound:
            text = f"{point.policy}: the interval of the gain over {name} begins at {low:.4f}"
            yield f"{text}, below {bound:g}"
