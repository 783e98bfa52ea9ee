"""The paper's configuration."""

from typing import Any


def paper_settings() -> dict[str, Any]:
    """Return the parameters of :class:`FairSHAP` that the paper's experiments have.

    They go with ``datasets.load(name, encoded=True)``, whose encoded features are the players, one each. The
    random comparison, where there are more than two groups, is that of the published code.

    Examples
    --------
    >>> from fairshap import FairSHAPClassifier, paper_settings
    >>> FairSHAPClassifier(sensitive="sex", privileged=1, **paper_settings()).threshold
    0.05
    """
    return {
        "threshold": 0.05,
        "strategy": "threshold",
        "augment": None,
        "guard": False,
        "matching": "nearest",
        "pairing": "pooled",
        "comparison": "random",
        "players": None,
        "holdout": None,
    }
