import numpy as np
import pandas as pd
import pytest

from fairshap._frames import Players, Table
from fairshap.exceptions import ColumnError, InputError

TABLE = Table.read(pd.DataFrame({"a": [1], "b=x": [1], "b=y": [0], "c": [2]}))


def test_by_default_each_column_is_a_player():
    players = Players.read(TABLE)
    assert players.names == ("a", "b=x", "b=y", "c")
    assert players.of_column.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("given", "name"),
    [({"b": ["b=x", "b=y"]}, "b"), ({"b=x": ["b=x", "b=y"]}, "b=x")],
)
def test_sets_are_one_player_and_the_rest_stand_alone(given, name):
    players = Players.read(TABLE, given)
    assert players.names == ("a", name, "c")
    assert players.of_column.tolist() == [0, 1, 1, 2]


def test_a_player_differs_when_any_of_its_columns_does():
    players = Players.read(TABLE, {"b": ["b=x", "b=y"]})
    cells = np.array([[False, False, True, False], [True, False, False, False]])
    assert players.differ(cells).tolist() == [[False, True, False], [True, False, False]]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"b": ["b=z"]}, ColumnError, "feature_groups='b=z' is not a column"),
        ({"b": ["b=x"], "d": ["b=x"]}, ColumnError, "belongs to 'b' and to 'd'"),
        ({"b": []}, InputError, "names no columns"),
        ("b", InputError, "'b' is not a mapping"),
        ([["b=x", "b=y"]], InputError, "is not a mapping"),
        ({"c": ["b=x", "b=y"]}, InputError, "'c' is the name of a set and of a column outside it"),
        ({"b": "b=x"}, InputError, r"as a list, \['b=x'\]"),
    ],
)
def test_bad_sets_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        Players.read(TABLE, given)


def test_the_sensitive_column_cannot_share_a_player():
    players = Players.read(TABLE, {"both": ["a", "c"]})
    with pytest.raises(InputError, match="'both' holds the sensitive column and others"):
        players.check_alone((0,))
    players.check_alone((1,))
