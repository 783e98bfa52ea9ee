"""LightGBM's boosters as arrays, through treelite."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshap._models._ensemble import Ensemble, Nodes, assemble, join_trees
from fairshap._models._errors import NotNativeError
from fairshap._typing import Bools, Ints

# What treelite calls a split that goes left at the threshold too, and one on a category.
_LESS_OR_EQUAL, _CATEGORY_NODE = 3, 2


def from_lightgbm(model: Any) -> Ensemble:
    """Return the trees of a fitted ``LGBMClassifier`` or ``LGBMRegressor``."""
    try:
        # Here, because no other library's models need it.
        import treelite
    except ImportError as error:
        raise NotNativeError(
            "treelite is not installed; `pip install treelite`, or fairshap[lightgbm], which brings it"
        ) from error

    booster = model.booster_
    # treelite does not know these two, and would read the trees without a word.
    text = booster.model_to_string()
    if "\n[zero_as_missing: 1]" in text:
        raise NotNativeError("zeros are missing values to it (zero_as_missing)")
    if "\nis_linear=1" in text:
        raise NotNativeError("its leaves are linear models (linear_tree)")
    imported = treelite.frontend.from_lightgbm(booster)
    header = imported.get_header_accessor()
    n_outputs, output = int(header.get_field("num_class")[0]), header.get_field("postprocessor")
    if n_outputs != 1 or output not in ("sigmoid", "identity"):
        raise NotNativeError(f"its output ({n_outputs} of kind {output}) is not read")
    trees = [imported.get_tree_accessor(k) for k in range(int(header.get_field("num_tree")[0]))]
    is_logistic = output == "sigmoid"
    alpha = float(header.get_field("sigmoid_alpha")[0]) if is_logistic else 1.0
    share = 1.0 / len(trees) if header.get_field("average_tree_output")[0] else 1.0
    base = float(header.get_field("base_scores")[0])
    scale = alpha * share
    return assemble(_nodes(trees), np.float64, base=alpha * base, scale=scale, is_logistic=is_logistic)


def _nodes(trees: list[Any]) -> Nodes:
    def fields(name: str) -> list[NDArray[Any]]:
        return [tree.get_field(name) for tree in trees]

    lefts = fields("cleft")
    counts = [len(left) for left in lefts]
    roots, left, right = join_trees(counts, lefts, fields("cright"))
    kind, compared = np.concatenate(fields("node_type")), np.concatenate(fields("cmp"))
    if (compared[(left >= 0) & (kind != _CATEGORY_NODE)] != _LESS_OR_EQUAL).any():
        raise NotNativeError("its splits compare in a way that is not read")
    category, goes_left = _categories(trees, roots)
    return Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=np.concatenate(fields("split_index")).astype(np.int64),
        threshold=np.concatenate(fields("threshold")),
        default_left=np.concatenate(fields("default_left")).astype(np.bool_),
        value=np.concatenate(fields("leaf_value")),
        category=category,
        goes_left=goes_left,
    )


def _categories(trees: list[Any], roots: Ints) -> tuple[Ints, Bools]:
    """Return the nodes that split on a category, and which categories go left."""
    category, listed, to_right = [], [], []
    for tree, root in zip(trees, roots, strict=True):
        if not tree.get_field("has_categorical_split")[0]:
            continue
        begin, end = (tree.get_field(f"category_list_{k}").astype(np.int64) for k in ("begin", "end"))
        chosen, is_right = tree.get_field("category_list"), tree.get_field("category_list_right_child")
        for node in np.flatnonzero(tree.get_field("node_type") == _CATEGORY_NODE):
            category.append(root + node)
            listed.append(chosen[begin[node] : end[node]].astype(np.int64))
            to_right.append(bool(is_right[node]))
    width = max((int(chosen.max(initial=0)) for chosen in listed), default=0) + 2
    goes_left = np.repeat(np.array(to_right, dtype=np.bool_)[:, None], width, axis=1)
    rows = np.repeat(np.arange(len(listed)), [len(chosen) for chosen in listed])
    if len(listed):
        goes_left[rows, np.concatenate(listed)] = ~np.array(to_right)[rows]
    return np.array(category, dtype=np.int64), goes_left
