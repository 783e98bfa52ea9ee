import hashlib
import json
import re

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from skops import io

from fairshap import ColumnEncoder, _io, metrics
from fairshap.cli._main import run as run_here
from fairshap.cli._models import MODELS
from tests.cli.conftest import WHO, described


@pytest.fixture(scope="module")
def models(people, tmp_path_factory):
    """Return a folder with fitted models, and each of them by its file's name."""
    folder = tmp_path_factory.mktemp("models")
    frame = _io.read(people).frame
    X, labels = frame.drop(columns="risk"), frame["risk"].astype(object).to_numpy()
    y = (labels == "yes").astype(int)
    booster = xgboost.XGBClassifier(n_estimators=10, enable_categorical=True).fit(X, y)
    light = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1).fit(X, y)
    pipeline = make_pipeline(
        ColumnEncoder(), HistGradientBoostingClassifier(max_iter=10, random_state=0)
    ).fit(X, labels)
    booster.save_model(folder / "m.json")
    booster.save_model(folder / "m.ubj")
    light.booster_.save_model(folder / "m.txt")
    io.dump(pipeline, folder / "m.skops")
    joblib.dump(pipeline, folder / "m.joblib")
    fitted = {"m.json": booster, "m.ubj": booster, "m.txt": light, "m.skops": pipeline, "m.joblib": pipeline}
    return folder, X, fitted


def audit(capsys, *args):
    assert run_here(["audit", *map(str, args), "--json", "--top", "1"]) == 0, capsys.readouterr().err
    return described(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["m.json", "m.ubj", "m.txt", "m.skops", "m.joblib"])
