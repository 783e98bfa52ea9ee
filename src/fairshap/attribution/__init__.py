"""Attribution: what each feature adds to the discriminative risk of each row."""

from fairshap.attribution._explain import explain
from fairshap.attribution._explanation import Explainer, Explanation

__all__ = ["Explainer", "Explanation", "explain"]
