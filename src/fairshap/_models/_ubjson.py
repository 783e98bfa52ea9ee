"""Universal binary JSON, as far as XGBoost writes it."""

import struct
from typing import Any

import numpy as np

# The types of numbers, as struct and numpy both call them.
_NUMBERS = {"i": ">b", "U": ">B", "I": ">h", "l": ">i", "L": ">q", "d": ">f", "D": ">d"}
_STRUCTS = {ord(marker): struct.Struct(code) for marker, code in _NUMBERS.items()}
_DTYPES = {ord(marker): np.dtype(code) for marker, code in _NUMBERS.items()}
# How XGBoost writes the length of a text, and the beginning of an array of numbers.
_LENGTH, _NUMBERS_BEGIN = struct.Struct(">Bq"), struct.Struct(">2sB2sq")
_LONG = ord("L")
_SIZES = {marker: dtype.itemsize for marker, dtype in _DTYPES.items()}
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
_OBJECT, _END_OF_OBJECT, _ARRAY, _END_OF_ARRAY, _TYPE, _COUNT, _STRING = b"{}[]$#S"


def read_ubjson(data: bytes, unread: frozenset[bytes] = frozenset()) -> Any:
    r"""Return what the bytes hold: dictionaries, lists, text, numbers, and arrays of numbers.

    Arrays of numbers under an ``unread`` name are passed over.

    Examples
    --------
    >>> read_ubjson(b"{i\x01a[$l#i\x02\x00\x00\x00\x05\x00\x00\x00\x06i\x01bSi\x02xy}")
    {'a': array([5, 6], dtype='>i4'), 'b': 'xy'}
    """
    return _read(data, 0, unread)[0]


def _read(data: bytes, at: int, unread: frozenset[bytes]) -> tuple[Any, int]:
    """Return the value that starts at a place, and the place after it."""
    marker = data[at]
    at += 1
    if marker == _ARRAY:
        return _read_array(data, at, unread)
    if marker == _OBJECT:
        return _read_object(data, at, unread)
    if marker == _STRING:
        start, at = _text_bounds(data, at)
        return data[start:at].decode(), at
    if marker in _CONSTANTS:
        return _CONSTANTS[marker], at
    if marker not in _STRUCTS:
        raise ValueError(f"the byte {marker} stands where a value should start")
    number = _STRUCTS[marker]
    return number.unpack_from(data, at)[0], at + number.size


def _read_object(data: bytes, at: int, unread: frozenset[bytes]) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while data[at] != _END_OF_OBJECT:
        start, at = _text_bounds(data, at)
        name = data[start:at]
        # Most of a booster are arrays of numbers: they are read here, without further calls.
        if data.startswith(b"[$", at) and data.startswith(b"#L", at + 3):
            _, kind, _, count = _NUMBERS_BEGIN.unpack_from(data, at)
            at += _NUMBERS_BEGIN.size
            if name not in unread:
                found[name.decode()] = np.frombuffer(data, _DTYPES[kind], count, at)
            at += count * _SIZES[kind]
        else:
            found[name.decode()], at = _read(data, at, unread)
    return found, at + 1


def _text_bounds(data: bytes, at: int) -> tuple[int, int]:
    """Return where a text whose length stands at a place starts and ends."""
    if data[at] == _LONG:
        start = at + 9
        return start, start + _LENGTH.unpack_from(data, at)[1]
    number = _STRUCTS[data[at]]
    start = at + 1 + number.size
    return start, start + number.unpack_from(data, at + 1)[0]


def _read_array(data: bytes, at: int, unread: frozenset[bytes]) -> tuple[Any, int]:
    if data[at] == _TYPE:
        dtype = _DTYPES[data[at + 1]]
        count, at = _read(data, at + 3, unread)
        return np.frombuffer(data, dtype, count, at), at + count * dtype.itemsize
    found = []
    if data[at] == _COUNT:
        count, at = _read(data, at + 1, unread)
        for _ in range(count):
            value, at = _read(data, at, unread)
            found.append(value)
        return found, at
    while data[at] != _END_OF_ARRAY:
        value, at = _read(data, at, unread)
        found.append(value)
    return found, at + 1
