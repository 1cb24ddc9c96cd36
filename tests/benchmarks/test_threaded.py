"""What a large draw costs on two threads."""

import os

import numpy as np
import pytest

from bandit_envs.sampling import Normal, Threaded
from tests.benchmarks.pairing import Ratio, fastest


def available_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.skipif(available_cores() < 2, reason="needs two cores")
def test_a_large_draw_on_two_threads(expect):
    left, right = np.random.default_rng(0), np.random.default_rng(0)
    normal = Normal(50)
    threaded = Threaded(normal, 2)
    draws = (lambda: threaded(left, (100, 70)), lambda: normal(right, (100, 70)))
    two, one = fastest(draws, rounds=400, number=1)
    ratio = Ratio.exactly(two / one)
    expect("Threaded(Normal(50)), batch 100, 70 arms, 2 threads / Normal(50)", ratio, 0.6)
