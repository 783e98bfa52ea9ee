import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairshap
from fairshap import FairSHAP, FairSHAPClassifier, datasets, metrics
from fairshap._problem import Problem, warn_of_copies
from fairshap.cli._main import run as run_here
from fairshap.exceptions import CopiedAttributeWarning
from tests.conftest import to_library

N = 400


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["Male", "Female"], N, p=[0.6, 0.4]),
            "race": rng.choice(["p", "q", "r"], N, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(18, 80, N),
            "wage": rng.normal(size=N),
            "town": rng.choice(["x", "y", "z"], N),
        }
    )


def said_of(X, sensitive="sex", privileged="Male", **more):
    """Return the warning on a table, or None."""
    setting = Problem.read(X, sensitive=sensitive, privileged=privileged, is_fitted=False, **more)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_copies(setting)
    assert [one.category for one in caught] in ([], [CopiedAttributeWarning])
    return str(caught[0].message) if caught else None


@pytest.mark.parametrize(
    "copy",
    [
        lambda sex: sex.str[0],
        lambda sex: (sex == "Male").astype(int),
        lambda sex: sex == "Female",
        lambda sex: sex.astype("category"),
        lambda sex: np.where(sex == "Male", 2.5, np.nan),
        lambda sex: sex.where(sex == "Male"),
        # Finer than the attribute.
        lambda sex: sex + pd.Series(np.arange(N) % 3).astype(str),
    ],
    ids=["letters", "numbers", "booleans", "categories", "missing numbers", "missing words", "finer"],
)
def test_a_copy_is_noticed_in_every_form_and_library(copy, people, library):
    X = to_library(people.assign(twin=copy(people["sex"])), library)
    said = said_of(X)
    assert said.startswith("'twin' tells 'sex' exactly. ")
    assert "Leave such a column out, or name it in sensitive too" in said


def test_dummies_in_an_array_are_noticed_by_their_place(people):
    X = pd.get_dummies(people[["sex", "age", "wage"]]).to_numpy(dtype=float)
    assert said_of(X, sensitive=3, privileged=1).startswith("2 tells 3 exactly")


def test_two_dummies_tell_the_third(people):
    X = pd.get_dummies(people[["race", "age", "town"]])
    said = said_of(X, sensitive="race_p", privileged=True)
    assert said.startswith("'race_q' with 'race_r' tells 'race_p' exactly. ")
    dropped = pd.get_dummies(people[["race", "age", "town"]]).drop(columns="race_r")
    assert said_of(dropped, sensitive="race_p", privileged=True) is None


def test_two_columns_that_tell_it_only_by_each_other_are_no_copy():
    data = datasets.make_biased(1000, random_state=0)
    # Who commutes far lives where the group does not.
    told = data.X.groupby(["district", "commute"])[data.sensitive].nunique()
    assert (told == 1).all()
    assert said_of(data.X, data.sensitive, data.privileged) is None


