"""The decisions in the lines of Vowpal Wabbit's dsjson: what each field says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bandit_envs.base.archives import CONTENT_ERRORS
from bandit_envs.base.checks import MAX_REWARD, check_integer, check_number, short_repr
from bandit_envs.logged.columns import TOLERANCE

PRECISION = 1e-4  # relative, of probabilities that were printed with few digits

LABELS = ("_label_cost", "_label_probability", "_label_Action", "_labelIndex")
"""The fields that say what was done and what it cost."""

OTHER_FORMATS = {
    "_outcomes": "decisions of several slots",
    "_slots": "decisions of several slots",
    "_slot_id": "decisions of several slots",
    "_inc": "decisions of several slots",
    "pdf": "actions that are real numbers",
    "__aid": "features that are stored elsewhere",
}
"""The fields of formats that are not read, in decisions or their contexts, and what they hold."""

Features = dict[str, float]


class DsjsonLine(NamedTuple):
    """One line of a file.

    Fields:
        number: of the line, from 1.
        event: the id of the decision, or None.
        shared: the features of the context.
        items: the features of every action.
        tags: the names of the actions; () if they have none.
        action: from 0.
        cost: of the action.
        propensity: of the action.
        probabilities: of every action, or None.
        dropped: the share of decisions that the logger dropped, of which this one was kept.
        has_outcome: whether a reward came; if not, the cost is the default one.
    """

    number: int
    event: str | None
    shared: Features
    items: Sequence[Features]
    tags: Sequence[str]
    action: int
    cost: float
    propensity: float
    probabilities: Sequence[float] | None
    dropped: float
    has_outcome: bool

    def reorder(self, order: Sequence[int]) -> DsjsonLine:
        """Returns the same decision, with its actions in another order."""
        known = self.probabilities
        return self._replace(
            items=[self.items[place] for place in order],
            tags=[self.tags[place] for place in order],
            action=order.index(self.action),
            probabilities=None if known is None else [known[place] for place in order],
        )


def read_lines(text: str) -> Iterator[DsjsonLine | None]:
    """Yields the decisions in the lines of a file, and None for those that must not be learned.

    Raises:
        ValueError: a line holds no decision; the message has its number.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            document = json.loads(line, object_pairs_hook=_read_object)
            _refuse_fields(document)
            yield None if _is_skipped(document) else _read_decision(number, document)
        except KeyError as error:
            raise ValueError(f"line {number} has no {error}") from error
        except CONTENT_ERRORS as error:
            raise ValueError(f"line {number}: {error}") from error


def _read_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of JSON; ValueError if a key stands twice in it."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"an object has {short_repr(key)} twice; expected each key once")
        found[key] = value
    return found


def _refuse_fields(document: Mapping[str, Any]) -> None:
    """Raises ValueError if a decision has a field of a format that is not read."""
    for key in document:
        if key.startswith("_label_ca"):
            found = f"{key} is of actions that are real numbers"
            raise ValueError(f"{found}; expected numbered actions")
        if key.startswith("_label") and key not in LABELS:
            raise ValueError(f"{short_repr(key)} is not read; expected {', '.join(LABELS)}")
        _refuse_field(key)


def _refuse_field(key: str) -> None:
    """Raises ValueError for a field of a format that is not read."""
    if key in OTHER_FORMATS:
        raise ValueError(f"{key} is of {OTHER_FORMATS[key]}; expected one numbered action a line")


def _is_skipped(document: Mapping[str, Any]) -> bool:
    """Whether the action was never shown, so that there is nothing to learn from it."""
    found = document.get("_skipLearn", False)
    if not isinstance(found, bool):
        raise TypeError(f"_skipLearn is {short_repr(found)}; expected true or false")
    return found


