"""``fairshap warmup`` compiles what the first run on a large table would wait for."""

import warnings

import fairshap
from fairshap.cli._options import RunOptions


def warmup(run: RunOptions) -> None:
    """Compile what large tables need, once for all runs: when an image is built, for example.

    It repairs Adult with trees, with and without a link, and with a linear model. Compiled code is kept where
    numba keeps it: in the package's folder or the user's, or in NUMBA_CACHE_DIR.
    """
    from sklearn.linear_model import LogisticRegression

    from fairshap._models import default_estimator
    from fairshap.cli._output import Output

    output = Output("warmup", run)
    adult = fairshap.datasets.load("adult")
    repair = fairshap.FairSHAP(sensitive=adult.sensitive, privileged=adult.privileged, **run.params)
    hours = adult.X["hours-per-week"].astype(float)
    models = {
        "trees": (default_estimator(run.seed), adult.y),
        "trees of a regressor": (default_estimator(run.seed, is_quantity=True), hours),
        "a linear model": (LogisticRegression(), adult.y),
    }
    with warnings.catch_warnings():
        # Nobody asks for the repairs themselves.
        warnings.simplefilter("ignore")
        for name, (estimator, y) in models.items():
            repair.set_params(estimator=estimator).fit(adult.X, y)
            output.line(f"Compiled for {name}.")
    output.json(compiled=list(models))
