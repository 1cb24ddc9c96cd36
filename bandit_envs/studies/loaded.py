"""What has finished of a study, as data frames, tables and figures."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import atomic_write
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.running.tracking import Track, track_nothing
from bandit_envs.showing.tables import csv_rows, text_cell
from bandit_envs.studies.definition.changing import describe_regret
from bandit_envs.studies.definition.row_names import RowNames
from bandit_envs.studies.definition.rows_in_turn import Pair, describe_row_by_row
from bandit_envs.studies.definition.study import Study, View
from bandit_envs.studies.results.differences import (
    Difference,
    compare_to,
    describe_differences,
)
from bandit_envs.studies.results.expected import Comparison, compare_with_expected
from bandit_envs.studies.showing.study_headline import say_who_leads
from bandit_envs.studies.showing.study_latex import latex_table
from bandit_envs.studies.showing.study_tables import study_tables, write_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from bandit_envs.studies.results.results import PairResult, Results


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LoadedStudy:
    """What has finished of a study; `load` and `run` return one.

    The frames have a row or more for each policy in each environment that has finished all runs.
    They need pandas. A label that a study gives an environment or a policy names it; others have
    their ids with parameters. Columns ending in `_se` are standard errors.

    Results above 256 MB stay in the folder: those of a policy in an environment are read when they
    are asked for.

    Args:
        folder: the folder of the results.
        study: the study, with what is shown of it.
        pairs: what has finished of each policy in each environment.
        num_missing: how many tasks have not finished.
        num_tasks: how many tasks there are.
        row_by_row: the environments and policies that have a model for each run.
        changing: what the optimum of a run is among, by the texts of the environments whose
            actions change the state; "" if it is unknown.
    """

    folder: Path
    study: Study
    pairs: Sequence[PairResult]
    num_missing: int
    num_tasks: int
    row_by_row: Sequence[Pair]
    changing: Mapping[str, str]

    def __repr__(self) -> str:
        study = self.study
        size = f"policies={len(study.policy)}, environments={len(study.environment)}"
        return f"LoadedStudy({str(self.folder)!r}, {size}, runs={study.runs}, steps={study.steps})"

    @classmethod
    def from_results(cls, results: Results) -> LoadedStudy:
        """Returns what is loaded of results."""
        return cls(
            folder=results.path,
            study=results.study,
            pairs=results.pairs(),
            num_missing=len(results.missing()),
            num_tasks=results.study.num_tasks,
            row_by_row=results.row_by_row or (),
            changing=results.changing or {},
        )

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

    @property
    def unfinished(self) -> str:
        """How many tasks have not finished, in words: "1 of 2 tasks has not finished"."""
        verb = "has" if self.num_missing == 1 else "have"
        return f"{self.num_missing} of {self.num_tasks} tasks {verb} not finished"

    @property
    def notes(self) -> list[str]:
        """Lines below the summary.

        They say which policies have failed, what regrets are, and which policies have a model for
        each run.
        """
        of_failed = [f"Failed: {problem}" for problem in self.study.failed.values()]
        of_regret = describe_regret(self.study, self.changing, self.study.summary)
        of_rows = describe_row_by_row(self.study, self.row_by_row)
        return [*of_failed, *of_regret, *([of_rows] if of_rows else [])]

    @property
    def comparison(self) -> DataFrame:
        """A row for each expected value, beside what was measured."""
        return _pandas().DataFrame(self.compare(), columns=Comparison._fields)

    def compare(self) -> list[Comparison]:
        """Returns the expected values beside what was measured."""
        return compare_with_expected(self.study, self.pairs)

    def differences(
        self, baseline: str | None = None, confidence: float = 0.95, resamples: int = 2000
    ) -> DataFrame:
        """Returns how the runs of the policies differ from those of one policy, in pairs.

        A row has the mean difference, its interval by Student's t (`low`, `high`) and by the
        bootstrap, and the p-values of the paired t-test and of Wilcoxon's signed-rank test. Those
        that end in `_holm` are corrected for the number of policies in the environment.

        Args:
            baseline: this policy: its id with parameters, or its id or label alone, if no other
                policy has it; by default the first.
            confidence: the probability that the intervals hold.
            resamples: how often the bootstrap draws all runs anew.
        """
        found = compare_to(self.find_policy(baseline), self.study, self.pairs)
        names = RowNames.of(self.study)
        rows = describe_differences(found, names, confidence, resamples)
        return _pandas().DataFrame(rows, columns=Difference._fields)

    def headline(self, baseline: str | None = None) -> list[str]:
        """Returns sentences that say which policies are better than one of them by mean reward.

        Each environment has a sentence. If there are more than three, there is one sentence, which
        says in how many of them a policy is better.
        P-values are `p_t_holm` of `differences`. There are no sentences if runs are not compared,
        or if policies stop.

        Args:
            baseline: the policy that the others are compared with, as for `differences`.
        """
        policy = self.find_policy(baseline)
        return say_who_leads(self.study, policy, compare_to(policy, self.study, self.pairs))

    def find_policy(self, text: str | None, name: str = "baseline") -> PolicyChoice:
        """Returns the policy that a text names, or without one the first of the study.

        Args:
            text: a policy as the study has it, or what only one policy of the study has: a label or
                an id.
            name: of the argument, in the error of a text that names none.
        """
        policies = self.study.policy
        if text is None:
            return policies[0]
        found: list[PolicyChoice] = []
        for is_named in (_is_policy, self._has_label, _has_id):
            found = [policy for policy in policies if is_named(policy, text)]
            if len(found) == 1:
                return found[0]
        expected = ", ".join(self._name_and_label(policy) for policy in found or policies)
        raise ValueError(f"{name} is {text}; expected one of {expected}")

    def _name_and_label(self, policy: PolicyChoice) -> str:
        """Returns a policy as the study has it, with the label of its own, if it has one."""
        label = self.study.policy_label(policy)
        return f"{policy} ({label})" if str(policy) in self.study.labels else str(policy)

    def _has_label(self, policy: PolicyChoice, text: str) -> bool:
        """Whether figures or tables show a policy by a text."""
        return text == self.study.policy_label(policy)

    def to_latex(self, quantities: Sequence[str] | None = None, baseline: str | None = None) -> str:
        """Returns a table of LaTeX, which needs the package booktabs, and says what its errors are.

        It has a row for each policy, and a column for each environment, or if there is one alone,
        for each quantity. Numbers are rounded to two digits of their error.

        Args:
            quantities: those that are shown, such as "mean_reward"; by default, those of the
                summary, and with a baseline, those of whole runs.
            baseline: stars say which policies differ from this one by more than chance, by the
                p-values `p_t_holm` of `differences`; None for no stars.
        """
        policy = None if baseline is None else self.find_policy(baseline)
        return latex_table(self.study, self.pairs, quantities, policy, self.changing)

    def plot(
        self,
        *,
        width: float | None = None,
        style: str | Path | None = None,
        **view: typing.Unpack[View],
    ) -> Figure:
        """Returns the study's figure, which `savefig` of matplotlib writes in any format.

        Args:
            width: in inches; by default, 8.
            style: a style of matplotlib, or the file of one.
            **view: keys of `Study` in place of the study's own: `title`, `panels`, `quantiles`,
                `log_axes`, `labels` and `colors`.
        """
        import_extra("matplotlib", "cli")
        from bandit_envs.studies.showing.study_figures import draw_study  # noqa: PLC0415

        study = self.shown(**view).study
        if "arms" in study.panels:
            raise ValueError("panels has arms, a picture of one problem; expected other panels")
        return draw_study(study, self.pairs, width, style)

    def shown(self, **view: typing.Unpack[View]) -> LoadedStudy:
        """Returns the same results with other values of keys that say what to show."""
        study = self.study.shown(**view)
        if study.quantiles and not self.study.quantiles:
            raise ValueError("quantiles are not kept; expected a study that was run with quantiles")
        return dataclasses.replace(self, study=study)

    def only(self, policies: Sequence[str]) -> LoadedStudy:
        """Returns the results of some policies, in this order, for tables and figures of a paper.

        P-values are then corrected for these policies alone, so choose them before you see the
        results, or by the results of another seed. Expected values of others are left out.

        Args:
            policies: texts as `find_policy` takes them; the first is the baseline by default.
        """
        if self.study.paired:
            raise ValueError(
                "the study is paired, with an environment for each policy; expected one in which "
                "all policies meet all environments"
            )
        found = [self.find_policy(text, "policy") for text in policies]
        if not found:
            raise ValueError("policies is empty; expected one or more")
        chosen = {str(policy): policy for policy in found}
        places = [str(environment) for environment in self.study.environment]
        names = list(chosen)
        pairs = sorted(
            (pair for pair in self.pairs if str(pair.policy) in chosen),
            key=lambda pair: (places.index(str(pair.environment)), names.index(str(pair.policy))),
        )
        study = dataclasses.replace(self.study, policy=tuple(chosen.values()), failed={})
        return dataclasses.replace(self, study=study, pairs=pairs)

    def write_figure(self, file: str | Path) -> None:
        """Writes the study's figure to a file.

        Of more than 20 environments, a PDF has pages with all; other files show the twelve in which
        the policies differ most.

        Args:
            file: ends in .png, .svg or .pdf.
        """
        import_extra("matplotlib", "cli")
        from bandit_envs.studies.showing.study_figures import study_figure  # noqa: PLC0415

        path = Path(file)
        file_format = path.suffix.removeprefix(".")
        atomic_write(path, [study_figure(self.study, self.pairs, file_format)])

    def write_page(self, file: str | Path) -> None:
        """Writes a page of HTML with the tables, the curves and the text of the study.

        The page needs no server and no network. Its charts need Plotly, of the extra `show`;
        without it, there is a picture.

        Args:
            file: ends in .html.
        """
        import_extra("matplotlib", "cli")
        from bandit_envs.studies.showing.study_page import study_page  # noqa: PLC0415

        notes = [*self.notes, f"{self.unfinished}."] if self.num_missing else self.notes
        page = study_page(self.study, self.pairs, notes)
        atomic_write(Path(file), [page.encode()])

    def write_tables(self, track: Track = track_nothing) -> None:
        """Writes the tables to files in the folder, as the command does.

        They are `summary.csv`, `runs.csv`, `comparison.csv` if values are expected, and
        `curves.npy`, an array of NumPy with a row for each row of `summary.csv`.

        Args:
            track: yields the results that it is given, and may show how many it has yielded.
        """
        write_tables(self.folder, self.study, self.pairs, track)
        file = self.folder / "comparison.csv"
        comparison = self.compare()
        if comparison:
            rows = [
                row._replace(policy=text_cell(row.policy), source=text_cell(row.source))
                for row in comparison
            ]
            atomic_write(file, [csv_rows([Comparison._fields, *rows])])
        else:
            file.unlink(missing_ok=True)

    def _frame(self, name: str) -> DataFrame:
        pandas = _pandas()
        table = study_tables(self.study)[name]
        names = RowNames.of(self.study)
        frames = []
        for pair in self.pairs:
            if pair.runs == self.study.runs:
                columns = {
                    "environment": names.environments[str(pair.environment)],
                    "policy": names.policies[str(pair.policy)],
                    table.counter: list(table.numbers),
                    **table.columns(pair),
                }
                frames.append(pandas.DataFrame(columns))
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


def load(folder: str | Path, **view: typing.Unpack[View]) -> LoadedStudy:
    """Returns what has finished of the study in a folder of results.

    Args:
        folder: the folder.
        **view: keys of `Study` in place of the study's own: `title`, `panels`, `quantiles`,
            `log_axes`, `labels` and `colors`.

    Raises:
        ValueError: the folder holds no results of a study, or older ones.
    """
    # This needs packages of the extra "cli", which loading the package does not.
    from bandit_envs.studies.results.results import Results  # noqa: PLC0415

    return LoadedStudy.from_results(Results.read(Path(folder), view))


def _pandas() -> Any:
    """Returns pandas, which the frames need."""
    return import_extra("pandas", "logged")


def _is_policy(policy: PolicyChoice, text: str) -> bool:
    """Whether a text is a policy with its parameters, in any order."""
    if str(policy) == text:
        return True
    return text.startswith(f"{policy.name}:") and policy in PolicyChoice.expand(text)


def _has_id(policy: PolicyChoice, text: str) -> bool:
    """Whether a text is the id of a policy, without parameters."""
    return policy.name == text
