"""What a study will cost, from a few steps of some of its tasks."""

from __future__ import annotations

import time
import tracemalloc
from typing import NamedTuple

from bandit_envs.experiments.studies import Cell, Study, Task
from bandit_envs.experiments.tasks import run_task

PROBED_CELLS = 8
PROBED_STEPS = 20


class Estimate(NamedTuple):
    """An estimate of a study's cost.

    Fields:
        seconds: of one worker's time, in all.
        memory: the peak of the largest task probed, in bytes, curves included.
    """

    seconds: float
    memory: int


def estimate(study: Study) -> Estimate:
    """Runs 20 steps of at most 8 tasks, evenly spread over the cells, and extrapolates."""
    every = -(-study.num_cells() // PROBED_CELLS)
    probed = [_probe(study, cell) for cell in study.cells() if cell.position % every == 0]
    seconds = sum(probe.seconds for probe in probed) / len(probed) * study.num_cells()
    return Estimate(seconds, max(probe.memory for probe in probed))


def _probe(study: Study, cell: Cell) -> Estimate:
    tasks = list(study.tasks(cell))
    steps = min(PROBED_STEPS, study.steps)
    short: Task = tasks[0]._replace(steps=steps)
    started = time.perf_counter()
    run_task(short)
    seconds = (time.perf_counter() - started) * (study.steps / steps) * len(tasks)
    tracemalloc.start()
    try:
        run_task(short)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Four curves a metric, as lists of numbers first and as arrays then.
    curves = 4 * len(study.metrics) * study.steps * (32 + 8 + 8)
    return Estimate(seconds, peak + curves)
