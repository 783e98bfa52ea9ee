"""Tree ensembles as flat arrays, whatever library they come from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import treelite
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from fairshap._kernels.trees import Trees, margins
from fairshap._typing import Bools, Codes, Floats
from fairshap.models._errors import NotNativeError

_SKLEARN = (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

# A '<' goes left below the threshold, a '<=' at it too; treelite numbers them so.
_LESS, _LESS_OR_EQUAL = 2, 3


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """A tree ensemble that takes rows as ranks.

    Parameters
    ----------
    trees : Trees
        The nodes.
    features : ndarray of int
        The model's features that some tree splits on, in the order of the ranks' columns.
    thresholds : list of ndarray
        For each of them the thresholds that it is compared with; None for a category.
    strict : bool
        Whether a row goes left only below the threshold.
    dtype : type
        The type in which the library compares.
    base, scale, is_logistic : float, float, bool
        The output is ``base + scale * margin``, through the logistic function or as it is.
    depth : int
        The greatest depth of a tree.
    """

    trees: Trees
    features: NDArray[np.int64]
    thresholds: list[Floats | None]
    strict: bool
    dtype: Any
    base: float
    scale: float
    is_logistic: bool
    depth: int

    def ranks(self, encoded: Floats) -> Codes:
        """Return where each value stands among the thresholds of its feature, -1 where it is missing.

        A category is its own rank.
        """
        ranks = np.empty((len(encoded), len(self.features)), dtype=np.int32)
        for k, feature in enumerate(self.features):
            with np.errstate(over="ignore"):
                values = encoded[:, feature].astype(self.dtype)
            cuts = self.thresholds[k]
            if cuts is None:
                # The last place of a table is for categories that no split names.
                known = np.minimum(np.nan_to_num(values, nan=-1.0), self.n_categories - 1)
                ranks[:, k] = np.maximum(known, -1)
            else:
                ranks[:, k] = np.searchsorted(cuts, values, side="right" if self.strict else "left")
                ranks[np.isnan(values), k] = -1
        return ranks

    @property
    def n_categories(self) -> int:
        """How many categories a table of a node has."""
        starts = self.trees.table_start[self.trees.table_start >= 0]
        return len(self.trees.table) // max(len(starts), 1)

    def predict(self, ranks: Codes) -> Floats:
        """Return the probability of the second class for each row."""
        output = self.base + self.scale * margins(self.trees, ranks)
        return 1.0 / (1.0 + np.exp(-output)) if self.is_logistic else output


def import_trees(model: Any) -> Ensemble:
    """Return the ensemble of a fitted classifier.

    Raises
    ------
    NotNativeError
        If it is none, or one that treelite does not take.
    """
    name = type(model).__name__
    library = type(model).__module__.split(".")[0]
    try:
        if library == "xgboost":
            booster = model.get_booster()
            # Early stopping keeps the later trees, which predict_proba leaves out.
            best = getattr(model, "best_iteration", None) if model.early_stopping_rounds else None
            booster = booster if best is None else booster[: best + 1]
            return _from_treelite(treelite.frontend.from_xgboost(booster), np.float32)
        if library == "lightgbm":
            return _from_treelite(treelite.frontend.from_lightgbm(model.booster_), np.float64)
        if isinstance(model, DecisionTreeClassifier):
            return _from_decision_tree(model)
        if isinstance(model, _SKLEARN):
            dtype = np.float64 if isinstance(model, HistGradientBoostingClassifier) else np.float32
            # treelite casts the thresholds of category splits, which are NaN, to integers.
            with np.errstate(invalid="ignore"):
                return _from_treelite(treelite.sklearn.import_model(model), dtype)
    except NotNativeError:
        raise
    except Exception as error:
        raise NotNativeError(f"{name} cannot be read as trees ({error})") from error
    raise NotNativeError(f"{name} is no tree ensemble that fairshap reads")


def _from_treelite(model: Any, dtype: Any) -> Ensemble:
    header = model.get_header_accessor()

    def head(field: str) -> Any:
        return header.get_field(field)

    trees = [model.get_tree_accessor(k) for k in range(int(head("num_tree")[0]))]
    n_outputs = int(head("num_class")[0])
    postprocessor = head("postprocessor")
    logistic = postprocessor == "sigmoid" and n_outputs == 1
    averaged = postprocessor == "identity_multiclass" and n_outputs == 2
    if not (logistic or averaged):
        raise NotNativeError(f"its output ({n_outputs} of kind {postprocessor}) is not read")
    nodes = [_tree_fields(tree, averaged) for tree in trees]
    scale = 1.0 / len(trees) if head("average_tree_output")[0] else 1.0
    alpha = float(head("sigmoid_alpha")[0]) if logistic else 1.0
    base = float(head("base_scores")[-1])
    return _assemble(nodes, dtype, alpha * base, alpha * scale, logistic)


def _tree_fields(tree: Any, averaged: bool) -> dict[str, Any]:
    """Return one tree's nodes by the names that :func:`_assemble` takes."""
    names = ("cleft", "cright", "split_index", "default_left", "threshold", "cmp")
    left, right, feature, default_left, threshold, cmp = (tree.get_field(name) for name in names)
    value = tree.get_field("leaf_value").astype(np.float64)
    if averaged:
        begin = tree.get_field("leaf_vector_begin").astype(np.int64)
        leaves = np.flatnonzero(left < 0)
        value[leaves] = tree.get_field("leaf_vector")[begin[leaves] + 1]
    categories: dict[int, NDArray[Any]] = {}
    if tree.get_field("has_categorical_split")[0]:
        begin, end = (tree.get_field(f"category_list_{k}").astype(np.int64) for k in ("begin", "end"))
        listed = tree.get_field("category_list")
        to_right = tree.get_field("category_list_right_child")
        kind = tree.get_field("node_type")
        for node in np.flatnonzero(kind == _CATEGORY_NODE):
            chosen = listed[begin[node] : end[node]]
            categories[int(node)] = (chosen, bool(to_right[node]))  # type: ignore[assignment]
    return {
        "left": left,
        "right": right,
        "feature": feature,
        "default_left": default_left.astype(np.bool_),
        "threshold": threshold,
        "cmp": cmp,
        "value": value,
        "categories": categories,
    }


