from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import examples


def test_a_property_tries_the_same_examples_in_every_run():
    drawn = []

    @examples(10)
    @given(st.integers())
    def any_property(number):
        drawn.append(number)

    any_property()
    any_property()
    assert len(drawn) == 20
    assert drawn[:10] == drawn[10:]
