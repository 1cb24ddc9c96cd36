"""The subcommands that run studies.

`Study` checks a study file, and tries a few steps. `run` runs what is missing. `load` and `run`
return a `LoadedStudy`, which writes CSV files and `figure.png`. The same command resumes a study.
"""

import argparse
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs import studies
from bandit_envs.arrays import Floats
from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import atomic_write, check_place
from bandit_envs.cli.console import (
    ERR,
    OUT,
    StepProgress,
    describe_bytes,
    describe_seconds,
    track,
)
from bandit_envs.cli.options import Workers, folder_of, one_per_core
from bandit_envs.cli.printed_tables import show_comparison, show_differences, show_summary
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.names.notation import parse_toml
from bandit_envs.names.registry import near_miss
from bandit_envs.names.users_code import printable
from bandit_envs.studies import LoadedStudy, Study, TasksFailedError
from bandit_envs.studies.definition.keys import explain_file
from bandit_envs.studies.definition.task import Task
from bandit_envs.studies.results.expected import check_expected_values
from bandit_envs.studies.results.results import Results
from bandit_envs.studies.running.forecast import forecast
from bandit_envs.studies.running.run import RunObserver
from bandit_envs.studies.running.task_log import write_task_log
from bandit_envs.studies.showing.shown_environments import describe_choice

GALLERY = Path(studies.__file__).with_name("gallery")

LINEAR_POLICIES = ["lin_ucb", "linear_thompson", "linear_epsilon_greedy:epsilon=0.1"]
SLATE_POLICIES = ["random_slate", "cascade_ucb", "top_k_lin_ucb"]
CONTINUOUS_POLICIES = ["random_number", "gaussian"]
CONTEXT_FREE_POLICIES = ["random", "greedy", "epsilon_greedy:epsilon=0.1", "ucb:c=1"]

FORMATS = (".png", ".svg", ".pdf")
"""How the files of figures end."""

SECONDS_OF_TRIAL = 1.5
"""A dry run tries each policy in an environment for about so long."""

SECONDS_OF_LOOK = 0.05
"""Before its bar begins, a run tries each policy in an environment for about so long."""

OWN_FIGURE = "figure.png"
"""The file of a study's own figure, in its folder."""

MIN_RUNS = 50
"""With fewer runs, standard errors are too uncertain to compare a figure with a published one."""


def run(options: argparse.Namespace) -> int:
    """Runs policies in an environment."""
    values = _comparison(options.environment, options)
    study = _make_study(values, options)
    return _run(study, study.environment[0].name.replace(":", "."), options)


def sweep(options: argparse.Namespace) -> int:
    """Runs the missing tasks of a study file, then writes its tables and figure.

    Returns 1 if a task failed or an expected value was missed.
    """
    study = Study.from_toml(options.study)
    with explain_file(options.study, Study):
        check_expected_values(study)
    if options.dry_run:
        _forecast(study, options.workers)
        return 0
    return _run(study, options.study.stem, options)


def reproduce(options: argparse.Namespace) -> int:
    """Runs a study of the gallery, or lists them."""
    if options.name is None:
        if options.runs is not None or options.output is not None:
            raise ValueError("no NAME is given, so nothing is run; expected one, or no options")
        for name in _published_names():
            OUT.print(f"  {name}: {_read_published(name)['title']}", soft_wrap=True)
        return 0
    values = _read_published(options.name)
    is_compared = options.runs is None or options.runs >= MIN_RUNS
    if not is_compared:
        values["expected"] = []
    code = _run(_make_study(values, options), options.name, options)
    if not is_compared:
        reason = f"standard errors of fewer than {MIN_RUNS} runs are too uncertain"
        OUT.print(f"Not compared with what was published: {reason}.", soft_wrap=True)
    return code


def report(options: argparse.Namespace) -> int:
    """Writes and shows the tables and the figure of what has finished."""
    figure = _figure_of(options)
    if options.latex is not None:
        if options.latex.suffix != ".tex":
            raise ValueError(f"latex is {options.latex}; expected a file ending in .tex")
        check_place("latex", options.latex)
    whole = studies.load(options.folder, **_given(options))
    if options.quantiles and whole.num_missing == whole.num_tasks:
        raise ValueError(f"{options.folder} has nothing that was run with --quantiles")
    found = whole.only(options.policy) if options.policy else whole
    found.find_policy(options.baseline)
    table = "" if options.latex is None else found.to_latex(baseline=options.baseline)
    whole.write_tables(track)
    _show(found, figure)
    show_differences(found, options.baseline)
    if options.latex is not None:
        atomic_write(options.latex, [table.encode()])
        OUT.print(f"Table: {options.latex}", soft_wrap=True)
    if found.num_missing:
        OUT.print(found.unfinished)
    return 0


