"""The names of environments and policies in data frames and files: labels, or else texts."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import NamedTuple

from bandit_envs.studies.definition.study import Study


class RowNames(NamedTuple):
    """The names of environments and policies in data frames and files, by their texts.

    No two rows have the same name. A label that several share, that is the text of another row, or
    that is blank is not used as a name.

    Fields:
        environments: their names.
        policies: their names, also of policies that have failed.
    """

    environments: Mapping[str, str]
    policies: Mapping[str, str]

    @classmethod
    def of(cls, study: Study) -> RowNames:
        """Returns the names of a study."""
        places = {str(each): study.environment_label(each) for each in study.environment}
        rules = {str(each): study.policy_label(each) for each in study.policy}
        rules |= {text: study.labels.get(text, text) for text in study.failed}
        return cls(_choose(places, study.labels), _choose(rules, study.labels))


def _choose(shown: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Returns the name of each text: its label if it has one of its own, or else the text.

    Args:
        shown: what figures show, by text.
        given: the labels that the user has given, by text.
    """
    labels = {text: shown[text] for text in shown if given.get(text, "").strip()}
    counts = collections.Counter(labels.values())
    names = dict(zip(shown, shown))
    for text, label in labels.items():
        if counts[label] == 1 and label not in shown:
            names[text] = label
    return names
