"""Routers at several prices, and at the price that spends a budget, on held-out requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from bandit_envs.base.checks import (
    MAX_PARAMETER,
    check_bool,
    check_confidence,
    check_integer,
    check_number,
    check_positive,
)
from bandit_envs.datasets.outcomes import Outcomes, number_equal_rows
from bandit_envs.evaluations.named import collect
from bandit_envs.evaluations.passes import LogObserver
from bandit_envs.evaluations.routing.curves import PriceCurves
from bandit_envs.evaluations.routing.held_out import Trial
from bandit_envs.evaluations.routing.points import FEWEST_ROWS, estimate_mean
from bandit_envs.evaluations.routing.prices import choose_prices
from bandit_envs.evaluations.routing.routers import (
    ROUTERS,
    AnyRouter,
    Lesson,
    Requests,
    Router,
    expand_routers,
)
from bandit_envs.logged.estimators.problems import find_few_rows
from bandit_envs.policies import Policy
from bandit_envs.policies.models.constant_feature import LACKS_CONSTANT
from bandit_envs.showing.merged_texts import say_of_each
from bandit_envs.tables.encoding import NumberColumn, TableEncoding
from bandit_envs.tables.errors import name_some

FEWEST_UNITS = 10
"""How many units each part has at least."""

SAME = "rows with equal features are of one request, unless a column says whose they are"
"""What a user should know of rows that repeat."""


def evaluate_prices(
    outcomes: Outcomes,
    policies: AnyRouter | Mapping[str, AnyRouter] | Iterable[AnyRouter],
    prices: Iterable[float] | None = None,
    *,
    budget: float | None = None,
    held_out: float = 1 / 3,
    passes: int = 1,
    all_outcomes: bool = False,
    seed: int = 0,
    confidence: float = 0.95,
    observer: LogObserver | None = None,
) -> PriceCurves:
    """Lets routers learn at several prices, and shows what they score and cost on other requests.

    A share of the requests, drawn at random, is held out, each with all of its rows: those of one
    unit in `outcomes.units`, or with equal contexts. From the other rows each policy learns at each
    price, from the score less the price of the cost: of the model that it chose, as it would in
    production, or of all models. What it has learned then routes the held-out rows, by its own
    rule: one that explores goes on exploring. Scores and costs are means over rows, so that a
    request counts as often as it was asked. Intervals are by units, as those of logs are, and for
    this router: another seed would let it learn otherwise.

    The best single model is the one with the highest mean score on the rows that routers learn
    from; with a budget, among those that keep to it. Gains over it are honest, as the held-out
    requests did not choose it.

    The best mixes of single models at random are what routers must beat. A gain over the mix with
    the same cost is of the same requests; its interval includes that the mean costs are estimates.
    As the best mixes are chosen on the held-out requests, gains are a little too small. In a
    segment, the gain is the mean over its rows of what they add to that of all rows.

    Args:
        outcomes: a table with costs, such as `read_outcomes` returns.
        policies: one, several, or several by name: texts as the command takes them, or policies of
            which copies learn.
        prices: of a unit of cost, at least 0; by default, 8 around those at which the best single
            model changes.
        budget: the mean cost of a request. For each policy, the lowest price is found at which
            what it has learned spends at most so much on the requests that it has learned from.
        held_out: the share of the requests that is held out, above 0 and below 1.
        passes: how many times each request is learned from.
        all_outcomes: whether policies learn from what all models earn on a request, rather than
            from the one that they chose.
        seed: of the parts, the order and the policies.
        confidence: the probability that an interval holds.
        observer: sees how requests are learned from.

    Raises:
        ValueError: the table has no costs, or too few requests that all models have answered.

    >>> from bandit_envs.evaluations.routing import evaluate_prices
    >>> topic = np.arange(600) % 2
    >>> scores = np.stack([1.0 - topic, np.ones(600)], axis=1)  # the small model knows topic 0
    >>> costs = np.full((600, 2), [1.0, 3.0])
    >>> ids = np.arange(600)  # without them, rows with one topic would be one request
    >>> table = Outcomes(np.eye(2)[topic], scores, costs, ["s", "l"], None, units=ids)
    >>> found = evaluate_prices(table, "lin_ucb:alpha=0.1", prices=[0.2])
    >>> point = found.points[0]
    >>> round(point.score, 2), point.cost < 2.2, point.gain_low > 0.2
    (1.0, True, True)
    """
    level = check_confidence(confidence)
    routers = list(collect(ROUTERS, policies, expand_routers).values())
    limit = None if budget is None else check_positive("budget", budget, maximum=MAX_PARAMETER)
    _encoding_for(outcomes, routers)
    requests = _complete_requests(outcomes)
    learned, others = _split(requests, held_out, check_integer("seed", seed, minimum=0))
    trial = Trial(
        learned=learned,
        held_out=others,
        lesson=_lesson(passes, seed, all_outcomes),
        budget=limit,
        confidence=level,
        observer=observer or LogObserver(),
    )
    tried = _prices_of(learned, prices)
    points = [point for router in routers for point in trial.try_prices(router, tried)]
    notes = [*_describe(outcomes, trial)]
    lacking = [each.name for each in routers if each.lacks_constant(learned)]
    notes += [f"{say_of_each(lacking, LACKS_CONSTANT)}."] if lacking else []
    if prices is not None and all(math.isnan(point.price) for point in points):
        notes.append("No policy learns, so the prices change nothing.")
    at_budget = []
    if limit is not None:
        spent = {each.name: trial.spend(each, points, limit) for each in routers}
        notes += [text for name, each in spent.items() for text in each.describe(name, limit)]
        at_budget = [each.point for each in spent.values() if each.point is not None]
    models = [trial.try_model(number, name) for number, name in enumerate(outcomes.actions)]
    return PriceCurves(
        models=models,
        points=points,
        at_budget=at_budget,
        best=None if trial.best is None else outcomes.actions[trial.best],
        frontier=trial.frontier,
        budget=limit,
        confidence=level,
        notes=notes,
    )


def learn_router(
    outcomes: Outcomes,
    policy: AnyRouter,
    price: float = 0.0,
    *,
    passes: int = 1,
    all_outcomes: bool = False,
    seed: int = 0,
) -> Policy:
    """Returns a router that has learned at a price from all requests, to be deployed.

    `evaluate_prices` tells at which price. `write_policy` writes the router with the names of its
    models and of the columns of numbers that it learned from, and a `DecisionService` serves it.

    Args:
        outcomes: a table with costs, such as `read_outcomes` returns.
        policy: a text as the command takes it, or a policy of which a copy learns.
        price: of a unit of cost.
        passes: how many times each request is learned from.
        all_outcomes: as for `evaluate_prices`.
        seed: of the order and of the policy.

    Raises:
        ValueError: the table has no costs, or no request that all models have answered.

    >>> from bandit_envs.evaluations.routing import learn_router
    >>> from bandit_envs.trajectories import restart
    >>> table = Outcomes(np.eye(2), np.eye(2), np.ones((2, 2)), ["sums", "poems"], None)
    >>> router = learn_router(table, "lin_ucb:alpha=0", passes=20, all_outcomes=True)
    >>> router.action(restart(np.array([[0.0, 1.0]]), 1))
    array([1], dtype=int32)
    """
    routers = list(collect(ROUTERS, policy, expand_routers).values())
    if len(routers) != 1:
        raise ValueError(f"policy is {len(routers)} policies; expected one")
    lesson = _lesson(passes, seed, all_outcomes)
    encoding = _encoding_for(outcomes, routers)
    requests = _complete_requests(outcomes)
    if not len(requests.scores):
        raise ValueError("no request was answered by all models; expected at least one")
    order = np.random.default_rng(seed).permutation(len(requests.scores))
    price = check_number("price", price, 0.0, MAX_PARAMETER)
    learned = routers[0].learn(requests.take(order), price, lesson).replicate(1)
    learned.encoding = encoding or learned.encoding
    return learned


def _encoding_for(outcomes: Outcomes, routers: Iterable[Router]) -> TableEncoding | None:
    """Returns the names of models and features; None if the features have no names.

    Raises:
        ValueError: a router has learned from a table with other names, or in another order.
    """
    if not len(outcomes.features):
        return None
    width = outcomes.contexts.shape[1]
    if len(outcomes.features) != width:
        raise ValueError(f"features has {len(outcomes.features)} names; expected {width}")
    columns = tuple(map(NumberColumn, outcomes.features))
    found = TableEncoding(tuple(outcomes.actions), columns)
    for router in routers:
        known = router.made_of.encoding if isinstance(router.made_of, Policy) else None
        if known is not None and known != found:
            names = f"the features {known}, and the actions {name_some(known.actions)}"
            raise ValueError(f"policy {router.name} knows {names}; expected those of the table")
    return found


def _complete_requests(outcomes: Outcomes) -> Requests:
    """Returns the requests that all models have answered; ValueError without costs."""
    if outcomes.costs is None:
        raise ValueError("the table has no costs; expected a cost of each outcome")
    units = outcomes.units
    if units is None:
        units = number_equal_rows(outcomes.contexts)
    found = Requests(
        contexts=outcomes.contexts,
        scores=outcomes.rewards,
        costs=outcomes.costs,
        units=np.asarray(units),
        segments=() if outcomes.segments is None else list(map(str, outcomes.segments)),
        names_features=bool(outcomes.features),
    )
    if outcomes.available is None:
        return found
    return found.take(np.flatnonzero(outcomes.available.all(axis=1)))


def _lesson(passes: int, seed: int, all_outcomes: bool) -> Lesson:
    """Returns how routers learn, as a user says it."""
    return Lesson(
        passes=check_integer("passes", passes, minimum=1),
        seed=check_integer("seed", seed, minimum=0),
        all_outcomes=check_bool("all_outcomes", all_outcomes),
    )


def _split(requests: Requests, held_out: float, seed: int) -> tuple[Requests, Requests]:
    """Returns the requests to learn from, and those that are held out: each in a random order."""
    share = check_number("held_out", held_out, 0.0, 1.0)
    units, first, places = np.unique(requests.units, return_index=True, return_inverse=True)
    count = len(units)
    size = round(share * count)
    if min(size, count - size) < FEWEST_UNITS:
        found = f"{count} requests that all models have answered, of which {size} are held out"
        hint = f"; {SAME}" if count < len(requests.scores) else ""
        raise ValueError(f"there are {found}; expected at least {FEWEST_UNITS} in each part{hint}")
    order = np.random.default_rng(seed).permutation(count)
    turns = np.empty(count, np.intp)  # of each request in the random order
    turns[np.argsort(first)[order]] = np.arange(count)
    turn = turns[places.reshape(-1)]
    rows = np.argsort(turn, kind="stable")
    is_held_out = turn[rows] < size
    return requests.take(rows[~is_held_out]), requests.take(rows[is_held_out])


def _prices_of(learned: Requests, prices: Iterable[float] | None) -> list[float]:
    """Returns the prices that are tried, from low to high."""
    if prices is None:
        return choose_prices(learned.scores, learned.costs)
    given = sorted({check_number("prices", price, 0.0, MAX_PARAMETER) for price in prices})
    if not given:
        raise ValueError("prices is empty; expected at least one, or None")
    return given


def _describe(outcomes: Outcomes, trial: Trial) -> Iterator[str]:
    """Yields what was learned from, and what is left out."""
    learned = trial.learned.num_units
    tested = trial.held_out.num_units
    rows = len(trial.learned.scores) + len(trial.held_out.scores)
    left_out = len(outcomes.rewards) - rows
    if left_out:
        yield f"Left out: {left_out} rows that some model has not answered."
    if rows > learned + tested:
        together = "whose rows are held out together, and intervals are by units"
        yield f"{rows} rows are of {learned + tested} units, {together}: {SAME}."
    passes = trial.lesson.passes
    times = "once" if passes == 1 else f"{passes} times"
    seen = "all models" if trial.lesson.all_outcomes else "the model that they chose"
    how = f"each {times}, and saw the outcome of {seen}"
    counted = "requests" if trial.measure.unit is None else "units"
    yield f"Routers learned from {learned} {counted}, {how}; {tested} others are held out."
    yield from _describe_held_out(trial)


def _describe_held_out(trial: Trial) -> Iterator[str]:
    """Yields which held-out requests are too few for an interval."""
    unit = trial.measure.unit
    if unit is not None:
        sums = estimate_mean(trial.held_out.scores[:, 0], unit).sums
        for problem in find_few_rows(sums.weights):
            yield f"Held-out units: {problem}."
    segments = trial.measure.segments
    few = [name for name, rows in segments.items() if len(rows) < FEWEST_ROWS]
    if few:
        found = f"Segments with fewer than {FEWEST_ROWS} held-out rows"
        yield f"{found} are left out: {name_some(few)}."
