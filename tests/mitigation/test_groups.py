"""The groups of rows that were not trained on."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from fairshap._frames import Table
from fairshap._problem import Problem
from fairshap.mitigation._base import GroupReader
from tests.conftest import examples

WHOLE = st.integers(-50, 50).map(float)


@given(st.lists(WHOLE, min_size=3, unique=True), st.lists(WHOLE, min_size=1), st.integers(0, 2**32 - 1))
@examples(50)
def test_a_function_s_groups_are_those_of_the_nearest_training_value(known, asked, seed):
    is_privileged = np.random.default_rng(seed).permutation(np.arange(len(known)) % 2 == 0)
    alone = pd.DataFrame({"age": known})
    setting = Problem.read(
        alone.assign(x=1.0),
        sensitive="age",
        privileged=lambda values: is_privileged[: len(values)],
        is_fitted=False,
    )
    reader, training = GroupReader.of(setting, Table.read(alone))
    assert training.tolist() == np.where(is_privileged, 0, 1).tolist()
    # Of two that are equally near, the lower one decides.
    nearest = [min(range(len(known)), key=lambda k: (abs(known[k] - age), known[k])) for age in asked]
    rows = Table.read(pd.DataFrame({"age": [*asked, np.nan]}))
    assert reader.read(rows).tolist() == [*training[nearest], -1]
