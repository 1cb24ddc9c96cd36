"""Examples of the command, for the help texts. Each option is in one, and a test runs them."""

EXAMPLES = {
    "run": (
        "bandit-envs run testbed:k=5 --policy ucb:c=2 --policy epsilon_greedy:epsilon=0.1",
        'bandit-envs run "mine:Bernoulli:means=[0.1,0.9]" --policy mine:Greedy',
        'bandit-envs run "bernoulli:means=[0.2,0.5]" --policy random --record log.npz',
        "bandit-envs run testbed:k=5 --policy mine:Greedy --seed 1 --workers threading:2",
    ),
    "sweep": (
        "bandit-envs sweep study.toml --dry-run",
        "bandit-envs sweep study.toml --workers 2 --output results/study",
        "bandit-envs sweep study.toml --workers dask:tcp://SCHEDULER:8786",
    ),
    "reproduce": (
        "bandit-envs reproduce sutton-barto-2.2",
        "bandit-envs reproduce sutton-barto-2.4 --runs 100",
        "bandit-envs reproduce",
    ),
    "report": (
        "bandit-envs report results/study",
        "bandit-envs report results/study --panels reward,regret --figure paper.pdf",
        "bandit-envs report results/study --baseline ucb:c=1",
        "bandit-envs report results/study --quantiles 0.1 0.9",
        "bandit-envs report results/study --policy ucb:c=1 --policy greedy",
        "bandit-envs report results/study --latex table.tex --baseline ucb:c=1",
    ),
    "show": (
        "bandit-envs show results/study",
        "bandit-envs show results/study --output study.html",
        "bandit-envs show shop.sqlite --range 0 1 --policy random",
        "bandit-envs show users.csv --variant seen --reward bought,minutes --time day",
        "bandit-envs show users.csv --variant seen --reward bought --time day"
        " --closes-by-results --delta 0.1 --tolerance 0.02 --control red"
        " --shares red=2,blue=1,green=1",
    ),
    "watch": (
        "bandit-envs watch testbed:k=5 --policy ucb:c=1 --steps 30 --output lesson.gif",
        'bandit-envs watch "bernoulli:means=[0.3,0.5,0.7]" --policy beta_thompson --steps 20'
        " --output lesson.html",
    ),
    "evaluate": (
        "bandit-envs evaluate log.npz --policy random --policy greedy",
        "bandit-envs evaluate clicks.csv --policy random --propensity estimate"
        " --features age,visits",
        "bandit-envs evaluate clicks.csv --policy mine:Greedy --action arm --features age,visits"
        " --train day=2024-12-31",
        "bandit-envs evaluate clicks.csv --policy mine:Greedy --train none --features age,visits"
        " --reward click --propensity p --num-actions 3 --drop-missing",
        "bandit-envs evaluate log.npz --policy ucb:c=1 --train 0.7 --estimator snips"
        " --confidence 0.9 --fail-below -10",
        "bandit-envs evaluate log.npz --policy random --policy ucb:c=1 --baseline random --by step",
        "bandit-envs evaluate prices.csv --action price --estimator kernel_snips:bandwidth=0.2"
        ' --policy "gaussian:std=0.02,coefficients=[1.5]"',
        "bandit-envs evaluate clicks.csv --policy random --propensity estimate --features age"
        " --unit user --by day:month",
        "bandit-envs evaluate loggers.csv --logger by --propensity a=p_a,b=p_b --policy random",
        "bandit-envs evaluate sets.csv --available offered --features age --policy random",
        "bandit-envs evaluate visits.csv --decision visit --rewards conversions.csv"
        " --window time:14d --features age --policy random",
        "bandit-envs evaluate slates.csv --decision visit --slot place --action item"
        " --propensity slot:p --policy random_slate",
        "bandit-envs evaluate pages.csv --action top,below --reward paid_top,paid_below"
        " --propensity prefix:p_top,p_below --policy random_slate",
        'bandit-envs evaluate "clicks/*.csv" --features age,visits --policy clicks.npz --workers 4',
    ),
    "learn": (
        "bandit-envs learn log.npz --output policy.npz",
        "bandit-envs learn clicks.csv --features age,visits --output clicks.npz"
        " --learner policy_gradient:objective=dr,penalty=0.001",
        "bandit-envs learn clicks/ --features age,visits --output clicks.npz"
        " --learner direct_method --train day=2024-12-31",
        "bandit-envs learn log.npz --output policy.npz"
        " --learner 'ips:classifier=\"LogisticRegression(C=10)\"'",
        "bandit-envs evaluate log.npz --policy policy.npz",
        "bandit-envs learn offers.csv --decision visit --item offer --features hour"
        " --item-features price --chosen chosen --output offers.npz",
    ),
    "apply": (
        "bandit-envs apply clicks.npz clicks.csv --output choices.csv",
        "bandit-envs apply clicks.npz clicks.csv --output choices.csv --probabilities --seed 1"
        " --overwrite",
        "bandit-envs apply offers.npz tomorrow.csv --decision visit --item offer"
        " --output choices.csv --overwrite --drop-missing",
        "bandit-envs apply clicks.npz sets.csv --available offered --output choices.csv"
        " --overwrite",
    ),
    "route": (
        'bandit-envs route models.csv --features prompt --reward small,large --cost "{}_cost"'
        " --policy lin_ucb:alpha=0.3 --policy random",
        "bandit-envs route answers.csv --example id --action model --features words --reward score"
        " --cost cost --policy lin_ucb:alpha=0.3 --prices 0,0.5,2 --budget 0.1"
        " --fail-below -1 --output routers --overwrite",
        'bandit-envs route embedded.csv --features "e*" --reward small,large --cost "{}_cost"'
        " --policy linear_epsilon_greedy:epsilon=0 --all-outcomes --budget 0.1 --router router.npz",
        "bandit-envs route cached_results/ --layout routerarena --policy lin_ucb:alpha=0.3",
    ),
    "list": (
        "bandit-envs list",
        "bandit-envs list policies contextual",
        "bandit-envs list kl_ucb",
    ),
}
"""Of each subcommand."""
