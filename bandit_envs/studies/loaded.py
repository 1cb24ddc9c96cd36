"""Studies in Python: run one, or load what has finished, as data frames and figures."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from bandit_envs.datasets.tables import import_extra
from bandit_envs.studies.backends import backend as start_backend
from bandit_envs.studies.choice import PolicyChoice
from bandit_envs.studies.differences import compare_to
from bandit_envs.studies.figures import draw_study
from bandit_envs.studies.results import Results
from bandit_envs.studies.run import try_task
from bandit_envs.studies.study import Study
from bandit_envs.studies.tables import study_tables

if TYPE_CHECKING:
    from pandas import DataFrame


class LoadedStudy:
    """What has finished of a study, as data frames and figures.

    The frames have a row or more for each policy in each environment that has finished all runs.
    They need pandas. Columns ending in `_se` are standard errors.
    """

    def __init__(self, results: Results) -> None:
        self.study = results.study
        self.num_missing = len(results.missing())
        self._pairs = results.pairs()

    @property
    def summary(self) -> DataFrame:
        """The last step: a row for each policy in each environment."""
        return self._frame("summary")

    @property
    def curves(self) -> DataFrame:
        """A row for each step."""
        return self._frame("curves")

    @property
    def runs(self) -> DataFrame:
        """A row for each run."""
        return self._frame("runs")

    def differences(self, baseline: str | None = None, confidence: float = 0.95) -> DataFrame:
        """Returns how the runs of the policies differ from those of one policy, in pairs.

        Args:
            baseline: this policy, as the study has it; by default the first.
            confidence: the probability that the intervals from `low` to `high` hold.
        """
        policy = self.study.policy[0] if baseline is None else self._find_policy(baseline)
        rows = []
        for pair, statistics in compare_to(policy, self.study, self._pairs):
            for quantity, difference in statistics.items():
                low, high = difference.interval(confidence)
                row = {
                    "environment": str(pair.environment),
                    "policy": str(pair.policy),
                    "quantity": quantity,
                    "difference": float(difference.mean),
                    "low": float(low),
                    "high": float(high),
                }
                rows.append(row)
        return import_extra("pandas", "logged").DataFrame(rows)

    def plot(
        self, panels: Sequence[str] | None = None, quantiles: Sequence[float] | None = None
    ) -> Figure:
        """Returns the study's figure, which `savefig` of matplotlib writes in any format.

        Args:
            panels: what to draw over steps; by default, what the study says.
            quantiles: two quantiles over runs, if the study was run with quantiles.
        """
        values = self.study.to_dict()
        if panels is not None:
            values["panels"] = list(panels)
        if quantiles is not None:
            values["quantiles"] = list(quantiles)
        study = Study.from_dict(values)
        if study.quantiles and not self.study.quantiles:
            raise ValueError("quantiles are not kept; expected a study that was run with quantiles")
        if "arms" in study.panels:
            raise ValueError("panels has arms, a picture of one problem; expected other panels")
        # Levels may change, as the sums that quantiles are taken of have been kept.
        study = dataclasses.replace(self.study, panels=study.panels, quantiles=study.quantiles)
        return draw_study(study, self._pairs)

    def _find_policy(self, text: str) -> PolicyChoice:
        (choice,) = PolicyChoice.expand(text)
        if choice not in self.study.policy:
            expected = ", ".join(map(str, self.study.policy))
            raise ValueError(f"baseline is {text}; expected one of {expected}")
        return choice

    def _frame(self, name: str) -> DataFrame:
        pandas = import_extra("pandas", "logged")
        table = study_tables(self.study)[name]
        frames = []
        for pair in self._pairs:
            if pair.runs == self.study.runs:
                columns = {
                    "environment": str(pair.environment),
                    "policy": str(pair.policy),
                    table.counter: list(table.numbers),
                    **table.columns(pair),
                }
                frames.append(pandas.DataFrame(columns))
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


def load_study(folder: str | Path) -> LoadedStudy:
    """Returns what has finished of the study in a folder of results."""
    return LoadedStudy(Results.read(Path(folder), {}))


def run_study(
    study: Study,
    folder: str | Path,
    *,
    backend: str = "loky",
    workers: int = 1,
    address: str | None = None,
    overwrite: bool = False,
) -> LoadedStudy:
    """Runs what is missing of a study and returns what has finished.

    Args:
        study: the study; `Study.from_dict` makes it.
        folder: where its results are, as the command leaves them.
        backend: "loky", "threading", "dask" or "ray".
        workers: processes or threads.
        address: of a running Dask or Ray cluster.
        overwrite: whether to delete the folder's results of another study or version.

    Raises:
        RuntimeError: tasks have failed. What has finished is kept.
    """
    results = Results(Path(folder), study)
    with start_backend(backend, workers, address) as apply, results.lock(overwrite):
        results.load()
        missing = results.missing()
        outcomes = apply(functools.partial(try_task, results.files), missing) if missing else []
        problems = [problem for problem in outcomes if problem is not None]
        results.load()
    if problems:
        raise RuntimeError(f"{len(problems)} tasks have failed, such as {problems[0]}")
    return LoadedStudy(results)
