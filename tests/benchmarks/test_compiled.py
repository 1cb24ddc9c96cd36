"""What Figure 2.2 costs beside loops that JAX and Numba compile, in one process, on the CPU.

Neither is a dependency: what is not installed is skipped, and named in the end. Compilation is not
counted, as the first call of each function does it.
"""

import numpy as np
import pytest

from tests.benchmarks.test_drivers import figure_2_2

EPSILONS = (0.0, 0.01, 0.1)
SIZES = pytest.mark.parametrize(("runs", "steps"), [(2000, 1000), (100, 1000), (1, 5000)])


def our_curves(runs, steps):
    """Runs the three curves with their metrics."""
    for epsilon in EPSILONS:
        figure_2_2(epsilon, runs, steps)


def check_last(curves, runs):
    """Requires that ε-greedy has learned: the regret of its last step is below that of chance."""
    assert runs < 100 or 0.0 <= float(curves[-1, 2, 0]) < 0.8


@SIZES
def test_figure_2_2_beside_jax(compare, runs, steps):
    jax = pytest.importorskip("jax")
    run = jax_figure_2_2(jax, runs, steps)
    check_last(run(0.1), runs)

    def theirs():
        for epsilon in EPSILONS:
            run(epsilon)

    title = f"Figure 2.2, {runs} runs of {steps} steps / a scan that JAX compiles"
    compare(title, lambda: our_curves(runs, steps), theirs, rounds=5)


@SIZES
def test_figure_2_2_beside_numba(compare, runs, steps):
    numba = pytest.importorskip("numba")
    run = numba_figure_2_2(numba, runs, steps)
    check_last(run(0.1), runs)

    def theirs():
        for epsilon in EPSILONS:
            run(epsilon)

    title = f"Figure 2.2, {runs} runs of {steps} steps / loops that Numba compiles"
    compare(title, lambda: our_curves(runs, steps), theirs, rounds=5)


def jax_figure_2_2(jax, runs, steps):
    """Returns a function that returns means and deviations of three quantities: [steps, 3, 2]."""
    jnp = jax.numpy
    rows = jnp.arange(runs)

    def step(means, epsilon, carry, key):
        counts, values = carry
        ties, explores, other, noise = jax.random.split(key, 4)
        is_best = values == values.max(axis=1, keepdims=True)
        greedy = (is_best * jax.random.uniform(ties, values.shape)).argmax(axis=1)
        is_random = jax.random.uniform(explores, (runs,)) < epsilon
        action = jnp.where(is_random, jax.random.randint(other, (runs,), 0, 10), greedy)
        mean = means[rows, action]
        reward = mean + jax.random.normal(noise, (runs,))
        counts = counts.at[rows, action].add(1.0)
        errors = reward - values[rows, action]
        values = values.at[rows, action].add(errors / counts[rows, action])
        best = means.max(axis=1)
        quantities = jnp.stack((reward, 1.0 * (mean == best), best - mean))
        return (counts, values), jnp.stack((quantities.mean(axis=1), quantities.std(axis=1)), 1)

    @jax.jit
    def curves(epsilon):
        of_means, of_steps = jax.random.split(jax.random.key(0))
        means = jax.random.normal(of_means, (runs, 10))
        nothing = jnp.zeros((runs, 10))
        keys = jax.random.split(of_steps, steps)
        return jax.lax.scan(
            lambda carry, key: step(means, epsilon, carry, key), (nothing, nothing), keys
        )[1]

    return lambda epsilon: np.asarray(curves(epsilon))


def numba_figure_2_2(numba, runs, steps):
    """Returns a function that returns means and deviations of three quantities: [steps, 3, 2]."""

    @numba.njit
    def best_of(values):
        best = 0
        ties = 1
        for action in range(1, 10):
            if values[action] > values[best]:
                best = action
                ties = 1
            elif values[action] == values[best]:
                ties += 1
                if np.random.random() * ties < 1.0:  # each of them with the same probability
                    best = action
        return best

    @numba.njit
    def sums(epsilon, runs, steps):
        totals = np.zeros((steps, 3, 2))
        for _ in range(runs):
            means = np.random.standard_normal(10)
            largest = means.max()
            counts = np.zeros(10)
            values = np.zeros(10)
            for step in range(steps):
                if np.random.random() < epsilon:
                    action = np.random.randint(0, 10)
                else:
                    action = best_of(values)
                reward = means[action] + np.random.standard_normal()
                counts[action] += 1.0
                values[action] += (reward - values[action]) / counts[action]
                regret = largest - means[action]
                is_best = 1.0 if regret == 0.0 else 0.0
                for place, quantity in enumerate((reward, is_best, regret)):
                    totals[step, place, 0] += quantity
                    totals[step, place, 1] += quantity * quantity
        return totals

    def curves(epsilon):
        means, squares = np.moveaxis(sums(epsilon, runs, steps) / runs, 2, 0)
        deviations = np.sqrt(np.maximum(squares - means**2, 0.0))
        return np.stack((means, deviations), axis=2)

    return curves
