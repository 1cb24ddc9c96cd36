"""Logs whose estimates are known: a small one of three actions, and one with a heavy tail."""

import numpy as np

from bandit_envs.logged import BanditLog

CONTEXT = np.array(
    [
        [-0.4, 1.2],
        [1.4, 0.3],
        [0.4, -0.5],
        [-0.9, -0.9],
        [-1.0, 0.9],
        [-0.1, 0.1],
        [-0.6, -1.1],
        [-1.2, -0.8],
    ]
)
ACTION = np.array([1, 2, 0, 2, 1, 0, 0, 1])
REWARD = np.array([0.7, 0.2, 0.5, 0.5, 0.2, 0.2, 0.5, 0.1])
LOGGER = np.array(
    [
        [0.19, 0.12, 0.69],
        [0.17, 0.09, 0.74],
        [0.54, 0.24, 0.22],
        [0.09, 0.37, 0.54],
        [0.46, 0.4, 0.14],
        [0.66, 0.23, 0.11],
        [0.65, 0.11, 0.24],
        [0.19, 0.23, 0.58],
    ]
)
POLICY = np.array(
    [
        [0.32, 0.49, 0.19],
        [0.48, 0.39, 0.13],
        [0.06, 0.68, 0.26],
        [0.24, 0.53, 0.23],
        [0.15, 0.41, 0.44],
        [0.28, 0.31, 0.41],
        [0.43, 0.19, 0.38],
        [0.33, 0.55, 0.12],
    ]
)
PREDICTED = np.array(
    [
        [0.25, 0.8, 0.87],
        [0.15, 0.94, 0.94],
        [0.93, 0.43, 0.43],
        [0.37, 0.9, 0.05],
        [0.42, 0.94, 0.74],
        [0.81, 0.84, 0.28],
        [0.58, 0.26, 0.45],
        [0.38, 0.02, 0.92],
    ]
)


def short_log(knows_all=False):
    """Returns a log of eight rows, the probabilities of a policy, and predicted rewards."""
    propensity = LOGGER[np.arange(8), ACTION]
    columns = {"action_probabilities": LOGGER} if knows_all else {}
    log = BanditLog(CONTEXT, ACTION, REWARD, propensity, 3, **columns)
    return log, POLICY, PREDICTED


def heavy_log(size=40):
    """Returns a log whose weights have a heavy tail, and the probabilities of a policy."""
    place = np.arange(size)
    spread = (0.6180339887498949 * place + 0.5) % 1.0
    weight = 0.4 * (1.0 - spread) ** -0.6
    reward = ((7 * place + 3) % 10) / 10.0
    policy = np.full((size, 2), 0.01)
    policy[:, 1] = 0.99
    log = BanditLog(np.ones((size, 1)), np.zeros(size, int), reward, 0.01 / weight, 2)
    return log, policy
