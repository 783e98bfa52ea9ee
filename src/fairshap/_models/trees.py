"""Tree ensembles as flat arrays, whatever library they come from."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairshap._kernels.trees.ensemble import Trees, leaf_sums, make_descent, rank_numbers
from fairshap._models.scorer import NotNativeError
from fairshap._typing import Bools, Codes, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """A tree ensemble that takes rows as ranks.

    Parameters
    ----------
    trees : Trees
        The nodes.
    features : ndarray of int
        The model's features that some tree splits on, in the order of the ranks' columns; a model without any
        split has its first one here.
    thresholds : list of ndarray
        For each of them the thresholds that it is compared with; None for a category.
    dtype, strict : type, bool
        The type in which the library compares, and whether a row goes left only below the threshold.
    base, scale, is_logistic : float, float, bool
        The output is ``base + scale * margin``, through the logistic function or as it is.
    missing : float
        The number that the model takes for a missing value, beside NaN.
    """

    trees: Trees
    features: Ints
    thresholds: list[Floats | None]
    dtype: Any
    strict: bool = False
    base: float = 0.0
    scale: float = 1.0
    is_logistic: bool = True
    missing: float = np.nan

    def ranks(self, encoded: Floats) -> Codes:
        """Return where each value stands among the thresholds of its feature; see :meth:`rank`."""
        return self.rank(np.arange(len(self.features)), encoded[:, self.features])

    def rank(self, places: Ints, values: Floats) -> Codes:
        """Return the ranks of some features, by their places in ``features``, one column for each.

        A category is its own rank; the rank of a missing value is -1.
        """
        cuts = [np.empty(0) if self.thresholds[k] is None else self.thresholds[k] for k in places]
        starts = np.cumsum([0, *(len(part) for part in cuts)])
        ranks: Codes = rank_numbers(
            # In one layout, for which there is one compiled kernel.
            np.require(values, np.float64, ["C", "W"]),
            np.concatenate([*cuts, np.empty(0)]).astype(np.float64),
            starts,
            self.strict,
            self.dtype is np.float32,
            float(self.dtype(self.missing)),
        )
        # The last place of a node's table is for categories that no split names, or that cannot be.
        n_tables = int((self.trees.table_start >= 0).sum())
        last = len(self.trees.table) // max(n_tables, 1) - 1
        for column, k in enumerate(places):
            if self.thresholds[k] is None:
                codes = values[:, column]
                known = np.where((codes >= 0) & (codes < last), codes, last)
                ranks[:, column] = np.where(ranks[:, column] < 0, -1, known)
        return ranks

    def predict(self, ranks: Codes) -> Floats:
        """Return the probability of the second class, or the prediction, for each row."""
        descent = make_descent(self.trees, np.zeros(len(self.features), dtype=np.bool_))
        output = self.base + self.scale * leaf_sums(descent, self.trees.value, ranks)
        return 1.0 / (1.0 + np.exp(-output)) if self.is_logistic else output


class Nodes(NamedTuple):
    """The nodes of all trees, one after the other, as a library has them.

    ``left`` and ``right`` are -1 at a leaf and count all nodes, not those of a tree. ``category`` names the
    nodes that split on a category, and each row of ``goes_left`` says of one of them which categories go
    left; its last place is for categories that no split names.
    """

    roots: Ints
    left: Ints
    right: Ints
    feature: Ints
    threshold: NDArray[np.floating]
    default_left: Bools
    value: NDArray[np.floating]
    category: Ints
    goes_left: Bools


def join_trees(
    counts: list[int], left: list[NDArray[Any]], right: list[NDArray[Any]]
) -> tuple[Ints, Ints, Ints]:
    """Return the roots and the children of trees whose children count the nodes of their own tree."""
    roots = np.concatenate([[0], np.cumsum(counts)])[:-1].astype(np.int64)
    shift = np.repeat(roots, counts)
    here, there = (np.concatenate(side).astype(np.int64) for side in (left, right))
    return roots, np.where(here >= 0, here + shift, -1), np.where(here >= 0, there + shift, -1)


def assemble(nodes: Nodes, dtype: Any, **options: Any) -> Ensemble:
    """Return the ensemble of nodes, whose thresholds are numbered; the rest is as in :class:`Ensemble`."""
    if not len(nodes.roots):
        raise NotNativeError("the model has no trees")
    inner = np.flatnonzero(nodes.left >= 0)
    # A walk through anything but trees might never end.
    parents = np.bincount(np.concatenate([nodes.left[inner], nodes.right[inner], nodes.roots]))
    if len(parents) > len(nodes.left) or parents.max() > 1:
        raise NotNativeError("its nodes are no trees")
    features = np.unique(nodes.feature[inner]).astype(np.int64)
    if not len(features):
        features = np.zeros(1, dtype=np.int64)
    column = np.zeros(len(nodes.left), dtype=np.int32)
    column[inner] = np.searchsorted(features, nodes.feature[inner])
    start = np.full(len(nodes.left), -1, dtype=np.int32)
    start[nodes.category] = np.arange(len(nodes.category)) * nodes.goes_left.shape[1]
    by_category = np.zeros(len(features), dtype=np.bool_)
    by_category[column[nodes.category]] = True
    numbers = inner[start[inner] < 0]
    if by_category[column[numbers]].any():
        raise NotNativeError("a feature is split as a number and as a category")
    cut = np.zeros_like(column)
    cut[numbers], cuts = _number_thresholds(column[numbers], nodes.threshold[numbers], len(features))
    trees = Trees(
        roots=nodes.roots.astype(np.int32),
        feature=column,
        cut=cut,
        left=nodes.left.astype(np.int32),
        right=nodes.right.astype(np.int32),
        default_left=nodes.default_left.astype(np.bool_),
        table_start=start,
        table=np.ascontiguousarray(nodes.goes_left).ravel(),
        value=nodes.value.astype(np.float64),
    )
    thresholds = [None if is_one else part for is_one, part in zip(by_category, cuts, strict=True)]
    return Ensemble(trees, features, thresholds, dtype, **options)


def _number_thresholds(column: Codes, threshold: NDArray[Any], n_columns: int) -> tuple[Codes, list[Floats]]:
    """Return where each node's threshold stands among its column's, and these, sorted, for each column."""
    order = np.lexsort((threshold, column))
    column, sorted_ = column[order], threshold[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (column[1:] != column[:-1]) | (sorted_[1:] != sorted_[:-1])
    starts = np.searchsorted(column[is_new], np.arange(n_columns))
    cut = np.empty(len(order), dtype=np.int32)
    cut[order] = np.cumsum(is_new) - 1 - starts[column]
    return cut, np.split(sorted_[is_new], starts[1:])


# XGBoost's objectives whose output is the logistic function of the margin, and those whose output it is.
_LOGISTIC = ("binary:logistic", "reg:logistic")
_IDENTITY = (
    *("reg:squarederror", "reg:linear", "reg:squaredlogerror"),
    *("reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"),
)
# What treelite calls a split that goes left at the threshold too, and one on a category.
_LESS_OR_EQUAL, _CATEGORY_NODE = 3, 2


def import_trees(model: Any) -> Ensemble:
    """Return the ensemble of a fitted classifier or regressor.

    Raises
    ------
    NotNativeError
        If it is none, or one that is not read.
    """
    name = type(model).__name__
    # By name, so that neither library is imported for a model of another.
    reads = [_LIBRARIES.get(type(model).__module__.partition(".")[0])]
    reads += [read for kinds, read in _SKLEARN if isinstance(model, kinds)]
    read = next((read for read in reads if read is not None), None)
    if read is None:
        raise NotNativeError(f"{name} is neither a tree ensemble nor a linear model that fairshap reads")
    try:
        return read(model)
    except NotNativeError as error:
        raise NotNativeError(f"{name} cannot be read as trees: {error}") from error
    except Exception as error:
        raise NotNativeError(f"{name} cannot be read as trees ({error})") from error


def _from_xgboost(model: Any) -> Ensemble:
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
        _nodes_of_xgboost(trees, weights[: len(trees)]),
        np.float32,
        strict=True,
        base=float(np.log(base[0] / (1 - base[0])) if is_logistic else base[0]),
        is_logistic=is_logistic,
        missing=float(model.missing),
    )


def _nodes_of_xgboost(trees: list[dict[str, Any]], weights: NDArray[Any]) -> Nodes:
    def join(name: str) -> NDArray[Any]:
        return np.concatenate([tree[name] for tree in trees])

    counts = [len(tree["left_children"]) for tree in trees]
    lefts, rights = ([np.array(tree[f"{side}_children"]) for tree in trees] for side in ("left", "right"))
    roots, left, right = join_trees(counts, lefts, rights)
    # A leaf's value stands where a split has its threshold.
    threshold = join("split_conditions").astype(np.float32)
    # Listed are the categories that go right.
    nodes, sizes, listed = (
        [np.asarray(tree[f"categories{name}"], dtype=np.int64) for tree in trees]
        for name in ("_nodes", "_sizes", "")
    )
    chosen = np.concatenate(listed)
    category = np.concatenate([part + root for part, root in zip(nodes, roots, strict=True)])
    goes_left = np.ones((len(category), int(chosen.max(initial=0)) + 2), dtype=np.bool_)
    goes_left[np.repeat(np.arange(len(category)), np.concatenate(sizes)), chosen] = False
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


def _from_lightgbm(model: Any) -> Ensemble:
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
    nodes = _nodes_of_treelite(trees)
    return assemble(nodes, np.float64, base=alpha * base, scale=alpha * share, is_logistic=is_logistic)


def _nodes_of_treelite(trees: list[Any]) -> Nodes:
    def fields(name: str) -> list[NDArray[Any]]:
        return [tree.get_field(name) for tree in trees]

    lefts = fields("cleft")
    roots, left, right = join_trees([len(left) for left in lefts], lefts, fields("cright"))
    kind, compared = np.concatenate(fields("node_type")), np.concatenate(fields("cmp"))
    if (compared[(left >= 0) & (kind != _CATEGORY_NODE)] != _LESS_OR_EQUAL).any():
        raise NotNativeError("its splits compare in a way that is not read")
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
    return Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=np.concatenate(fields("split_index")).astype(np.int64),
        threshold=np.concatenate(fields("threshold")),
        default_left=np.concatenate(fields("default_left")).astype(np.bool_),
        value=np.concatenate(fields("leaf_value")),
        category=np.array(category, dtype=np.int64),
        goes_left=goes_left,
    )


def _from_forest(model: Any) -> Ensemble:
    """Return a single tree, or a forest, whose output is the mean of its trees'."""
    models = getattr(model, "estimators_", [model])
    trees = [model.tree_ for model in models]
    if trees[0].n_outputs != 1:
        raise NotNativeError("its trees have several outputs")
    value = np.concatenate([tree.value[:, 0, :] for tree in trees])
    if is_classifier(models[0]):
        if trees[0].n_classes[0] != 2:
            raise NotNativeError("its trees have not two classes")
        value = value[:, 1:] / value.sum(axis=1, keepdims=True)
    nodes = _nodes_of_sklearn(trees, value[:, 0])
    return assemble(nodes, np.float32, scale=1.0 / len(trees), is_logistic=False)


