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


@cache
def versions(*more: str) -> dict[str, str]:
    """Return the versions of Python, fairshap and the packages that figures depend on, where installed."""
    import fairshap

    found = {"python": platform.python_version(), "fairshap": fairshap.__version__}
    for package in sorted((*_PACKAGES, *more)):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
