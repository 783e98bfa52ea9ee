"""The methods that can be compared, by name."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from fairshap import mitigation
from fairshap._messages import did_you_mean, listing
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError

#: What each name stands for.
METHODS: dict[str, str] = {
    "baseline": "the model as it is",
    "rsa": "the sensitive column dropped",
    "cr": "correlation with it removed",
    "dir": "disparate impact removed",
    "reweighing": "groups and labels weighed",
    "twins": "every row also with the attribute switched",
    "fairshap": "the cells that carry the risk replaced",
    "fairshap-twins": "the same, and twins of edited rows",
}

_MAKERS: dict[str, Callable[..., Any]] = {
    "rsa": mitigation.SensitiveRemover,
    # The attribute stays beside the features, as in the paper: without it there would be no risk to measure.
    "cr": partial(mitigation.CorrelationRemover, keep_sensitive=True),
    "dir": mitigation.DisparateImpactRemover,
    "reweighing": mitigation.Reweigher,
}


def make_method(
    name: str,
    *,
    estimator: Any,
    sensitive: Any,
    privileged: Any,
    random_state: Any = None,
    n_jobs: int | None = None,
    **params: Any,
) -> Any:
    """Return the baseline that a name stands for, None for the model as it is.

    Other parameters go to :class:`fairshap.FairSHAP`.

    Examples
    --------
    >>> make_method("rsa", estimator=None, sensitive="sex", privileged="m")
    SensitiveRemover(privileged='m', sensitive='sex')
    """
    who = {"sensitive": sensitive, "privileged": privileged}
    if name == "baseline":
        return None
    if name in _MAKERS:
        return _MAKERS[name](**who)
    if name == "twins":
        return mitigation.CounterfactualAugmenter(**who, random_state=random_state)
    if name in METHODS:
        augment = "edited" if name == "fairshap-twins" else None
        params = {"augment": augment, "random_state": random_state, "n_jobs": n_jobs, **params}
        return FairSHAP(estimator, **who, **params)
    raise InputError(
        f"methods={name!r} is not known; the methods are {listing(METHODS, limit=len(METHODS))}."
        f"{did_you_mean(name, list(METHODS))}",
        parameter="methods",
    )


def read_methods(methods: Iterable[str] | Mapping[str, Any], **common: Any) -> dict[str, Any]:
    """Return the objects that methods stand for, by name."""
    if isinstance(methods, Mapping):
        made = dict(methods)
    else:
        names = [methods] if isinstance(methods, str) else list(methods)
        made = {name: make_method(name, **common) for name in names}
    if not made:
        raise InputError(
            f"methods is empty; name at least one of {listing(METHODS, limit=len(METHODS))}.",
            parameter="methods",
        )
    return made
