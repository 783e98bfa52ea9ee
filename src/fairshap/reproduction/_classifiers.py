"""The classifiers of ``models``, and why some of them cannot be had here."""

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from fairshap._typing import Floats, Ints


class UnavailableError(Exception):
    """A classifier that cannot be had here; the text says why."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """A kind of model with its library's defaults.

    Parameters
    ----------
    make : callable
        From a seed to a classifier that is not fitted.
    package : str
        The package that it is from.
    fits : float
        What one of its fits and repairs takes, in fits of XGBoost, roughly.
    """

    make: Callable[[int], Any]
    package: str
    fits: float


def _xgboost(_: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1)


def _svm(seed: int) -> Any:
    from sklearn.svm import SVC

    # Its warning says that this way to probabilities will be dropped; the paper's figures have it.
    if "probability" not in SVC().get_params():
        raise UnavailableError("this version of scikit-learn has no SVC with probabilities of its own")
    return SVC(probability=True, random_state=seed)


def _tabpfn(seed: int) -> Any:
    from tabpfn import TabPFNClassifier
    from tabpfn.constants import ModelVersion

    # The paper's version; later ones ask for a licence to be accepted in a browser.
    return TabPFNClassifier.create_default_for_version(ModelVersion.V2, random_state=seed)


def _logistic(_: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=seed, n_jobs=1)


def _lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def _network(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(random_state=seed)


#: The paper's three first.
CLASSIFIERS: dict[str, Classifier] = {
    "XGBoost": Classifier(_xgboost, "xgboost", 4),
    "SVM": Classifier(_svm, "sklearn", 300),
    "TabPFN": Classifier(_tabpfn, "tabpfn", 1000),
    "Logistic regression": Classifier(_logistic, "sklearn", 1),
    "Random forest": Classifier(_forest, "sklearn", 25),
    "LightGBM": Classifier(_lightgbm, "lightgbm", 4),
    "MLP": Classifier(_network, "sklearn", 100),
}


def fit_classifier(name: str, X: Floats, y: Ints, seed: int) -> Any:
    """Return a fitted classifier; UnavailableError says why there is none."""
    with warnings.catch_warnings():
        # Of what will be dropped, and of a network that has not converged after its default of iterations.
        warnings.simplefilter("ignore")
        if name != "TabPFN":
            return CLASSIFIERS[name].make(seed).fit(X, y)
        try:
            # What it tries to get its weights is not what the command has to say.
            logging.disable(logging.WARNING)
            return CLASSIFIERS[name].make(seed).fit(X, y)
        except Exception as error:
            # The hub, its client and the package each have errors of their own, and on a processor without a
            # graphics card the package refuses many rows. Texts with paths are of no use to others.
            raise UnavailableError(
                f"it could not be fitted on {len(y)} rows with weights from its hub ({type(error).__name__})"
            ) from error
        finally:
            logging.disable(logging.NOTSET)


def why_not(name: str) -> str:
    """Return why a classifier cannot be had, or an empty text.

    It is tried on a few rows, since that is when TabPFN asks for its weights.

    Examples
    --------
    >>> why_not("MLP")
    ''
    """
    package = CLASSIFIERS[name].package
    if find_spec(package) is None:
        return f"the package {package} is not installed"
    if name not in ("TabPFN", "SVM"):
        return ""
    X = np.arange(40.0).reshape(20, 2) % 7
    try:
        fit_classifier(name, X, np.arange(20) % 2, 0)
    except UnavailableError as error:
        return str(error)
    return ""