def test_a_column_that_tells_the_group_is_noticed_though_not_the_value(people):
    X = people.assign(white=people["race"] == "p")
    assert said_of(X, "race", "p").startswith("'white' tells 'race' exactly")
    X = people.assign(decade=people["age"] // 10)
    assert said_of(X, "age", pd.Interval(30, 50, closed="left")).startswith("'decade' tells 'age' exactly")


def test_of_several_attributes_each_is_looked_for(people):
    X = people.assign(letter=people["sex"].str[0], both=people["sex"] + people["race"])
    said = said_of(X, ["sex", "race"], ("Male", "p"))
    for found in ("'letter' tells 'sex'", "'both' tells 'sex'", "'both' tells 'sex' and 'race'"):
        assert found in said
    # Named as sensitive too, it is switched with them.
    named = people.assign(letter=people["sex"].str[0])
    assert said_of(named, ["sex", "letter"], ("Male", "M")) is None


def test_beside_the_table_there_is_one_thing_to_do(people):
    X = people.drop(columns="sex").assign(letter=people["sex"].str[0])
    said = said_of(X, None, sensitive_features=people["sex"])
    assert said.startswith("'letter' tells 'sex' exactly")
    assert said.endswith("Leave such a column out.")


@pytest.mark.parametrize(
    "column",
    [
        lambda sex, rng: np.arange(N),
        lambda sex, rng: [f"person {k}" for k in range(N)],
        # Each person twice: true of any attribute.
        lambda sex, rng: pd.factorize(sex)[0] * N + np.arange(N) // 2,
        lambda sex, rng: np.zeros(N),
        lambda sex, rng: rng.choice(["a", "b"], N),
        # A copy but for one row.
        lambda sex, rng: (sex == "Male") ^ (np.arange(N) == 200),
        # One value of it tells the group, the others do not.
        lambda sex, rng: np.where((sex == "Male") & (rng.random(N) < 0.5), "husband", "other"),
    ],
    ids=["number", "name", "twice", "constant", "random", "nearly", "partly"],
)
def test_a_column_that_does_not_tell_it_is_left_alone(column, people):
    X = people.assign(other=column(people["sex"], np.random.default_rng(1)))
    assert said_of(X) is None


def test_few_rows_may_agree_by_chance(people):
    X = people.assign(letter=people["sex"].str[0])
    assert said_of(X.iloc[:20]) is None
    # One row of the other group is in some value of every column.
    rare = people.assign(sex=np.where(np.arange(N) == 3, "Female", "Male"), odd=np.arange(N) == 3)
    assert said_of(rare) is None


def test_rows_without_the_attribute_tell_nothing(people):
    sex = people["sex"].where(np.arange(N) > 50)
    assert "letter" in said_of(people.assign(sex=sex, letter=people["sex"].str[0]))


@pytest.mark.parametrize("name", ["german", "compas", "adult", "credit", "census_kdd"])
def test_no_built_in_table_holds_a_copy(name):
    data = datasets.load(name)
    assert said_of(data.X, data.sensitive, data.privileged) is None


@pytest.fixture
def twice():
    """A table with both dummies of the attribute, and the name of the second."""
    data = datasets.make_biased(300, random_state=0)
    X = pd.get_dummies(data.X, dtype=int)
    own, twin = sorted(
        (name for name in X if name.startswith(f"{data.sensitive}_")),
        key=lambda name: not name.endswith(f"_{data.privileged}"),
    )
    return X, data.y, {"sensitive": own, "privileged": 1}, twin


def warned(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return sum(one.category is CopiedAttributeWarning for one in caught)


def test_estimators_say_it_once(twice):
    X, y, who, _ = twice
    repair = FairSHAP(LogisticRegression(), **who)
    assert warned(lambda: repair.fit(X, y)) == 1
    assert warned(lambda: FairSHAPClassifier(repair).fit(X, y)) == 1


def test_what_cross_validates_says_it_once(twice):
    X, y, who, _ = twice
    model = LogisticRegression()
    assert warned(lambda: FairSHAPClassifier(FairSHAP(model, **who, threshold="auto")).fit(X, y)) == 1
    assert warned(lambda: FairSHAP(model, **who).fit(X, y).report()) == 1
    quick = {**who, "n_folds": 2, "random_state": 0}
    assert warned(lambda: fairshap.tune(X, y, model, **quick, candidates=["cells"], n_repeats=1)) == 1
    assert warned(lambda: fairshap.budget_curve(X, y, model, **quick, budgets=[0, 5])) == 1
    assert warned(lambda: fairshap.evaluate(X, y, model, **quick, methods=["baseline", "fairshap"])) == 1


def test_what_the_warning_advises_brings_the_risk_back(twice):
    X, y, who, twin = twice

    def risk(X, **who):
        model = LogisticRegression().fit(X, y)
        return metrics.discriminative_risk(model, X, **who)

    small, right = risk(X, **who), risk(X.drop(columns=twin), **who)
    assert small < 0.75 * right
    both = risk(X, sensitive=[who["sensitive"], twin], privileged=(1, 0))
    assert both == pytest.approx(right, rel=0.1)


def test_the_command_says_it_once_and_names_its_options(twice, tmp_path, capsys):
    X, y, who, twin = twice
    path = tmp_path / "people.csv"
    X.assign(label=np.asarray(y)).to_csv(path, index=False)
    options = [str(path), "-t", "label", "-s", who["sensitive"], "-p", "1", "--model", "logistic"]
    for command in (["audit"], ["repair", "--out", str(tmp_path / "out.csv")], ["evaluate"]):
        assert run_here([command[0], *options, *command[1:], "--folds", "2"]) == 0
        said = [line for line in capsys.readouterr().err.splitlines() if "tells" in line]
        assert len(said) == 1
        assert said[0].startswith(f"fairshap: '{twin}' tells '{who['sensitive']}' exactly: ")
        assert said[0].endswith("Leave such a column out with --drop, or add it to --sensitive.")
