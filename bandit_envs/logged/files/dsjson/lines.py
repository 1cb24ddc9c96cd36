"""The decisions in the lines of Vowpal Wabbit's dsjson: what each field says, but features."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
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

NUMBERS = frozenset((int, float))
"""The types of JSON's numbers."""

NESTED = frozenset((dict, list))
"""The types of JSON that may have objects in them."""

INTEGERS = frozenset((int,))
TEXTS = frozenset((str,))


class DsjsonLine(NamedTuple):
    """One line of a file.

    Fields:
        number: of the line, from 1.
        event: the id of the decision, or None.
        context: the features of the context, as JSON has them, and keys that begin with "_".
        items: those of every action, likewise.
        tags: the names of the actions; () if they have none.
        action: from 0.
        cost: of the action.
        propensity: of the action.
        probabilities: of every action, or None.
        weight: how many decisions the line stands for: itself, and those that the logger dropped.
        has_outcome: whether a reward came; if not, the cost is the default one.
        is_passed: whether `_label_probability` has the share that the logger passed on as a factor,
            and no `pdrop` says so.
    """

    number: int
    event: str | None
    context: Mapping[str, Any]
    items: Sequence[Mapping[str, Any]]
    tags: Sequence[str]
    action: int
    cost: float
    propensity: float
    probabilities: Sequence[float] | None
    weight: float
    has_outcome: bool
    is_passed: bool


@contextlib.contextmanager
def errors_of_line(number: int) -> Iterator[None]:
    """Turns errors of the content of a line into a ValueError that has its number."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"line {number} has no {error}") from error
    except CONTENT_ERRORS as error:
        raise ValueError(f"line {number}: {error}") from error


def read_documents(file: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yields the number, the text and the JSON document of every line of a file that has one."""
    with file.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            with errors_of_line(number):
                document = json.loads(line)
            if not isinstance(document, dict):
                raise ValueError(f"line {number} is {short_repr(document)}; expected an object")
            yield number, line, document


def check_keys(line: str, num_keys: int) -> None:
    """Raises ValueError if a key stands twice in an object, of which JSON keeps the last.

    Args:
        line: the text of a document.
        num_keys: how many keys all objects of the document have.
    """
    if line.count('":') != num_keys:  # a text may have these signs, too
        json.loads(line, object_pairs_hook=_read_object)


def _read_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of JSON; ValueError if a key stands twice in it."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"an object has {short_repr(key)} twice; expected each key once")
        found[key] = value
    return found


def count_keys(value: Any) -> int:
    """Returns how many keys all objects in a JSON value have."""
    if type(value) is dict:
        return len(value) + count_keys([*value.values()])
    if type(value) is not list or NESTED.isdisjoint(map(type, value)):
        return 0
    return sum(map(count_keys, value))


def check_fields(document: Mapping[str, Any]) -> None:
    """Raises ValueError if a decision has a field of a format that is not read."""
    for key in document:
        if key.startswith("_label_ca"):
            found = f"{key} is of actions that are real numbers"
            raise ValueError(f"{found}; expected numbered actions")
        if key.startswith("_label") and key not in LABELS:
            raise ValueError(f"{short_repr(key)} is not read; expected {', '.join(LABELS)}")
        check_field(key)


def check_field(key: str) -> None:
    """Raises ValueError for a field of a format that is not read."""
    if key in OTHER_FORMATS:
        raise ValueError(f"{key} is of {OTHER_FORMATS[key]}; expected one numbered action a line")


def is_skipped(document: Mapping[str, Any]) -> bool:
    """Whether the action was never shown, so that there is nothing to learn from it."""
    found = document.get("_skipLearn", False)
    if not isinstance(found, bool):
        raise TypeError(f"_skipLearn is {short_repr(found)}; expected true or false")
    return found