def _published_names() -> list[str]:
    """Returns the names of the studies of the gallery."""
    return [file.stem for file in sorted(GALLERY.glob("*.toml"))]


def _read_published(name: str) -> dict[str, Any]:
    """Returns a study of the gallery."""
    names = _published_names()
    if name not in names:
        hint = near_miss(name, names) or "reproduce without a name lists them"
        raise ValueError(f"the gallery has no {short_repr(name)}; {hint}")
    return parse_toml((GALLERY / f"{name}.toml").read_text("utf-8"))


def _comparison(environment: str, options: argparse.Namespace) -> dict[str, Any]:
    """Returns the study of the policies that options give, or of those that fit, in one place."""
    (choice,) = EnvironmentChoice.expand(environment)
    entry = choice.entry
    runs = 2000 if entry.independent_rows else 10
    values: dict[str, Any] = {
        "title": ", ".join(choice.parts()),
        "environment": [environment],
        "runs": 1 if getattr(options, "record", None) else runs,
        "steps": 1000,
    }
    values["policy"] = options.policy or _default_policies(values, entry.has_context)
    if entry.has_context and "regret" in _find_metrics(values, values["policy"][0]):
        values["panels"] = ["regret", "cumulative_regret"]
    return values


def _default_policies(values: Mapping[str, Any], has_context: bool) -> list[str]:
    """Returns the first default policies of which some can act in the environment of a study."""
    groups = [SLATE_POLICIES, CONTINUOUS_POLICIES, CONTEXT_FREE_POLICIES]
    if has_context:
        groups = [LINEAR_POLICIES, *groups]
    for group in groups:
        usable = [policy for policy in group if _find_metrics(values, policy)]
        if usable:
            return usable
    return CONTEXT_FREE_POLICIES


def _find_metrics(values: Mapping[str, Any], policy: str) -> tuple[str, ...]:
    """Returns the metrics of a study of one policy; none if it cannot act in the environment."""
    try:
        return Study.from_dict({**values, "policy": [policy]}).metrics
    except ValueError:
        return ()


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the keys of a study that options give."""
    given = {}
    for key in ("runs", "steps", "seed", "panels", "quantiles"):
        value = getattr(options, key, None)
        if value is not None:
            given[key] = value
    return given


def _make_study(values: Mapping[str, Any], options: argparse.Namespace) -> Study:
    """Returns the study of a file, with the values that options give."""
    return Study.from_dict({**values, **_given(options)})


def _run(study: Study, name: str, options: argparse.Namespace) -> int:
    """Runs the missing tasks of a study; writes and shows what has finished."""
    folder = folder_of(options, name, lambda folder: Results(folder, study).conflict() == "")
    if getattr(options, "record", None):
        Results(folder, study).check_usable(options.overwrite)
        _write_log(study, options.record, folder, options.overwrite)
    seen = CommandObserver(study)
    try:
        studies.run(
            study,
            folder,
            overwrite=options.overwrite,
            observer=seen,
            **options.workers._asdict(),
        )
    except TasksFailedError:
        return 1
    except Exception as error:  # workers and clusters that die make their libraries raise any
        if not seen.has_started:
            raise
        text = f"stopped: {printable(error)}"
        ERR.print(f"{text}; this resumes it: {options.line}", soft_wrap=True)
        return 1
    return 0 if seen.is_good else 1


def _forecast(study: Study, given: Workers) -> None:
    """Tries the tasks of a study, and prints what they will take."""
    tasks = list(study.tasks())
    OUT.print(_count_tasks(tasks))
    found = forecast(study, tasks, SECONDS_OF_TRIAL, track)
    total = float(found.seconds.sum())
    longest = float(found.seconds.max())
    parts = [f"{describe_seconds(total)} of one processor like this one"]
    if given.address is None:
        workers = min(given.workers, one_per_core().workers)
        name = "1 worker" if workers == 1 else f"{workers} workers"
        parts.append(f"{describe_seconds(max(total / workers, longest))} with {name}")
    if found.memory:
        parts.append(f"{found.memory / 1e6:,.0f} MB of memory for each worker")
    parts.append(f"{describe_bytes(found.disk)} of results")
    OUT.print(f"about {', '.join(parts)}", soft_wrap=True)
    _say_what_is_slow(study, tasks, found.seconds)


def _say_what_is_slow(study: Study, tasks: Sequence[Task], seconds: Floats) -> None:
    """Prints which of several environments takes the most time, if it takes more than half."""
    environments = [str(task.environment) for task in tasks]
    totals = dict.fromkeys(environments, 0.0)
    for environment, second in zip(environments, seconds):
        totals[environment] += float(second)
    slowest = max(totals, key=totals.__getitem__)
    total = sum(totals.values())
    if len(totals) == 1 or totals[slowest] <= 0.5 * total:
        return
    choice = tasks[environments.index(slowest)].environment
    text = f"{totals[slowest] / total:.0%} of this time is for {study.environment_label(choice)}"
    if not choice.entry.independent_rows and study.runs > 1:
        text += ": its rows share a problem, so its runs follow one another"
    OUT.print(text, soft_wrap=True)


class CommandObserver(RunObserver):
    """Shows how a study is run; writes and shows what has finished.

    Args:
        study: the study.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._progress: StepProgress | None = None
        self._num_tasks = 0
        self._num_failures = 0
        self.has_started = False
        self.is_good = False
        """Whether all has finished, and no expected value was missed."""

    def start(self, tasks: Sequence[Task], count_steps: Callable[[], int]) -> None:
        self.has_started = True
        self._num_tasks = len(tasks)
        if not tasks:
            ERR.print("all tasks have finished: nothing to run")
            return
        steps = np.array([task.batches * task.steps for task in tasks])
        work = steps.astype(np.float64)
        if ERR.is_terminal and len({task.position for task in tasks}) > 1:
            with contextlib.suppress(ValueError):  # the task that fails will say so
                work = forecast(self._study, tasks, SECONDS_OF_LOOK).seconds
        self._progress = StepProgress(_count_tasks(tasks), steps, work, count_steps)
        self._progress.start()

    def fail(self, problem: str) -> None:
        self._num_failures += 1
        ERR.print(f"failed: {problem}", soft_wrap=True)

    def finish(self, found: LoadedStudy) -> None:
        if self._progress is not None:
            self._progress.stop()
        if self._num_failures:
            text = f"{self._num_failures} of {self._num_tasks} tasks failed"
            ERR.print(f"{text}; the same command repeats them")
        found.write_tables(track)
        is_as_expected = _show(found, found.folder / OWN_FIGURE)
        has_failures = bool(found.num_missing or found.study.failed)
        self.is_good = is_as_expected and not has_failures