def test_a_fitted_model_is_asked_as_it_is(capsys, people, models, name):
    folder, X, fitted = models
    found = audit(capsys, people, *WHO, "--model", folder / name, "--trust-pickle")
    risk = metrics.discriminative_risk(fitted[name], X, sensitive="sex", privileged="male")
    assert found["evidence"]["treatment"]["risk"]["value"] == pytest.approx(risk, abs=1e-6)
    assert found["evidence"]["setting"]["folds"] is None
    provenance = found["evidence"]["provenance"]
    assert not provenance["is_stand_in"]
    assert provenance["model_sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()


CLASSIFIERS = {
    "hist-gradient-boosting": "HistGradientBoostingClassifier",
    "xgboost": "XGBClassifier",
    "lightgbm": "LGBMClassifier",
    "random-forest": "RandomForestClassifier",
    "logistic": "LogisticRegression",
    "svm": "CalibratedClassifierCV",
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_name(capsys, people, name):
    few = ["--drop", "credit_amount,duration,purpose,age"]
    found = audit(capsys, people, *WHO, "--model", name, "--folds", 2, "--jobs", 1, *few)
    trained = found["evidence"]["provenance"]
    assert trained["is_stand_in"]
    # The last step is the classifier of that name, and no other name has it.
    assert trained["model"].split(" \u2192 ")[-1] == CLASSIFIERS[name]


def test_a_repair_by_a_model_file_is_measured_with_what_is_retrained(capsys, people, models, tmp_path):
    args = ["repair", str(people), *WHO, "--model", str(models[0] / "m.txt"), "--json"]
    args += ["--folds", "2", "--jobs", "1"]
    assert run_here([*args, "--out", str(tmp_path / "a.csv")]) == 0
    said = capsys.readouterr()
    assert described(said.out)["after"] is None
    assert "--retrain" in said.err
    assert run_here([*args, "--out", str(tmp_path / "b.csv"), "--retrain", "lightgbm"]) == 0
    assert described(capsys.readouterr().out)["after"]["accuracy"] > 0.5
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_model_files_that_cannot_be_used_are_told(refuse, people, models, tmp_path):
    folder = models[0]
    assert "--trust-pickle" in refuse("audit", people, *WHO, "-m", folder / "m.joblib")
    assert "does not have: 'age'" in refuse("audit", people, *WHO, "-m", folder / "m.json", "--drop", "age")
    bad = tmp_path / "bad.json"
    bad.write_text("no model")
    assert "holds no model that can be read" in refuse("audit", people, *WHO, "-m", bad)
    assert "there is no model file" in refuse("audit", people, *WHO, "-m", tmp_path / "none.ubj")
    assert "never retrained" in refuse("evaluate", people, *WHO, "-m", folder / "m.json")
    other = tmp_path / "other.csv"
    other.write_text(
        "\n".join(f"{line},{k % 5}" for k, line in enumerate(["more", *people.read_text().splitlines()][1:]))
    )
    assert "--drop 0" in refuse("audit", other, *WHO, "-m", folder / "m.json", "-q")


def test_a_model_file_is_never_overwritten(refuse, people, models, tmp_path):
    path = models[0] / "m.json"
    before = path.read_bytes()
    args = [people, *WHO, "--model", path, "--force"]
    assert "never overwritten" in refuse("repair", *args, "--out", tmp_path / "x.csv", "--edits", path)
    for command in ("audit", "tune"):
        assert "never overwritten" in refuse(command, *args, "--report", path)
    assert path.read_bytes() == before


def test_a_model_that_breaks_off_or_is_of_another_kind_is_refused(refuse, people, models, tmp_path):
    folder, X, _ = models
    text = (folder / "m.txt").read_text()
    (tmp_path / "half.txt").write_text(text[: len(text) // 2])
    (tmp_path / "none.txt").write_text("no model")
    xgboost.XGBRegressor(n_estimators=2, enable_categorical=True).fit(X, np.arange(len(X))).save_model(
        tmp_path / "number.json"
    )
    fewer = X.drop(columns="sex")
    model = xgboost.XGBClassifier(n_estimators=2, enable_categorical=True)
    model.fit(fewer, [k % 2 for k in range(len(X))]).save_model(tmp_path / "unseen.json")
    for name, words in {
        "half.txt": "is not a whole model that LightGBM has saved",
        "none.txt": "is not a whole model that LightGBM has saved",
        "number.json": "holds no model that can be read: TypeError",
    }.items():
        assert words in refuse("audit", people, *WHO, "--model", tmp_path / name)
    said = refuse("repair", people, *WHO, "--model", tmp_path / "unseen.json", "--out", tmp_path / "x.csv")
    assert "does not take 'sex', the sensitive column" in said


def test_a_quantity_is_audited_and_otherwise_refused(capsys, refuse, terminal, tmp_path):
    rows = ["sex,years,pay"]
    pay = [30_000 + 1_000 * (k % 17) + 9_000 * (k % 2) + k for k in range(200)]
    rows += [f"{'fm'[k % 2]},{k % 17},{pay[k]}" for k in range(200)]
    path, who = tmp_path / "pay.csv", ["-t", "pay", "-s", "sex"]
    path.write_text("\n".join(rows))
    quick = ["--folds", 2, "--repeats", 1]
    reports = [
        "--report",
        tmp_path / "pay.json",
        "--ll144",
        tmp_path,
        "--fail-if",
        "mean_prediction_difference > 1",
    ]
    assert run_here([*map(str, ["audit", path, *who, *quick, *reports])]) == 3
    said = capsys.readouterr()
    assert "pay is a quantity: groups are compared by their mean" in said.err
    assert said.out.startswith("The model predicts a mean pay of ")
    means = [np.mean(pay[k::2]) for k in (0, 1)]
    for mean in means:
        assert re.search(rf"[fm] +100 +{mean:,.0f} ", said.out)
    assert "Decisions that flip" not in said.out
    assert (tmp_path / "sex.csv").read_text().startswith("sex,applicants,scoring_rate")
    run_here([*map(str, ["audit", path, *who, *quick, "--json", "-q"])])
    found = described(capsys.readouterr().out)
    assert found["data"]["positive"] is None
    means_of = {
        line["group"]: line["mean_target"]["value"]
        for line in found["evidence"]["groupings"][0]["quantity"]["lines"]
    }
    assert means_of == pytest.approx({"f": means[0], "m": means[1]})
    # Nothing is asked of a quantity that has no answer.
    shown = terminal("audit", path, "-s", "sex", *quick, typed="pay\n\n")
    assert "is good for the person" not in shown
    assert "-t pay" in shown
    for command in (["repair", "--out", tmp_path / "x.csv"], ["evaluate"], ["tune"]):
        text = refuse(*command, path, *who, "-p", "m")
        assert "'pay', the target, is a quantity with 200 different values, and this command takes" in text
    assert "--model logistic predicts labels, and 'pay' is a quantity" in refuse(
        "audit", path, *who, "-m", "logistic"
    )
    table = pd.read_csv(path)
    regressor = make_pipeline(ColumnEncoder(), LinearRegression()).fit(table[["sex", "years"]], table["pay"])
    classifier = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(
        table[["sex", "years"]], table["pay"] > 40_000
    )
    for model, name in ((regressor, "r.skops"), (classifier, "c.skops")):
        io.dump(model, tmp_path / name)
    assert run_here([*map(str, ["audit", path, *who, "-m", tmp_path / "r.skops"])]) == 0
    predicted = regressor.predict(table[["sex", "years"]])[table["sex"] == "f"].mean()
    assert f"a mean pay of {predicted:,.0f} for sex = f" in " ".join(capsys.readouterr().out.split())
    assert "c.skops' predicts labels, and the target 'pay' is a quantity" in refuse(
        "audit", path, *who, "-m", tmp_path / "c.skops"
    )


def test_a_model_that_does_not_take_the_attribute_is_audited(capsys, people, models, tmp_path):
    X = models[1]
    model = xgboost.XGBClassifier(n_estimators=2, enable_categorical=True)
    model.fit(X.drop(columns="sex"), [k % 2 for k in range(len(X))]).save_model(tmp_path / "unseen.json")
    found = audit(capsys, people, *WHO, "--model", tmp_path / "unseen.json")["evidence"]
    assert not found["setting"]["sees_attribute"]
    assert found["treatment"]["risk"]["value"] == 0
    assert "changes nothing, by construction" in found["answers"]["what_was_unfair"]
    assert run_here([*map(str, ["audit", people, *WHO, "--model", tmp_path / "unseen.json"])]) == 0
    shown = capsys.readouterr().out
    assert "share of the gap between the scores of similar people" in shown
    shares = {one["column"]: one["share_of_gap"] for one in found["proxies"]["columns"]}
    for column, share in shares.items():
        assert re.search(rf"^{column} +{share:.1%} ", shown, re.M)


def test_numbers_stay_standardised_without_the_only_column_of_words(run, tmp_path):
    rng = np.random.default_rng(0)
    sex, skill, code = rng.choice(["m", "f"], 200), rng.normal(size=200), 1e4 * rng.normal(size=200)
    y = (skill + (sex == "m") + rng.normal(size=200) / 2 > 0.5).astype(int)
    rows = pd.DataFrame({"sex": sex, "skill": skill, "code": code, "hired": y})
    found = []
    # Another column of words keeps the encoding, and tells nothing.
    for name, frame in (("alone", rows), ("beside", rows.assign(town="x"))):
        path = tmp_path / f"{name}.csv"
        frame.to_csv(path, index=False)
        how = ["-t", "hired", "-s", "sex", "-p", "m", "--model", "logistic", "--methods", "baseline,rsa"]
        lines = json.loads(run("evaluate", path, *how, "--folds", "2", "--json").stdout)["methods"]
        rsa = next(line for line in lines if line["method"] == "rsa")
        found.append([rsa[name] for name in ("accuracy", "auc", "dr", "dp", "eo")])
    assert found[0] == pytest.approx(found[1])


def test_weights_are_no_column_of_a_fitted_model(capsys, people, models, tmp_path):
    folder, X, _ = models
    frame = pd.read_csv(people, dtype={"code": str}).assign(w=np.linspace(1, 3, len(X)))
    path = tmp_path / "weighted.csv"
    frame.to_csv(path, index=False)
    found = audit(capsys, path, *WHO, "--model", folder / "m.skops", "--weights", "w")
    assert found["evidence"]["setting"]["is_weighted"]