# What treelite calls a node that splits on a category.
_CATEGORY_NODE = 2


def _from_decision_tree(model: Any) -> Ensemble:
    """Return a single scikit-learn tree, which treelite does not take, as an ensemble of one."""
    tree = model.tree_
    if tree.n_outputs != 1 or tree.n_classes[0] != 2:
        raise NotNativeError("the tree has not two classes")
    value = tree.value[:, 0, :]
    inner = tree.children_left >= 0
    node = {
        "left": tree.children_left.astype(np.int32),
        "right": tree.children_right.astype(np.int32),
        "feature": tree.feature.astype(np.int32),
        "default_left": tree.missing_go_to_left.astype(np.bool_),
        "threshold": tree.threshold,
        "cmp": np.where(inner, _LESS_OR_EQUAL, 0),
        "value": value[:, 1] / value.sum(axis=1),
        "categories": {},
    }
    return _assemble([node], np.float32, 0.0, 1.0, is_logistic=False)


def _assemble(
    nodes: list[dict[str, Any]], dtype: Any, base: float, scale: float, is_logistic: bool
) -> Ensemble:
    """Return the ensemble of trees that are given as arrays by name."""
    counts = [len(tree["left"]) for tree in nodes]
    offsets = np.concatenate([[0], np.cumsum(counts)])[:-1].astype(np.int32)

    def join(name: str) -> NDArray[Any]:
        return np.concatenate([tree[name] for tree in nodes])

    shift = np.repeat(offsets, counts)
    left, right = (np.where(join(k) >= 0, join(k) + shift, -1).astype(np.int32) for k in ("left", "right"))
    inner = left >= 0
    split, cmp = join("feature"), join("cmp")
    categories = {
        int(offset) + node: chosen
        for tree, offset in zip(nodes, offsets, strict=True)
        for node, chosen in tree["categories"].items()
    }
    is_category = np.zeros(len(left), dtype=np.bool_)
    is_category[list(categories)] = True
    compared = set(cmp[inner & ~is_category].tolist())
    if len(compared) > 1 or not compared <= {_LESS, _LESS_OR_EQUAL}:
        raise NotNativeError("its splits compare in a way that is not read")
    features = np.unique(split[inner]).astype(np.int64)
    column = np.searchsorted(features, np.where(inner, split, features[0] if len(features) else 0))
    cut = np.zeros(len(left), dtype=np.int32)
    thresholds: list[Floats | None] = []
    table_start, table = _category_tables(categories, len(left))
    for k in range(len(features)):
        here = inner & (column == k)
        if is_category[here].any():
            if not is_category[here].all():
                raise NotNativeError("a feature is split as a number and as a category")
            thresholds.append(None)
            continue
        cuts, cut[here] = np.unique(join("threshold")[here], return_inverse=True)
        thresholds.append(cuts)
    trees = Trees(
        roots=offsets,
        feature=column.astype(np.int32),
        cut=cut,
        left=left,
        right=right,
        default_left=join("default_left"),
        table_start=table_start,
        table=table,
        value=join("value").astype(np.float64),
    )
    return Ensemble(
        trees, features, thresholds, _LESS in compared, dtype, base, scale, is_logistic, _depth(trees)
    )


def _category_tables(categories: dict[int, Any], n_nodes: int) -> tuple[Codes, Bools]:
    """Return for each category split which categories go left, one table after the other."""
    width = 1 + max((int(chosen.max(initial=0)) for chosen, _ in categories.values()), default=0)
    start = np.full(n_nodes, -1, dtype=np.int32)
    table = np.zeros(len(categories) * (width + 1), dtype=np.bool_)
    for k, (node, (chosen, to_right)) in enumerate(sorted(categories.items())):
        start[node] = k * (width + 1)
        # The last place is for categories that no split names.
        part = table[start[node] : start[node] + width + 1]
        part[:] = to_right
        part[chosen.astype(np.int64)] = not to_right
    return start, table


def _depth(trees: Trees) -> int:
    depth = np.zeros(len(trees.left), dtype=np.int64)
    # Children come after their parents in every library's arrays.
    for node in np.flatnonzero(trees.left >= 0):
        for child in (trees.left[node], trees.right[node]):
            depth[child] = depth[node] + 1
    return int(depth.max(initial=0))
