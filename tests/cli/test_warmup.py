import os
import subprocess
import sys
from pathlib import Path

# Large enough for compiled code, by other models than those that the command repairs with.
REPAIRS = """
from sklearn.linear_model import SGDClassifier
from xgboost import XGBClassifier
from fairshap import FairSHAP, datasets

d = datasets.load("adult")
for model in (XGBClassifier(n_estimators=10, n_jobs=1), SGDClassifier(loss="log_loss", random_state=0)):
    FairSHAP(model, sensitive="race", privileged="White", random_state=0, n_jobs=1).fit(d.X, d.y)
"""


def test_nothing_is_compiled_after_a_warmup(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}

    def compiled_by(*command: str) -> set[Path]:
        before = set(tmp_path.rglob("*.nbc"))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", *command], env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return set(tmp_path.rglob("*.nbc")) - before

    assert compiled_by("-m", "fairshap", "warmup")
    assert not compiled_by("-c", REPAIRS)
