"""What the subcommands do: make a study, run it, show progress, a table and a figure."""

import argparse
import contextlib
import functools
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs import metrics
from bandit_envs import studies as bandit_studies
from bandit_envs.base.checks import short_repr
from bandit_envs.base.registry import near_miss
from bandit_envs.base.saving import atomic_write
from bandit_envs.cli.console import ERR, OUT, StepProgress, new_table
from bandit_envs.studies.choice import EnvironmentChoice, parse_toml, printable
from bandit_envs.studies.expected import Row, compare
from bandit_envs.studies.figures import study_figure
from bandit_envs.studies.results import Results, band, csv_rows, read_config
from bandit_envs.studies.run import backend, record, try_task
from bandit_envs.studies.study import Study, Task

GALLERY = Path(bandit_studies.__file__).with_name("gallery")
LINEAR = ["lin_ucb", "linear_thompson", "linear_epsilon_greedy:epsilon=0.1"]
DISJOINT = [f"disjoint_{policy}" for policy in LINEAR]
SLATES = ["random_slate", "cascade_ucb", "top_k_lin_ucb"]
CONTEXT_FREE = ["random", "greedy", "epsilon_greedy:epsilon=0.1", "ucb:c=1"]
FEW = 50  # runs: with fewer, standard errors are too uncertain to compare a figure


def testbed(options: argparse.Namespace) -> int:
    """Runs a figure of the book, or policies on k-armed testbeds."""
    figure = options.figure or ("" if options.policy else "2.2")
    values = _published(f"sutton-barto-{figure or '2.2'}")
    if not figure:
        values |= {"title": "Policies on k-armed testbeds", "policy": []}
    steps, arms = values["steps"], values["environment"][0]["k"]
    is_books = (options.steps or steps, options.arms) == (steps, arms)
    if not figure or not is_books or (options.runs or FEW) < FEW:
        values["expected"] = []
    if options.arms != arms:
        values["title"] += f" ({options.arms} arms)"
        values["environment"][0]["k"] = options.arms
    values["policy"] += options.policy or []
    return _run(values, f"testbed-{figure or 'policies'}", options)


def run(options: argparse.Namespace) -> int:
    """Runs policies in an environment."""
    environment = next(EnvironmentChoice.expand(options.environment))
    runs = 1 if options.record else 2000 if environment.entry.independent_rows else 10
    values: dict[str, Any] = {"environment": [options.environment], "runs": runs, "steps": 1000}
    values["title"] = ", ".join(environment.parts())
    has_context = environment.entry.has_context
    defaults = [LINEAR, DISJOINT] * has_context + [SLATES, CONTEXT_FREE]
    usable = ([p for p in policies if _metrics(values, p)] for policies in defaults)
    values["policy"] = options.policy or next(filter(None, usable), CONTEXT_FREE)
    if has_context and "regret" in _metrics(values, values["policy"][0]):
        values["panels"] = ["regret", "cumulative_regret"]
    return _run(values, environment.name.replace(":", "."), options)


def sweep(options: argparse.Namespace) -> int:
    """Runs a study file."""
    values: dict[str, Any] = {}
    try:
        values = parse_toml(options.study.read_text("utf-8"))
        return _run(values, options.study.stem, options)
    except (TypeError, ValueError, RecursionError) as error:
        lists = (each if isinstance(each, list) else [each] for each in values.values())
        inner = {key for each in itertools.chain(*lists) if isinstance(each, dict) for key in each}
        misplaced = inner & (Study.__dataclass_fields__.keys() - values.keys())
        hints = (f"; write {k} above the first table" for k in misplaced if repr(k) in str(error))
        raise ValueError(f"{options.study}: {error}{''.join(hints)}") from error


def reproduce(options: argparse.Namespace) -> int:
    """Runs a study of the gallery, or lists them."""
    if options.list or options.name is None:
        for name in (file.stem for file in sorted(GALLERY.glob("*.toml"))):
            OUT.print(f"  {name}: {_published(name)['title']}", soft_wrap=True)
        return 0
    return _run(_published(options.name), options.name, options)


def report(options: argparse.Namespace) -> int:
    """Writes and shows the tables and the figure of what has finished."""
    config = read_config(options.folder)
    study = _study(config["study"], options)
    results = Results(options.folder, study, config["versions"])
    if problem := results.problem():
        raise ValueError(problem)
    missing, number = len(results.missing()), len(list(study.tasks()))
    if options.quantiles and missing == number:
        raise ValueError(f"{options.folder} has nothing that was run with --quantiles")
    _show(results)
    _show_differences(results)
    if missing:
        OUT.print(f"{missing} of {number} tasks have not finished")
    return 0


def _published(name: str) -> dict[str, Any]:
    """Returns a study of the gallery."""
    names = [file.stem for file in GALLERY.glob("*.toml")]
    if name not in names:
        hint = near_miss(name, sorted(names)) or "reproduce --list shows them"
        raise ValueError(f"the gallery has no {short_repr(name)}; {hint}")
    return parse_toml((GALLERY / f"{name}.toml").read_text("utf-8"))


def _metrics(values: dict[str, Any], policy: str) -> tuple[str, ...]:
    """Returns the metrics of a study of one policy; none if it cannot act in the environment."""
    with contextlib.suppress(ValueError):
        return Study.of({**values, "policy": [policy]}).metrics
    return ()


def _study(values: dict[str, Any], options: argparse.Namespace) -> Study:
    """Returns the study of a file or folder, with the values that options give."""
    keys = "runs", "steps", "seed", "panels", "quantiles"
    given = {key: getattr(options, key, None) for key in keys}
    return Study.of({**values, **{key: given[key] for key in given if given[key] is not None}})