def read_decision(number: int, document: Mapping[str, Any]) -> DsjsonLine:
    """Returns a decision; TypeError, ValueError or KeyError names a value that is wrong."""
    context = document["c"]
    if not OTHER_FORMATS.keys().isdisjoint(context):
        check_fields(context)
    items = context["_multi"]
    tags = _read_tags([item.get("_tag") for item in items])
    action = check_integer("_label_Action", document["_label_Action"], 1, len(items)) - 1
    index = document.get("_labelIndex", action)
    if check_integer("_labelIndex", index, 0) != action:
        found = f"_labelIndex is {index}, and _label_Action {action + 1}"
        raise ValueError(f"{found}; expected _label_Action to be one more")
    dropped = read_number("pdrop", document.get("pdrop", 0.0), minimum=0.0)
    if dropped >= 1.0:
        raise ValueError(f"pdrop is {dropped:g}; expected less than 1, as the line was kept")
    propensity = read_number("_label_probability", document["_label_probability"])
    probabilities = None
    passed = 1.0 - dropped
    if "p" in document:
        probabilities = _read_probabilities(document, len(items))
        passed = _find_passed(propensity, probabilities[action], dropped)
        if passed < 1.0 and not math.isclose(probabilities[action], propensity, rel_tol=PRECISION):
            propensity = probabilities[action]
    event = document.get("EventId")
    return DsjsonLine(
        number=number,
        event=None if event is None else str(event),
        context=context,
        items=items,
        tags=tags,
        action=action,
        cost=read_number("_label_cost", document["_label_cost"], -MAX_REWARD, MAX_REWARD),
        propensity=propensity,
        probabilities=probabilities,
        weight=1.0 / passed,
        has_outcome="o" not in document or _has_value(document["o"]),
        is_passed=passed < 1.0 - dropped,
    )


def _read_tags(tags: Sequence[Any]) -> Sequence[str]:
    """Returns the names of the actions of a line, or () if none has one."""
    if TEXTS.issuperset(map(type, tags)):
        known = tags
    else:
        known = [str(tag) for tag in tags if tag is not None]
    if not known:
        return ()
    if len(known) < len(tags) or len({*known}) < len(known):
        found = f"{len({*known})} names for {len(tags)} actions"
        raise ValueError(f"_tag has {found}; expected a name of its own for each, or none")
    return known


def number_of(item: Mapping[str, Any]) -> str | None:
    """Returns the number of an action that has no other feature, as `write_dsjson` writes it."""
    features = item.get("a")
    if len(item) != 1 + ("_tag" in item) or type(features) is not dict or len(features) != 1:
        return None
    ((key, value),) = features.items()
    return key if value == 1.0 and key.isdecimal() and key == str(int(key)) else None


def _has_value(outcomes: Any) -> bool:
    """Returns whether a reward came; TypeError if `o` does not list what came."""
    if not (isinstance(outcomes, list) and all(isinstance(each, dict) for each in outcomes)):
        raise TypeError(f"o is {short_repr(outcomes)}; expected a list of objects")
    return any("v" in each for each in outcomes)


def _find_passed(propensity: float, probability: float, dropped: float) -> float:
    """Returns the share of such lines that the logger passed on: 1 if it dropped none.

    Loggers write it to `pdrop`, or multiply `_label_probability` by it, or do both.

    Args:
        propensity: as `_label_probability` says.
        probability: as `p` says.
        dropped: as `pdrop` says.
    """
    if math.isclose(probability, propensity, rel_tol=PRECISION):
        return 1.0 - dropped
    if dropped and math.isclose(probability * (1.0 - dropped), propensity, rel_tol=PRECISION):
        return 1.0 - dropped
    if not dropped and 0.0 < propensity < probability:
        return propensity / probability
    found = f"_label_probability is {propensity:g}, and p has {probability:g}"
    expected = "the same, or less by the share of lines that the logger passed on"
    raise ValueError(f"{found} for this action; expected {expected}")


def _read_probabilities(document: Mapping[str, Any], num_actions: int) -> list[float]:
    """Returns the probability of every action, of which `a` has the ids and `p` the values."""
    ids = document["a"]
    values = document["p"]
    if not (isinstance(ids, list) and isinstance(values, list)):
        found = f"a is {short_repr(ids)} and p {short_repr(values)}"
        raise TypeError(f"{found}; expected lists of ids and of probabilities")
    if not (
        ids and INTEGERS.issuperset(map(type, ids)) and 1 <= min(ids) <= max(ids) <= num_actions
    ):
        ids = [check_integer("an id in a", each, 1, num_actions) for each in ids]
    if not (values and NUMBERS.issuperset(map(type, values)) and min(values) >= 0.0):
        values = [read_number("a probability in p", each, 0.0, 1.0) for each in values]
    if len(ids) != len(values) or len(ids) != len(set(ids)):
        raise ValueError(f"a is {ids} and p {values}; expected different ids, and as many values")
    if not abs(math.fsum(values) - 1.0) <= TOLERANCE:
        raise ValueError(f"the sum of p is {math.fsum(values):g}; expected 1")
    probabilities = [0.0] * num_actions
    for place, value in zip(ids, values):
        probabilities[place - 1] = value
    return probabilities


def read_number(
    name: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf
) -> float:
    """Returns a finite number, which must not be a bool."""
    if type(value) in NUMBERS and minimum <= value <= maximum and -math.inf < value < math.inf:
        return float(value)
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value}; expected a number")
    return check_number(name, value, minimum, maximum)
