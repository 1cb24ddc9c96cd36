"""Bare loops: the calls of NumPy that a step of an environment cannot do without.

Each function returns a function that takes one step. It neither checks actions nor makes time
steps nor counts steps.
"""

import numpy as np


def testbed(rng, batch_size, action):
    values = rng.standard_normal((batch_size, 10), np.float32)
    places = np.arange(0, 10 * batch_size, 10)

    def step():
        rewards = rng.standard_normal(batch_size, np.float32)
        rewards += values.take(places + action)
        return rewards

    return step


def bernoulli(rng, batch_size, action):
    means = np.linspace(0.1, 0.9, 9)

    def step():
        return (rng.random(batch_size) < means.take(action)).astype(np.float32)

    return step


def k_armed(rng, batch_size, action):
    means = np.array([0.0, 0.2, 0.4, 0.6, 0.8], np.float32)

    def step():
        rewards = rng.standard_normal(batch_size, np.float32)
        rewards += means.take(action)
        return rewards

    return step


def stationary_stochastic(rng, batch_size, action):
    weights = np.ones((15, 5), np.float32)
    places = np.arange(0, 5 * batch_size, 5)
    std = np.float32(0.1)
    contexts = rng.standard_normal((batch_size, 15), np.float32)

    def step():
        nonlocal contexts
        rewards = rng.standard_normal(batch_size, np.float32)
        rewards *= std
        rewards += contexts.dot(weights).take(places + action)
        contexts = rng.standard_normal((batch_size, 15), np.float32)
        return rewards, contexts

    return step


def per_arm(rng, batch_size, action):
    weights = np.ones(90, np.float32)
    rows = np.arange(batch_size)
    users = rng.standard_normal((batch_size, 40), np.float32)
    items = rng.standard_normal((batch_size, 70, 50), np.float32)

    def step():
        nonlocal users, items
        features = np.concatenate([users, items[rows, action]], axis=1)
        rewards = features.dot(weights)
        rewards += rng.standard_normal(batch_size, np.float32)
        users = rng.standard_normal((batch_size, 40), np.float32)
        items = rng.standard_normal((batch_size, 70, 50), np.float32)
        return rewards, users, items

    return step


def wheel(rng, batch_size, action):
    means = np.ones((5, 5), np.float32)
    stds = np.ones((5, 5), np.float32)
    best = np.zeros(batch_size, np.intp)

    def step():
        nonlocal best
        cells = 5 * best + action
        noise = rng.standard_normal(batch_size, np.float32)
        rewards = means.take(cells) + stds.take(cells) * noise
        uniform = rng.random((2, batch_size), np.float32)
        radius = np.sqrt(uniform[0])
        angle = 2 * np.pi * uniform[1]
        x = radius * np.cos(angle)
        y = radius * np.sin(angle)
        quadrant = 1 + 2 * (x < 0) + (y < 0)
        best = np.where(x * x + y * y > 0.25, quadrant, 0)
        return rewards, np.stack([x, y]).T

    return step