def _run(values: dict[str, Any], name: str, options: argparse.Namespace) -> int:
    """Runs the missing tasks of a study; writes and shows what has finished."""
    study = _study(values, options)
    compare(study, ())
    if options.dry_run:
        OUT.print(_counted(list(study.tasks())))
        return 0
    if getattr(options, "record", None):
        if options.record.exists() and not options.overwrite:
            raise ValueError(f"{options.record} exists; --overwrite replaces it")
        OUT.print(f"{options.record}: {record(list(study.tasks()), options.record)}")
    folder = folder_of(options, name, lambda folder: Results(folder, study).problem() == "")
    results = Results(folder, study)
    opened = results.opened(options.overwrite)
    with backend(options.backend, options.workers, options.address) as apply, opened:
        try:
            try:
                failures = _run_missing(results, apply)
            finally:
                is_missed = _show(results)
        except Exception as error:  # a worker died, or the disk is full
            text = f"stopped: {printable(error)}; the same command resumes it in {results.path}"
            ERR.print(text, soft_wrap=True)
            return 1
    return 1 if failures or is_missed else 0


def folder_of(options: argparse.Namespace, name: str, is_free: Callable[[Path], bool]) -> Path:
    """Returns the folder that a user has chosen, or the first one of a name that is free."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    folders = (Path("results", each) for each in names)
    free = (folder for folder in folders if options.overwrite or is_free(folder))
    return options.output or next(free)


def _run_missing(results: Results, apply: Any) -> int:
    """Runs the missing tasks and returns how many failed."""
    tasks, failures = results.missing(), 0
    if not tasks:
        ERR.print("all tasks have finished: nothing to run")
        return 0
    progress = StepProgress(_counted(tasks), _steps(tasks), results.reported)
    outcomes = contextlib.closing(apply(functools.partial(try_task, results), tasks))
    with warnings.catch_warnings(), progress, outcomes as finished:
        warnings.filterwarnings("ignore", ".*have been cancelled", UserWarning, "joblib")
        for task, error in finished:
            if error is not None:
                failures += 1
                ERR.print(f"failed: {task}: {error}", soft_wrap=True)
    if failures:
        ERR.print(f"{failures} of {len(tasks)} tasks failed; the same command repeats them")
    return failures


def _counted(tasks: list[Task]) -> str:
    return f"{len(tasks)} task{'s' * (len(tasks) > 1)}"


def _steps(tasks: list[Task]) -> int:
    return sum(task.batches * task.steps for task in tasks)


def _show(results: Results) -> bool:
    """Writes and prints what has finished; returns whether an expected value was missed."""
    results.write_tables()
    study, comparison = results.study, compare(results.study, results)
    at_last = " and ".join(q.heading for name, q in study.summary.items() if name == q.metric)
    span = np.diff((0, *study.kept))[-1] if study.kept else 1
    last = f"over the last {span} steps" if span > 1 else "at the last step"
    caption = f"{study.spread}{at_last and f'; {at_last}: {last}'}"
    headings = [quantity.heading for quantity in study.summary.values()]
    title = f"{study.title}\n{study.runs} runs of {study.steps} steps"
    table = new_table(title, "policy", *headings, caption=caption)
    for task, result in itertools.islice(results, 60):
        so_far = f" ({task.runs} runs so far)" if task.runs < study.runs else ""
        cells = []
        for name, quantity in study.summary.items():
            _, value, low, high = band(study, result, name)[:, -1]
            error = high - value
            value, low, high, error = quantity.texts(value, low, high, error, error=error)
            spread = f"\n({low} to {high})" if study.quantiles else f" ±{error}"
            cells.append(value if task.runs == 1 else f"{value}{spread}")
        table.add_row(f"{study.label(task)}{so_far}", *cells)
    if table.rows:
        atomic_write(results.path / "figure.png", [study_figure(study, results)])
        OUT.print(table)
    if comparison:
        atomic_write(results.path / "comparison.csv", [csv_rows([Row._fields, *comparison])])
    for metric, step, source in dict.fromkeys(row[1:4] for row in comparison):
        compared = new_table(f"{metric} at step {step}\n{source}", "policy", *Row._fields[4:])
        for row in comparison:
            if row[1:4] == (metric, step, source):
                compared.add_row(row.policy, *row[4:])
        OUT.print(compared)
    more = ", with more rows than these" if len(table.rows) == 60 else ""
    OUT.print(f"Results: {results.path}{more}", soft_wrap=True)
    return any(row.verdict == "missed" for row in comparison)


def _show_differences(results: Results) -> None:
    """Prints how the runs of each policy differ from those of the first policy."""
    study, firsts = results.study, {}
    of_runs = {name: q for name, q in study.summary.items() if name != q.metric}
    title = f"Differences to {', '.join(study.policy[0].parts())} on the same problems"
    headings, caption = (q.heading for q in of_runs.values()), "with 95% confidence intervals"
    table = new_table(title, "policy", *headings, caption=f"{caption} of the mean over runs")
    for task, result in itertools.islice(results, 60):
        environment = str(task.environment)
        if task.runs < max(study.runs, 2):
            continue
        if task.policy == study.policy[0]:
            firsts[environment] = result
        elif environment in firsts:
            found, cells = metrics.compare(result, firsts[environment]), []
            for name, quantity in of_runs.items():
                value, *ends = map(float, (found[name].mean, *found[name].interval(0.95)))
                texts = quantity.texts(value, *ends, error=ends[1] - value)
                cells.append("{} ({} to {})".format(*texts))
            table.add_row(study.label(task), *cells)
    if table.rows:
        OUT.print(table)
