"""Cells and numbers as people read them."""

from typing import Any

import numpy as np

from fairshap._frames import show


def count(n: int, noun: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    """Return a share in percent, with as many digits as tell something.

    Examples
    --------
    >>> percent(0.0167), percent(0.25), percent(0.0)
    ('1.67 %', '25 %', '0 %')
    """
    return f"{100 * share:.3g} %"


def decimal(value: float) -> str:
    """Return a measure with three or more digits that matter, and a real minus sign.

    Examples
    --------
    >>> decimal(0.07384), decimal(-0.5), decimal(-1e-9), decimal(428.51), decimal(float("nan"))
    ('0.0738', '−0.5000', '0.0000', '428.5', '–')
    """
    if not np.isfinite(value):
        return "\u2013" if np.isnan(value) else str(value)
    # Adding zero makes a plain zero of what rounds to a negative one.
    text = f"{round(value, 4) + 0.0:.4f}" if abs(value) < 10 else f"{value:,.4g}"
    return text.replace("-", "\u2212")
