import numpy as np

from bandit_envs import AverageRewardMetric, KArmedTestbed, StepDriver, UCBPolicy
from bandit_envs.studies.specs import EnvironmentSpec, PolicySpec
from bandit_envs.studies.study import Study
from bandit_envs.studies.tasks import merge_results, run_task


def study(*policies, runs=50, steps=20, seed=5):
    environment = EnvironmentSpec.parse("testbed:k=4")
    return Study(
        "A study", (environment,), tuple(map(PolicySpec.parse, policies)), runs, steps, seed
    )


def tasks(one):
    """Returns the tasks of every cell of a study."""
    return [list(one.tasks(cell)) for cell in one.cells()]


def test_a_task_is_a_policy_that_learns_on_a_testbed():
    ((task,),) = tasks(study("ucb:c=2"))
    env_seed, policy_seed = np.random.SeedSequence(5, spawn_key=(0,)).spawn(2)
    env = KArmedTestbed(4, batch_size=50, seed=env_seed)
    policy = UCBPolicy(2.0, num_actions=4, batch_size=50, seed=policy_seed)
    metric = AverageRewardMetric()
    StepDriver(env, policy, [policy, metric], 20).run()
    reward = run_task(task).metrics["reward"]
    np.testing.assert_array_equal(reward.per_step.mean, metric.result().per_step.mean)
    np.testing.assert_array_equal(
        reward.cumulative.squared_deviation, metric.result().cumulative.squared_deviation
    )


def test_every_policy_meets_the_same_testbeds():
    # Two names for one policy: on the same testbeds and by the same draws, they do the same.
    greedy, other = (
        run_task(task) for (task,) in tasks(study("greedy", "epsilon_greedy:epsilon=0"))
    )
    for name, metric in greedy.metrics.items():
        np.testing.assert_array_equal(metric.per_step.mean, other.metrics[name].per_step.mean)


def test_runs_beyond_one_batch_are_other_runs_of_the_same_study():
    ((first, second, third),) = tasks(study("random", runs=4500, steps=3))
    assert [task.runs for task in (first, second, third)] == [2000, 2000, 500]
    results = [run_task(task) for task in (first, second, third)]
    means = [result.metrics["reward"].per_step.mean for result in results]
    assert not np.any(means[0] == means[1])
    merged = merge_results(results)
    assert merged.runs == 4500
    reward = merged.metrics["reward"].per_step
    assert reward.count == 4500
    np.testing.assert_allclose(
        reward.mean, np.average(means, axis=0, weights=[2000, 2000, 500]), rtol=1e-9
    )


def test_runs_are_the_same_whatever_comes_after_them():
    ((few, _),) = tasks(study("thompson", runs=2300, steps=3))
    ((many, _, _),) = tasks(study("thompson", runs=4100, steps=3))
    np.testing.assert_array_equal(
        run_task(few).metrics["regret"].per_step.mean,
        run_task(many).metrics["regret"].per_step.mean,
    )
