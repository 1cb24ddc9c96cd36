"""The subcommand `route`: what routers score and cost, over prices and at a budget."""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bandit_envs.cli.console import ERR, OUT, RowProgress, print_grid
from bandit_envs.cli.evaluate import output_folder
from bandit_envs.cli.learn import output_file
from bandit_envs.cli.printed_tables import MAX_ROWS
from bandit_envs.datasets import Outcomes, read_outcomes
from bandit_envs.evaluations.routing import PriceCurves, PricePoint, evaluate_prices, learn_router
from bandit_envs.evaluations.routing.curves import PAGE, SEGMENTS, TABLE
from bandit_envs.logged import write_policy
from bandit_envs.names.visible import visible


def route(options: argparse.Namespace) -> int:
    """Tries routers at prices; writes and shows tables, a figure and a page.

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
    """Raises ValueError if routers learn at several prices, and an option needs one."""
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
    """Prints a table of all prices, one of the budget, and one of each segment.

    If those of segments are long, files alone have them.
    """
    is_long = sum(map(len, curves.segments.values())) > MAX_ROWS
    for table in curves.tables():
        if not (is_long and table.is_segment):
            print_grid(table.title, table.grid)
    if is_long:
        OUT.print(f"{SEGMENTS} and {PAGE} have the tables of all segments")
    OUT.print(curves.explain(), soft_wrap=True)


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
