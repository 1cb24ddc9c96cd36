"""Files of learned policies, without pickle."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.base.saving import load_state, save_state
from bandit_envs.base.state import EncodedModel
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.summary import LogSummary
from bandit_envs.nests import Nest
from bandit_envs.policies.estimator_scores import ClassifierGreedyPolicy, RegressionGreedyPolicy
from bandit_envs.policies.linear_scores import LinearGreedyPolicy, LinearSoftmaxPolicy
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.scikit_learn_model import read_estimator
from bandit_envs.seeding import Seed

SUFFIX = ".npz"
KEY = "bandit_envs.policy"
KINDS: dict[str, type[Any]] = {
    "linear_greedy": LinearGreedyPolicy,
    "linear_softmax": LinearSoftmaxPolicy,
    "classifier_greedy": ClassifierGreedyPolicy,
    "regression_greedy": RegressionGreedyPolicy,
}
ARGUMENTS: dict[str, dict[str, type[Any]]] = {
    "linear_greedy": {"weights": np.ndarray},
    "linear_softmax": {"weights": np.ndarray},
    "classifier_greedy": {"classifier": EncodedModel, "num_actions": int},
    "regression_greedy": {"models": list},
}
"""What a file holds of each kind."""

TYPES: dict[str, type[Any]] = {
    "kind": str,
    "arguments": dict,
    "rows_learned": int,
    "log": str,
    "features": list,
}
"""What a file says of a policy: the fields of `SavedPolicy`."""


@dataclasses.dataclass(frozen=True)
class SavedPolicy:
    """What a file says of a policy that a learner made.

    Args:
        kind: a key of `KINDS`.
        arguments: of its class, but for those that `make` takes.
        rows_learned: from how many rows, the first of a log, it has learned; 0 if it is not known.
        log: identifies these rows; "" if they are not known.
        features: the columns of its features, in their order; () if they have no names.
    """

    kind: str
    arguments: Mapping[str, Any]
    rows_learned: int = 0
    log: str = ""
    features: Sequence[str] = ()

    def make(self, observation_spec: Nest, batch_size: int = 1, seed: Seed = None) -> Policy:
        """Returns the policy for an environment or a log."""
        policy: Policy = KINDS[self.kind](
            **self.arguments, observation_spec=observation_spec, batch_size=batch_size, seed=seed
        )
        return policy


def write_policy(
    path: str | os.PathLike[str],
    policy: Policy,
    learned_from: BanditLog | Iterable[BanditLog] = (),
    features: Sequence[str] = (),
) -> None:
    """Writes a policy that a learner made to a file.

    Args:
        path: of the file, which ends in .npz.
        policy: of a class in `KINDS`.
        learned_from: the log that it has learned from, or its batches in order. If a longer log
            begins with these rows, `bandit-envs evaluate` leaves them out.
        features: the columns of its features, in their order.

    Raises:
        TypeError: the policy is of another class, or its estimator cannot be written.

    >>> import tempfile
    >>> import numpy as np
    >>> from bandit_envs.specs import ArraySpec
    >>> spec = ArraySpec((1,), np.float64)
    >>> policy = LinearGreedyPolicy([[0.0, 1.0], [0.5, 0.0]], observation_spec=spec)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_policy(f"{folder}/policy.npz", policy)
    ...     read_policy(f"{folder}/policy.npz").make(spec, batch_size=2).num_actions
    2
    """
    kinds = {policy_class: kind for kind, policy_class in KINDS.items()}
    if type(policy) not in kinds:
        expected = " or ".join(policy_class.__name__ for policy_class in KINDS.values())
        raise TypeError(f"policy is a {type(policy).__name__}; expected a {expected}")
    batches = [learned_from] if isinstance(learned_from, BanditLog) else learned_from
    summary = LogSummary.from_batches(batches)
    content = {
        "kind": kinds[type(policy)],
        "arguments": _arguments_of(policy),
        "rows_learned": summary.size,
        "log": summary.identify() if summary.size else "",
        "features": list(features),
    }
    save_state(_check_suffix(Path(path)), {KEY: content})


def read_policy(
    path: str | os.PathLike[str], estimator: Any = None, trusted: Sequence[str] = ()
) -> SavedPolicy:
    """Reads what `write_policy` wrote.

    The file is arrays and plain values, and estimators of scikit-learn as skops writes them.
    Nothing in it is unpickled or evaluated. Classes and functions are those that skops trusts,
    those of `policies.scikit_learn_model.TRUSTED`, and those that you give; all else is refused by
    name.

    Args:
        path: of the file.
        estimator: if the policy's estimators are of a class of your own, one of that class. The
            classes and functions among its parameters may be in the file, too.
        trusted: names of other classes and functions, as in `load_state`: only for a file that you
            wrote yourself.

    Raises:
        ValueError: the file holds something else, or a class that is not trusted.
    """
    state = load_state(path, trusted)
    given = [] if estimator is None else [estimator]
    content = _check_content(path, state)
    try:
        arguments = {key: _decoded(part, given) for key, part in content["arguments"].items()}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    return SavedPolicy(**{**content, "arguments": arguments})


def _check_content(path: str | os.PathLike[str], state: Any) -> dict[str, Any]:
    """Returns what a file says of a policy; ValueError if it holds something else."""
    content = state.get(KEY) if isinstance(state, dict) else None
    if not isinstance(content, dict) or content.keys() != TYPES.keys():
        raise ValueError(f"{path} does not hold a learned policy")
    for name, expected in TYPES.items():
        if type(content[name]) is not expected:
            found = f"{name} is a {type(content[name]).__name__}"
            problem = f"{path} does not hold a learned policy: {found}"
            raise ValueError(f"{problem}; expected a {expected.__name__}")
    if content["rows_learned"] < 0:
        raise ValueError(f"{path} holds a policy that has learned from fewer than 0 rows")
    kind = content["kind"]
    if kind not in KINDS:
        raise ValueError(f"{path} holds a {kind!r}; expected {' or '.join(KINDS)}")
    if content["arguments"].keys() != ARGUMENTS[kind].keys():
        expected_names = ", ".join(ARGUMENTS[kind])
        raise ValueError(f"{path} holds a {kind} of other arguments; expected {expected_names}")
    for name, expected in ARGUMENTS[kind].items():
        if not isinstance(content["arguments"][name], expected):
            raise ValueError(f"{path} holds a {kind} whose {name} cannot be read")
    if not all(isinstance(name, str) for name in content["features"]):
        raise ValueError(f"{path} holds features that are no names")
    return content


def _arguments_of(policy: Policy) -> dict[str, Any]:
    """Returns the arguments that make the policy, with models in place of estimators."""
    learned = policy.get_state().content.learned
    if isinstance(policy, ClassifierGreedyPolicy):
        return {"classifier": learned, "num_actions": policy.num_actions}
    if isinstance(policy, RegressionGreedyPolicy):
        models = zip(learned.models, learned.constants.tolist())
        return {"models": [constant if model is None else model for model, constant in models]}
    return {"weights": learned}


def _decoded(part: Any, given: Sequence[Any]) -> Any:
    """Returns a part of the arguments with estimators in place of what a file says of them."""
    if isinstance(part, list):
        return [_decoded(each, given) for each in part]
    if isinstance(part, EncodedModel):
        return read_estimator(part.content, given, part.trusted)
    return part


def _check_suffix(file: Path) -> Path:
    if file.suffix != SUFFIX:
        raise ValueError(f"path is {file}; expected a name that ends in {SUFFIX}")
    return file
