"""What a large draw costs on two threads."""

import os
import time

import numpy as np
import pytest

from bandit_envs.sampling import Normal, Threaded


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one core only")
def test_a_large_draw_on_two_threads_beside_one(compare):
    rng = np.random.default_rng(0)
    normal = Normal(50)
    threaded = Threaded(normal, 2)
    compare(
        "Threaded(Normal(50)), batch 100, 70 arms, 2 threads / Normal(50)",
        lambda: threaded.sample(rng, (100, 70)),
        lambda: normal.sample(rng, (100, 70)),
        rounds=200,
        clock=time.perf_counter,
    )
