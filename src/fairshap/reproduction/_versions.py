"""What the figures depend on beside the data."""

import platform
from functools import cache
from importlib import metadata

_PACKAGES = (
    "fairlearn",
    "joblib",
    "numba",
    "numpy",
    "pandas",
    "scikit-learn",
    "scipy",
    "treelite",
    "xgboost",
    "xgboost-cpu",
)

#: What a module is called where it is installed from, if not by its own name.
DISTRIBUTIONS = {"ot": "POT"}


@cache
def versions(*more: str) -> dict[str, str]:
    """Return the versions of Python, fairshap and the packages that figures depend on, where installed."""
    import fairshap

    found = {"python": platform.python_version(), "fairshap": fairshap.__version__}
    for package in sorted({*_PACKAGES, *(DISTRIBUTIONS.get(module, module) for module in more)}):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def version_of(module: str) -> str:
    """Return the version of a package that not all experiments use, for the arguments of those that do.

    Examples
    --------
    >>> version_of("a package that nobody has")
    'none'
    """
    return versions(module).get(DISTRIBUTIONS.get(module, module), "none")
