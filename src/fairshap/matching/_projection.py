"""A space of a transformer's making."""

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from fairshap._frames import Table
from fairshap._typing import Floats
from fairshap.exceptions import InputError
from fairshap.matching._embedding import embed
from fairshap.matching._space import Space


def check_projection(projection: Any) -> None:
    """Raise an error unless the object is a transformer."""
    if isinstance(projection, type) or not (
        hasattr(projection, "transform") or hasattr(projection, "fit_transform")
    ):
        raise InputError(
            f"projection={projection!r} is not a transformer; give an object with fit and transform, such as "
            "sklearn.decomposition.PCA(5)."
        )


def is_fitted(projection: Any) -> bool:
    """Say whether a transformer is used as it is: it is fitted, or needs no fitting."""
    if not hasattr(projection, "fit"):
        return hasattr(projection, "transform")
    try:
        check_is_fitted(projection)
    except NotFittedError:
        return False
    except (TypeError, AttributeError):
        # No scikit-learn estimator, but one that keeps to its names.
        own = getattr(projection, "__dict__", {})
        return any(name.endswith("_") and not name.startswith("_") for name in own)
    return True


def project_table(projection: Any, table: Table) -> Space:
    """Return the space that a fitted transformer makes of a table."""
    try:
        made = projection.transform(table.native)
    except Exception as error:
        raise InputError(
            f"projection={projection!r} is fitted and was given X as it is, which it refused: {error} "
            "Fit it on the same columns, or give it unfitted: then it is fitted on X encoded."
        ) from error
    return Space.of_numbers(_read(made, projection, table.n_rows))


def project_space(projection: Any, space: Space, seed: int) -> Space:
    """Return the space that a clone of a transformer makes of another one, on which it is fitted."""
    fresh = clone(projection, safe=False)
    _seed(fresh, seed)
    points = embed(space)
    try:
        made = (
            fresh.fit_transform(points)
            if hasattr(fresh, "fit_transform")
            else fresh.fit(points).transform(points)
        )
    except Exception as error:
        raise InputError(
            f"projection={projection!r} could not be fitted on X without its sensitive attribute, encoded as "
            f"{points.shape[1]} columns of {points.shape[0]} rows: {error}"
        ) from error
    return Space.of_numbers(_read(made, projection, len(points)))


def _seed(transformer: Any, seed: int) -> None:
    """Give a transformer, and those inside it, a random state where it has none."""
    if hasattr(transformer, "get_params"):
        names = [
            name
            for name, value in transformer.get_params(deep=True).items()
            if value is None and (name == "random_state" or name.endswith("__random_state"))
        ]
        transformer.set_params(**dict.fromkeys(names, seed))


def _read(made: Any, projection: Any, n_rows: int) -> Floats:
    """Return what a transformer made as numbers."""
    dense = made.toarray() if scipy.sparse.issparse(made) else made
    try:
        numbers = np.ascontiguousarray(dense, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"projection={projection!r} returned something else than numbers.") from error
    if numbers.ndim != 2 or len(numbers) != n_rows or not numbers.shape[1]:
        raise InputError(
            f"projection={projection!r} returned shape {numbers.shape}; it must return {n_rows} rows, as "
            "many as X has, of one column or more."
        )
    wrong = ~np.isfinite(numbers).all(axis=1)
    if wrong.any():
        raise InputError(
            f"projection={projection!r} returned numbers that are not finite in {int(wrong.sum())} rows, "
            f"first in row {int(wrong.argmax())}. Let it fill missing values, and scale what is too large."
        )
    return numbers