def _read_decision(number: int, document: Mapping[str, Any]) -> DsjsonLine:
    """Returns a decision; TypeError or ValueError names a value that is wrong."""
    context = dict(document["c"])
    candidates = [dict(item) for item in context.pop("_multi")]
    tags = _read_tags([item.pop("_tag", None) for item in candidates])
    shared = _flatten_features(context)
    items = [_flatten_features(item) for item in candidates]
    action = check_integer("_label_Action", document["_label_Action"], 1, len(candidates)) - 1
    index = document.get("_labelIndex", action)
    if check_integer("_labelIndex", index, 0) != action:
        found = f"_labelIndex is {index}, and _label_Action {action + 1}"
        raise ValueError(f"{found}; expected _label_Action to be one more")
    dropped = _read_number("pdrop", document.get("pdrop", 0.0), minimum=0.0)
    if dropped >= 1.0:
        raise ValueError(f"pdrop is {dropped:g}; expected less than 1, as the line was kept")
    propensity = _read_number("_label_probability", document["_label_probability"])
    probabilities = None
    if "p" in document:
        probabilities = _read_probabilities(document, len(candidates))
        propensity = _check_propensity(propensity, probabilities[action], dropped)
    event = document.get("EventId")
    return DsjsonLine(
        number=number,
        event=None if event is None else str(event),
        shared=shared,
        items=items,
        tags=tags,
        action=action,
        cost=_read_number("_label_cost", document["_label_cost"], -MAX_REWARD, MAX_REWARD),
        propensity=propensity,
        probabilities=probabilities,
        dropped=dropped,
        has_outcome="o" not in document or _has_value(document["o"]),
    )


def _read_tags(tags: Sequence[Any]) -> Sequence[str]:
    """Returns the names of the actions of a line, or () if none has one."""
    known = [str(tag) for tag in tags if tag is not None]
    if not known:
        return ()
    if len(known) < len(tags) or len({*known}) < len(known):
        found = f"{len({*known})} names for {len(tags)} actions"
        raise ValueError(f"_tag has {found}; expected a name of its own for each, or none")
    return known


def _has_value(outcomes: Any) -> bool:
    """Returns whether a reward came; TypeError if `o` does not list what came."""
    if not (isinstance(outcomes, list) and all(isinstance(each, dict) for each in outcomes)):
        raise TypeError(f"o is {short_repr(outcomes)}; expected a list of objects")
    return any("v" in each for each in outcomes)


def _check_propensity(propensity: float, probability: float, dropped: float) -> float:
    """Returns the probability of the action, which loggers may have reduced by what they dropped.

    Args:
        propensity: as `_label_probability` says.
        probability: as `p` says.
        dropped: as `pdrop` says.
    """
    if math.isclose(probability, propensity, rel_tol=PRECISION):
        return propensity
    if dropped and math.isclose(probability * (1.0 - dropped), propensity, rel_tol=PRECISION):
        return probability
    found = f"_label_probability is {propensity:g}, and p has {probability:g}"
    raise ValueError(f"{found} for this action; expected the same")


def _read_probabilities(document: Mapping[str, Any], num_actions: int) -> list[float]:
    """Returns the probability of every action, of which `a` has the ids and `p` the values."""
    ids = [check_integer("an id in a", each, 1, num_actions) for each in document["a"]]
    values = [_read_number("a probability in p", each, 0.0, 1.0) for each in document["p"]]
    if len(ids) != len(values) or len(ids) != len(set(ids)):
        raise ValueError(f"a is {ids} and p {values}; expected different ids, and as many values")
    if abs(math.fsum(values) - 1.0) > TOLERANCE:
        raise ValueError(f"the sum of p is {math.fsum(values):g}; expected 1")
    by_id = dict(zip(ids, values))
    return [by_id.get(action + 1, 0.0) for action in range(num_actions)]


def _read_number(
    name: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf
) -> float:
    """Returns a finite number, which must not be a bool."""
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value}; expected a number")
    return check_number(name, value, minimum, maximum)


def _flatten_features(features: Mapping[Any, Any], prefix: str = "") -> Features:
    """Returns Vowpal Wabbit's JSON features as numbers by name.

    A text is a category, and each word of `_text` a feature. `false` and `null` are no features,
    nor is another key that begins with "_".
    """
    found: Features = {}
    for key, value in features.items():
        name = f"{prefix}{key}"
        if key == "_text":
            for word in str(value).split():
                found[f"{name}={word}"] = found.get(f"{name}={word}", 0.0) + 1.0
        elif str(key).startswith("_"):
            _refuse_field(key)
        elif value is None or value is False:
            continue
        elif isinstance(value, list):
            found |= _flatten_features(dict(enumerate(value)), f"{name}^")
        elif isinstance(value, dict):
            found |= _flatten_features(value, f"{name}^")
        elif isinstance(value, str):
            found[f"{name}={value}"] = 1.0
        elif value is True:
            found[name] = 1.0
        else:
            found[name] = _read_number(f"the feature {short_repr(name)}", value)
    return found