def _write_log(study: Study, path: Path, results: Path, overwrite: bool) -> None:
    """Writes the log of a study of one task, beside its results."""
    if results.absolute() in path.absolute().parents:
        raise ValueError(f"record is {path}, in the folder of the results; expected another place")
    if path.suffix:
        check_place("record", path)
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists; --overwrite replaces it")
    OUT.print(f"{path}: {write_task_log(list(study.tasks()), path)}")


def _count_tasks(tasks: Sequence[Task]) -> str:
    return "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"


def _show(found: LoadedStudy, figure: Path) -> bool:
    """Shows the tables, and writes the figure.

    Args:
        found: what has finished.
        figure: the file of the figure.

    Returns:
        whether no expected value was missed.
    """
    if found.pairs:
        found.write_figure(figure)
        show_summary(found)
    comparison = found.compare()
    show_comparison(comparison)
    OUT.print(f"Results: {found.folder}", soft_wrap=True)
    if found.pairs:
        _say_what_is_drawn(figure, found)
    return all(row.verdict != "missed" for row in comparison)


def _say_what_is_drawn(figure: Path, found: LoadedStudy) -> None:
    """Prints which file a figure is in if not the study's own, and what it shows if not all."""
    if figure != found.folder / OWN_FIGURE:
        OUT.print(f"Figure: {figure}", soft_wrap=True)
    shown = describe_choice(found.study)
    if shown and figure.suffix != ".pdf":
        OUT.print(
            f"The figure shows {shown}; a PDF has pages with all, and so have the tables",
            soft_wrap=True,
        )


def _figure_of(options: argparse.Namespace) -> Path:
    """Returns the file of a report's figure. A view that options choose has one of its own."""
    parts = ["figure", *(options.panels or [])]
    if options.quantiles:
        parts += ["quantiles", *(f"{level:g}" for level in options.quantiles)]
    if options.policy:
        parts.append("policies")
    own = options.folder / OWN_FIGURE
    default = own.with_stem("-".join(parts))
    figure = Path(options.figure or default)
    if figure.suffix not in FORMATS:
        raise ValueError(f"figure is {figure}; expected a file ending in {' or '.join(FORMATS)}")
    if figure.resolve() == own.resolve() and default != own:
        raise ValueError(f"figure is {figure}, the study's own; expected another file for a view")
    return figure
