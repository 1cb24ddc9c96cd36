"""Studies of policies that have learned from a log."""

import pytest

from bandit_envs import RandomPolicy, StepDriver
from bandit_envs.environments import logistic_context
from bandit_envs.logged import LogRecorder, write_log
from bandit_envs.studies import Study, run

for library in ("filelock", "joblib", "pandas"):
    pytest.importorskip(library)


def test_a_policy_that_knows_a_log_has_less_regret_than_a_cold_one(tmp_path):
    env = logistic_context(5, context_dim=3, batch_size=20, seed=0)
    recorder = LogRecorder(5)
    policy = RandomPolicy(5, batch_size=20, seed=1)
    StepDriver(env, policy, [recorder], num_steps=50, emit_log_probability=True).run()
    write_log(tmp_path / "log.npz", recorder.log())
    warm = {"name": "warm_start", "policy": "lin_ucb", "log": str(tmp_path / "log.npz")}
    place = {"name": "logistic_context", "num_actions": 5, "context_dim": 3}
    study = Study.from_dict(
        {
            "title": "warm and cold",
            "environment": [place],
            "policy": [{"name": "lin_ucb"}, warm],
            "metrics": ["regret"],
            "runs": 10,
            "steps": 100,
        }
    )

    found = run(study, tmp_path / "found", backend="threading")

    of_cold, of_warm = found.summary["cumulative_regret"]
    assert of_warm < 0.7 * of_cold
