"""Paths: what leads to the outputs of a game.

A path says which players must keep the row's values and which must take the reference's, and which values
of the attribute come along it; the output of a coalition is the sum over the paths open to it. Paths come
as two arrays: ``masks`` holds those three as bits, ``amounts`` the path's value,
``exp(-scale * value)`` and its inverse.
"""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._typing import Floats, Ints

# A coalition is the bits of one number.
MOST_PLAYERS = 62
# The columns of the two arrays of paths.
OWN, OTHER, MET = range(3)
VALUE, ODDS, INVERSE = range(3)
# The coalitions of the lowest players, five of them, whose products are taken side by side.
LANES = 32
# The bits of a coalition that are looked up at a time.
_DIGIT = 10


class Room(NamedTuple):
    """What solving a game works in: tables by coalition, and the places that players get in them."""

    base: Floats
    level: Floats
    direct: Floats
    difference: Floats
    risk: Floats
    by_level: Floats
    by_difference: Floats
    sums: Floats
    place: Ints
    moved: Ints


@compiled
def make_room(most: int, n_alternatives: int) -> Room:
    """Return room for games of so many players and values of the attribute."""
    size = max(1 << most, LANES)
    return Room(
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty((n_alternatives, size)),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(most),
        np.empty(MOST_PLAYERS, dtype=np.int64),
        np.zeros((MOST_PLAYERS // _DIGIT + 1, 1 << _DIGIT), dtype=np.int64),
    )


@compiled
def count_bits(bits: int) -> int:
    """Return how many players a coalition has."""
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@compiled
def players_of_difference(masks: Ints, n_paths: int, everyone: int) -> int:
    """Return the players on whom it depends what difference the attribute makes."""
    players = 0
    for k in range(n_paths):
        if masks[k, MET] != everyone:
            players |= masks[k, OWN] | masks[k, OTHER]
    return players


@compiled
def arrange(masks: Ints, n_paths: int, q: int, everyone: int, room: Room) -> int:
    """Give the players of the level the low bits and those of the difference the high ones.

    Return how many the latter are.
    """
    players = players_of_difference(masks, n_paths, everyone)
    n_level = q - count_bits(players)
    low, high = 0, n_level
    place = room.place
    for s in range(q):
        if players >> s & 1:
            place[s] = high
            high += 1
        else:
            place[s] = low
            low += 1
    if 0 < n_level < q:
        moved = room.moved
        _tabulate_moves(place, q, moved)
        for k in range(n_paths):
            masks[k, OWN] = _move_bits(masks[k, OWN], q, moved)
            masks[k, OTHER] = _move_bits(masks[k, OTHER], q, moved)
    return q - n_level


@compiled
def _tabulate_moves(place: Ints, q: int, moved: Ints) -> None:
    """Write where all bits of a coalition go, for each value of some bits at a time."""
    for digit in range((q + _DIGIT - 1) // _DIGIT):
        first = digit * _DIGIT
        for s in range(first, min(q, first + _DIGIT)):
            known = 1 << (s - first)
            for bits in range(known):
                moved[digit, known + bits] = moved[digit, bits] | 1 << place[s]


@compiled
def _move_bits(bits: int, q: int, moved: Ints) -> int:
    result = moved[0, bits & ((1 << _DIGIT) - 1)]
    for digit in range(1, (q + _DIGIT - 1) // _DIGIT):
        result |= moved[digit, bits >> (digit * _DIGIT) & ((1 << _DIGIT) - 1)]
    return result  # type: ignore[no-any-return]
