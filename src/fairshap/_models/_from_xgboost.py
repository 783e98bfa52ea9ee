"""XGBoost's boosters as arrays, read from its own JSON export."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshap._models._ensemble import Ensemble, Nodes, assemble, join_trees
from fairshap._models._errors import NotNativeError
from fairshap._typing import Bools, Ints

# Objectives whose output is the logistic function of the margin.
_LOGISTIC = ("binary:logistic", "reg:logistic")
# Objectives whose output is the margin itself.
_IDENTITY = (
    "reg:absoluteerror",
    "reg:linear",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "reg:squarederror",
    "reg:squaredlogerror",
)


def from_xgboost(model: Any) -> Ensemble:
    """Return the trees of a fitted ``XGBClassifier``, ``XGBRegressor`` or one of their forests."""
    booster = model.get_booster()
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective = learner["objective"]["name"]
    if objective not in _LOGISTIC + _IDENTITY:
        raise NotNativeError(f"the output of its objective, {objective}, is not read")
    boosted = learner["gradient_booster"]
    kind = boosted["name"]
    if kind not in ("gbtree", "dart"):
        raise NotNativeError(f"its booster is {kind}")
    content = boosted["gbtree"]["model"] if kind == "dart" else boosted["model"]
    trees = content["trees"]
    # JSON has every digit of the numbers, which are of 32 bits.
    weights = np.array(boosted["weight_drop"] if kind == "dart" else [1.0] * len(trees), dtype=np.float32)
    # Early stopping keeps the later trees, which predict_proba leaves out.
    best = booster.attr("best_iteration")
    if best is not None:
        trees = trees[: int(content["iteration_indptr"][int(best) + 1])]
    base = np.array(learner["learner_model_param"]["base_score"].strip("[]").split(","), dtype=np.float64)
    if len(base) != 1 or any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise NotNativeError("it has several outputs")
    is_logistic = objective in _LOGISTIC
    return assemble(
        _nodes(trees, weights[: len(trees)]),
        np.float32,
        strict=True,
        base=float(np.log(base[0] / (1 - base[0])) if is_logistic else base[0]),
        is_logistic=is_logistic,
        missing=float(model.missing),
    )


def _nodes(trees: list[dict[str, Any]], weights: NDArray[Any]) -> Nodes:
    def join(name: str) -> NDArray[Any]:
        return np.concatenate([tree[name] for tree in trees])

    counts = [len(tree["left_children"]) for tree in trees]
    lefts, rights = ([tree[f"{side}_children"] for tree in trees] for side in ("left", "right"))
    roots, left, right = join_trees(counts, lefts, rights)
    # A leaf's value stands where a split has its threshold.
    threshold = join("split_conditions").astype(np.float32)
    category, goes_left = _categories(trees, roots)
    return Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=join("split_indices").astype(np.int64),
        threshold=threshold,
        default_left=join("default_left").astype(np.bool_),
        value=threshold.astype(np.float64) * np.repeat(weights, counts),
        category=category,
        goes_left=goes_left,
    )


def _categories(trees: list[dict[str, Any]], roots: Ints) -> tuple[Ints, Bools]:
    """Return the nodes that split on a category, and which categories go left: those not listed."""
    nodes, sizes, listed = (
        [np.asarray(tree[f"categories{name}"], dtype=np.int64) for tree in trees]
        for name in ("_nodes", "_sizes", "")
    )
    chosen = np.concatenate(listed)
    category = np.concatenate([part + root for part, root in zip(nodes, roots, strict=True)])
    goes_left = np.ones((len(category), int(chosen.max(initial=0)) + 2), dtype=np.bool_)
    goes_left[np.repeat(np.arange(len(category)), np.concatenate(sizes)), chosen] = False
    return category, goes_left
