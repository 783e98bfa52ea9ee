"""The risks of all coalitions of a game, whose margins are summed: without a link, or too large for one."""

from fairshap._kernels.compiling import compiled
from fairshap._kernels.games import join_gap, logistic, subset_sums
from fairshap._kernels.paths import MET, OTHER, OWN, VALUE, Room, count_bits
from fairshap._typing import Floats, Ints


@compiled
def risks_by_sums(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    constant: float,
    first: int,
    n_level: int,
    n_difference: int,
    everyone: int,
    contrasts: Ints,
    is_mean: bool,
    scale: float,
    is_logistic: bool,
    weights: Floats,
    room: Room,
) -> tuple[float, float]:
    """Sum up the risks of all coalitions, where there is no link or where exponentials would overflow."""
    size = 1 << (n_level + n_difference)
    level, direct = room.level[:size], room.direct[:size]
    if is_logistic:
        level[:] = 0.0
        used_direct = False
        for k in range(n_paths):
            if masks[k, MET] & 1:
                used_direct = _add_path(
                    masks[k, OWN], masks[k, OTHER], amounts[k, VALUE], level, direct, used_direct
                )
        level[0] += constant
        subset_sums(level)
        if used_direct:
            for j in range(size):
                level[j] += direct[j]
    difference = room.difference
    differences_by_sums(masks, amounts, n_paths, first, n_difference, everyone, difference, direct)
    by_level, by_difference = room.by_level, room.by_difference
    full, empty = 0.0, 0.0
    for block in range(1 << n_difference):
        by_difference[block] = 0.0
        for k in range(1 << n_level):
            here = 0.0
            for c in range(len(contrasts)):
                one, other = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
                if is_logistic:
                    margin = level[(block << n_level) + k]
                    gap = abs(logistic(scale * (margin + one)) - logistic(scale * (margin + other)))
                else:
                    gap = abs(scale * (one - other))
                here = join_gap(here, gap, len(contrasts), is_mean)
            weighted = here * weights[(block << n_level) + k]
            by_level[k] += weighted
            by_difference[block] += weighted
            if block == 0 and k == 0:
                empty = here
            full = here
    return full, empty


@compiled
def differences_by_sums(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    first: int,
    n_difference: int,
    everyone: int,
    difference: Floats,
    direct: Floats,
) -> None:
    """Write for each value of the attribute the margin less that of the first value.

    The players of the difference have the bits from ``first`` on.
    """
    size = 1 << n_difference
    difference[0, :size] = 0.0
    a = 1
    while (1 << a) <= everyone:
        margins = difference[a, :size]
        margins[:] = 0.0
        used_direct = False
        for k in range(n_paths):
            sign = (masks[k, MET] >> a & 1) - (masks[k, MET] & 1)
            if sign:
                used_direct = _add_path(
                    masks[k, OWN] >> first,
                    masks[k, OTHER] >> first,
                    sign * amounts[k, VALUE],
                    margins,
                    direct[:size],
                    used_direct,
                )
        subset_sums(margins)
        if used_direct:
            for j in range(size):
                margins[j] += direct[j]
        a += 1


@compiled
def _add_path(own: int, other: int, value: float, level: Floats, direct: Floats, used: bool) -> bool:
    """Add to the coalitions that a path is open to; return whether ``direct`` is in use."""
    free = (len(level) - 1) & ~(own | other)
    if count_bits(free) < count_bits(other):
        if not used:
            direct[:] = 0.0
        part = free
        while True:
            direct[own | part] += value
            if part == 0:
                return True
            part = (part - 1) & free
    part = other
    while True:
        level[own | part] += -value if count_bits(part) & 1 else value
        if part == 0:
            return used
        part = (part - 1) & other