def _from_gradient_boosting(model: Any) -> Ensemble:
    if model.estimators_.shape[1] != 1:
        raise NotNativeError("it has not two classes")
    trees = [stage.tree_ for stage in model.estimators_[:, 0]]
    if isinstance(model.init_, str):
        base = 0.0
    elif isinstance(model.init_, DummyClassifier) and model.init_.strategy == "prior":
        share = model.init_.class_prior_[1]
        base = float(np.log(share / (1 - share)))
    elif isinstance(model.init_, DummyRegressor):
        base = float(model.init_.constant_[0, 0])
    else:
        raise NotNativeError(f"it starts from the predictions of {type(model.init_).__name__}")
    # The exponential loss has half the log odds for its margin.
    factor = 2.0 if model.loss == "exponential" else 1.0
    nodes = _nodes_of_sklearn(trees, np.concatenate([tree.value[:, 0, 0] for tree in trees]))
    scale = factor * model.learning_rate
    return assemble(nodes, np.float32, base=base, scale=scale, is_logistic=is_classifier(model))


def _nodes_of_sklearn(trees: Sequence[Any], value: Floats) -> Nodes:
    def join(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    counts = [tree.node_count for tree in trees]
    lefts, rights = ([getattr(tree, f"children_{side}") for tree in trees] for side in ("left", "right"))
    return Nodes(
        *join_trees(counts, lefts, rights),
        feature=join("feature").astype(np.int64),
        threshold=join("threshold"),
        default_left=join("missing_go_to_left").astype(np.bool_),
        value=value,
        category=np.empty(0, dtype=np.int64),
        goes_left=np.empty((0, 2), dtype=np.bool_),
    )


def _from_hist_gradient_boosting(model: Any) -> Ensemble:
    if model.n_trees_per_iteration_ != 1:
        raise NotNativeError("it has not two classes")
    is_logistic = is_classifier(model)
    if not is_logistic and type(model._loss.link).__name__ != "IdentityLink":
        raise NotNativeError(f"its output, of loss {model.loss!r}, is not the sum of its trees")
    predictors = [stage[0] for stage in model._predictors]
    counts = [len(predictor.nodes) for predictor in predictors]
    nodes = np.concatenate([predictor.nodes for predictor in predictors])
    lefts, rights = (
        # As signed numbers, which can be -1.
        [np.where(p.nodes["is_leaf"], -1, p.nodes[side].astype(np.int64)) for p in predictors]
        for side in ("left", "right")
    )
    category, goes_left = _bitsets(predictors, nodes, counts)
    feature = nodes["feature_idx"].astype(np.int64)
    if model.is_categorical_ is not None:
        # Inside, the columns of categories come first.
        feature = np.argsort(~model.is_categorical_, kind="stable")[feature]
    read = Nodes(
        *join_trees(counts, lefts, rights),
        feature=feature,
        threshold=nodes["num_threshold"],
        default_left=nodes["missing_go_to_left"].astype(np.bool_),
        value=nodes["value"],
        category=category,
        goes_left=goes_left,
    )
    base = float(model._baseline_prediction[0, 0])
    return assemble(read, np.float64, base=base, is_logistic=is_logistic)


def _bitsets(predictors: Sequence[Any], nodes: NDArray[Any], counts: Sequence[int]) -> tuple[Ints, Bools]:
    """Return the nodes that split on a category, and which of the 256 categories go left."""
    category = np.flatnonzero((nodes["is_leaf"] == 0) & (nodes["is_categorical"] != 0))
    sets = [predictor.raw_left_cat_bitsets for predictor in predictors]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in sets])])[:-1]
    own = (np.repeat(starts, counts) + nodes["bitset_idx"])[category]
    words = np.concatenate(sets)[own].astype("<u4")
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
    return category, np.column_stack([bits, np.zeros(len(category), dtype=np.bool_)])


_LIBRARIES: dict[str, Callable[[Any], Ensemble]] = {"xgboost": _from_xgboost, "lightgbm": _from_lightgbm}

_SKLEARN: list[tuple[tuple[type, ...], Callable[[Any], Ensemble]]] = [
    ((DecisionTreeClassifier, DecisionTreeRegressor), _from_forest),
    ((ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor), _from_forest),
    ((ensemble.RandomForestClassifier, ensemble.RandomForestRegressor), _from_forest),
    ((ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor), _from_gradient_boosting),
    (
        (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor),
        _from_hist_gradient_boosting,
    ),
]
