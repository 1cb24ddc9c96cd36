"""What a file says of a policy, which is made from it and decides in tables."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.learners.applied import ROWS, Decided, decide_batch
from bandit_envs.nests import Nest
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models import Model
from bandit_envs.policies.models.feature_readers import shows_items
from bandit_envs.policies.models.inputs import InputReader
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.rules import Rule
from bandit_envs.seeding import Seed
from bandit_envs.tables.decisions.new_decisions import CandidateScan, scan_candidates
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.whole_table import AnyTable


@dataclasses.dataclass(frozen=True)
class SavedPolicy:
    """What a file says of a policy.

    Args:
        model: of the rewards.
        rule: how to choose.
        sizes: of the policy that was written: of its saved states.
        learned: what it knows; None if that is what the model and the rule say at first.
        is_trained: whether it has learned as a policy does, rather than by a learner.
        rows_learned: from how many rows, the first of a log, it has learned; 0 if it is not known.
        log: identifies these rows; "" if they are not known.
        features: the columns of its features, in their order; () if they have no names.
        encoding: of the table that it has learned from; None if it is not known.
    """

    model: Model
    rule: Rule
    sizes: Mapping[str, Any]
    learned: Any = None
    is_trained: bool = False
    rows_learned: int = 0
    log: str = ""
    features: Sequence[str] = ()
    encoding: TableEncoding | None = None

    def make(self, observation_spec: Nest, batch_size: int = 1, seed: Seed = None) -> Policy:
        """Returns the policy for an environment or a log. It goes on learning if it can.

        If its rows are problems, row i knows what row i modulo B of the written policy knew.

        Raises:
            ValueError: the policy is for other observations, or does not know what its model does.
        """
        self._check_spec(observation_spec)
        try:
            return self._make(observation_spec, batch_size, seed)
        except MemoryError as error:
            problem = f"a policy of the sizes {dict(self.sizes)} takes too much memory"
            raise ValueError(problem) from error

    def choose(
        self,
        table: AnyTable,
        seed: Seed = None,
        *,
        decision: str | None = None,
        item: str | None = None,
        available: str | None = None,
        drop_missing: bool = False,
    ) -> Array:
        """Returns what the policy does in each decision of a table: [n], by name if there is one.

        The policy does not learn. `scan` and `decide` are the same in batches, with probabilities.

        Args:
            table: as for `scan`.
            seed: of a policy that draws its actions.
            decision: as for `scan`.
            item: as for `scan`.
            available: as for `scan`.
            drop_missing: as for `scan`.

        Raises:
            ValueError: as by `scan` and `decide`.

        Warns:
            UserWarning: the table has texts that the policy does not know, whose features are 0; or
                decisions are left out.
        """
        scan = self.scan(
            table,
            decision=decision,
            item=item,
            available=available,
            drop_missing=drop_missing,
        )
        for problem in scan.problems:
            warnings.warn(problem, stacklevel=2)
        chosen = [decided.chosen for decided in self.decide(scan, seed)]
        if not chosen:
            return np.array(self.encoding.actions if self.encoding else ())[:0]
        joined = np.concatenate(chosen)
        return joined.astype(np.str_) if joined.dtype == object else joined

    def scan(
        self,
        table: AnyTable,
        *,
        decision: str | None = None,
        item: str | None = None,
        only: str | None = None,
        available: str | None = None,
        drop_missing: bool = False,
    ) -> CandidateScan:
        """Returns the decisions of a table, which are still to be made, as the policy reads them.

        It finds the columns of its features by their names. The table needs no actions, rewards and
        propensities. `problems` of the result says which texts the policy does not know, whose
        features are 0.

        Args:
            table: a pandas DataFrame; or the path of a CSV or Parquet file, or of a folder of such
                files, which is read in batches. Other columns do not count.
            decision: the column of the names of the decisions. With `item`, the rows of one
                decision are its candidates.
            item: the column of the items, if the policy chooses among items with features.
            only: a pattern of the files of a folder that are read.
            available: the column of the actions that are available in each decision, as lists, if
                the policy chooses no items. By default, all are.
            drop_missing: whether decisions that miss values are left out.

        Raises:
            ValueError: the policy has learned from no table; or this one lacks a column, or has a
                cell that is missing or of another kind.
        """
        if self.encoding is None:
            problem = "the policy has learned from no table, so columns have no names"
            advice = "`read_policy(path).make(observation_spec)` decides by arrays, in Python"
            raise ValueError(f"{problem}; {advice}")
        return scan_candidates(
            table,
            self.encoding,
            decision=decision,
            item=item,
            only=only,
            available=available,
            num_actions=self.sizes["num_actions"],
            drop_missing=drop_missing,
        )

    def decide(self, decisions: CandidateScan, seed: Seed = None) -> Iterator[Decided]:
        """Yields what the policy does in decisions, in batches. It does not learn.

        Args:
            decisions: what `scan` returns.
            seed: of a policy that draws its actions.

        Raises:
            ValueError: a decision misses a value, or has one of another kind.
        """
        actions = () if self.encoding is None else self.encoding.actions
        policy: Policy | None = None
        for batch in decisions:
            if len(batch.names):
                size = min(ROWS, len(batch.names))
                policy = policy or self.make(spec_of_rows(batch.observation), size, seed)
                yield decide_batch(policy, batch, actions)

    def _make(self, observation_spec: Nest, batch_size: int, seed: Seed) -> Policy:
        """Returns what `make` does, once the sizes of observations are known to fit."""
        independent_rows = bool(self.sizes["independent_rows"])
        policy = ContextualPolicy(
            self.model,
            self.rule,
            observation_spec=observation_spec,
            num_actions=self._reader(observation_spec).num_actions,
            batch_size=self.sizes["batch_size"] if independent_rows else batch_size,
            seed=seed,
            independent_rows=independent_rows,
        )
        if self.learned is not None:
            state = policy.get_state()
            content = state.content._replace(learned=self.learned, is_trained=self.is_trained)
            policy.set_state(state._replace(content=content))
        policy.encoding = self.encoding
        return policy.replicate(batch_size) if policy.batch_size != batch_size else policy

    def _reader(self, observation_spec: Nest) -> InputReader:
        """Returns what reads observations, of any number of items if actions are items."""
        any_number = shows_items(observation_spec) and not self.model.predictor.has_own_weights
        return InputReader(observation_spec, None if any_number else self.sizes["num_actions"])

    def _check_spec(self, observation_spec: Nest) -> None:
        """Raises ValueError if the policy has learned from observations of other sizes."""
        sizes = self._reader(observation_spec).sizes(num_rows=1)
        found = {"context_dim": sizes.context_dim, "action_dim": sizes.action_dim}
        for name, size in found.items():
            if size != self.sizes[name]:
                expected = f"expected {self.sizes[name]}, as the policy in the file"
                raise ValueError(f"observation_spec has the {name} {size}; {expected}")
