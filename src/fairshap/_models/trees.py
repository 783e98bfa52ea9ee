"""Tree ensembles as flat arrays, whatever library they come from.

:func:`import_trees` is the one place where a model is read: a function for each family makes :class:`Nodes`
of its trees, :func:`join` makes one of many, and :func:`assemble` numbers their thresholds.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from fairshap._kernels.trees.ensemble import Trees, leaf_sums, make_descent
from fairshap._models.scorer import NotNativeError
from fairshap._typing import Bools, Codes, Floats, Ints

# What makes an output of the margin, by XGBoost's objectives and by CatBoost's losses.
_XGBOOST = {
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "logistic"),
    **dict.fromkeys(("reg:squarederror", "reg:linear", "reg:squaredlogerror"), "identity"),
    **dict.fromkeys(("reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"), "identity"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exponential"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "softmax"),
}
_CATBOOST = {
    **dict.fromkeys(("Logloss", "CrossEntropy"), "logistic"),
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "Huber", "MAPE", "Expectile"), "identity"),
    **dict.fromkeys(("Poisson", "Tweedie"), "exponential"),
    "MultiClass": "softmax",
}
# What XGBoost writes of every node and nobody here reads: more than half of the text.
_UNREAD = re.compile(rb'"(?:base_weights|loss_changes|sum_hessian|parents)":\[[^]]*\],')
# What treelite calls a split that goes left at the threshold too, and one on a category.
_LESS_OR_EQUAL, _CATEGORY_NODE = 3, 2


#: What makes an output of margins, shape (margins, rows): one number a row, or one for each class.
LINKS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda margins: margins[0],
    "logistic": lambda margins: expit(margins[0]),
    "exponential": lambda margins: np.exp(margins[0]),
    "softmax": lambda margins: softmax(margins, axis=0).T,
    "each": lambda margins: margins.T,
}


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """A tree ensemble that takes rows as ranks."""

    trees: Trees
    #: The model's features that some tree splits on, in the order of the ranks' columns; a model without any
    #: split has its first one here.
    features: Ints
    #: For each of them the thresholds that it is compared with; None for a category.
    thresholds: list[Floats | None]
    #: The type in which the library compares, and whether a row goes left only below the threshold.
    dtype: Any
    strict: bool = False
    #: A margin is ``base + scale * (sum over its trees)``; the link makes the output of all margins.
    base: tuple[float, ...] = (0.0,)
    scale: float = 1.0
    link: str = "logistic"
    #: The margin is so many times the model's ``decision_function``; None if it has none.
    factor: float | None = None
    #: Whether it sums in 32 bits, as no other library than XGBoost does.
    is_single: bool = False
    #: The number that the model takes for a missing value, beside NaN.
    missing: float = np.nan
    #: Where there are several margins: the one that each tree adds to, or what each leaf adds to all.
    margin_of: Ints | None = None
    leaf_values: Floats | None = None

    @property
    def parts(self) -> list[Trees]:
        """The trees of each margin."""
        if self.leaf_values is not None:
            return [self.trees._replace(value=np.ascontiguousarray(value)) for value in self.leaf_values.T]
        if self.margin_of is None:
            return [self.trees]
        roots = [self.trees.roots[self.margin_of == k] for k in range(len(self.base))]
        return [self.trees._replace(roots=own) for own in roots]

    def rank(self, places: Ints, values: Floats) -> Codes:
        """Return the ranks of some features, by their places in ``features``, one column for each.

        A category is its own rank; the rank of a missing value is -1.
        """
        with np.errstate(over="ignore"):
            # Rounded as the library rounds them; its thresholds are not.
            values = values.astype(self.dtype).astype(np.float64)
        ranks: Codes = np.empty(values.shape, dtype=np.int32)
        side: Any = "right" if self.strict else "left"
        # The last place of a node's table is for categories that no split names, or that cannot be.
        n_tables = int((self.trees.table_start >= 0).sum())
        last = len(self.trees.table) // max(n_tables, 1) - 1
        for column, k in enumerate(places):
            cuts, cells = self.thresholds[k], values[:, column]
            if cuts is None:
                ranks[:, column] = np.where((cells >= 0) & (cells < last), cells, last)
            else:
                ranks[:, column] = np.searchsorted(cuts.astype(np.float64), cells, side)
        ranks[np.isnan(values) | (values == float(self.dtype(self.missing)))] = -1
        return ranks

    def margins(self, ranks: Codes) -> Floats:
        """Return the margins of rows, shape (margins, rows)."""
        nothing = np.zeros(len(self.features), dtype=np.bool_)
        sums = [leaf_sums(make_descent(trees, nothing), trees.value, ranks) for trees in self.parts]
        return np.array(self.base)[:, None] + self.scale * np.stack(sums)


class Nodes(NamedTuple):
    """The nodes of one tree, or of many one after the other, as a library has them.

    ``left`` and ``right`` are -1 at a leaf and count all nodes. ``category`` names the nodes that split on a
    category, and each row of ``goes_left`` says of one of them which categories go left; its last place is
    for categories that no split names.
    """

    left: Ints
    right: Ints
    feature: Ints
    threshold: NDArray[np.floating]
    default_left: Bools
    value: NDArray[np.floating]
    roots: Ints = np.zeros(1, dtype=np.int64)
    category: Ints = np.empty(0, dtype=np.int64)
    goes_left: Bools = np.empty((0, 2), dtype=np.bool_)


def join(parts: Sequence[Nodes]) -> Nodes:
    """Return trees, or ensembles of them, as one ensemble."""
    starts = np.cumsum([0, *(len(part.left) for part in parts)])[:-1].tolist()
    width = max(part.goes_left.shape[1] for part in parts)

    def concatenate(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    def shift(name: str) -> Ints:
        shifted = [getattr(part, name) + start for part, start in zip(parts, starts, strict=True)]
        return np.concatenate(shifted)

    # What holds for categories that no split of a tree names holds for those that only other trees name.
    tables = [
        part.goes_left[:, np.minimum(np.arange(width), part.goes_left.shape[1] - 1)]
        for part in parts
        if len(part.category)
    ]
    is_leaf = concatenate("left") < 0
    return Nodes(
        left=np.where(is_leaf, -1, shift("left")),
        right=np.where(is_leaf, -1, shift("right")),
        feature=concatenate("feature"),
        threshold=concatenate("threshold"),
        default_left=concatenate("default_left"),
        value=concatenate("value"),
        roots=shift("roots"),
        category=shift("category"),
        goes_left=np.concatenate([np.empty((0, width), dtype=np.bool_), *tables]),
    )


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
    thresholds: list[Floats | None] = []
    ordered = numbers[np.argsort(column[numbers], kind="stable")]
    ends = np.searchsorted(column[ordered], np.arange(1, len(features)))
    for is_one, own in zip(by_category, np.split(ordered, ends), strict=True):
        known, cut[own] = np.unique(nodes.threshold[own], return_inverse=True)
        thresholds.append(None if is_one else known)
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
    return Ensemble(trees, features, thresholds, dtype, **options)


def import_trees(model: Any) -> Ensemble:
    """Return the ensemble of a fitted classifier or regressor; a NotNativeError says why it is not read."""
    name = type(model).__name__
    read = next((_READERS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in _READERS), None)
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
    learner = json.loads(_UNREAD.sub(b"", booster.save_raw("json")))["learner"]
    objective = learner["objective"]["name"]
    link = _XGBOOST.get(objective)
    if link is None:
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
    n_margins = max(int(learner["learner_model_param"]["num_class"]), 1)
    if len(base) not in (1, n_margins) or any(
        int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees
    ):
        raise NotNativeError("it has several targets")
    if link in ("logistic", "exponential"):
        base = logit(base) if link == "logistic" else np.log(base)
    return assemble(
        join([_nodes_of_xgboost(tree, weight) for tree, weight in zip(trees, weights, strict=False)]),
        np.float32,
        strict=True,
        base=tuple(np.broadcast_to(base, n_margins).tolist()),
        link=link,
        is_single=True,
        missing=float(model.missing),
        margin_of=np.array(content["tree_info"][: len(trees)]) if n_margins > 1 else None,
    )


def _nodes_of_xgboost(tree: dict[str, Any], weight: np.float32) -> Nodes:
    # A leaf's value stands where a split has its threshold.
    threshold = np.array(tree["split_conditions"], dtype=np.float32)
    chosen, sizes = np.array(tree["categories"], dtype=np.int64), tree["categories_sizes"]
    ends = np.cumsum(sizes, dtype=np.int64)
    listed = [chosen[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return Nodes(
        left=np.array(tree["left_children"]),
        right=np.array(tree["right_children"]),
        feature=np.array(tree["split_indices"], dtype=np.int64),
        threshold=threshold,
        default_left=np.array(tree["default_left"], dtype=np.bool_),
        value=threshold.astype(np.float64) * weight,
        category=np.array(tree["categories_nodes"], dtype=np.int64),
        # Listed are the categories that go right.
        goes_left=_category_tables(listed, [False] * len(listed)),
    )


def _category_tables(listed: Sequence[Ints], go_left: Sequence[bool]) -> Bools:
    """Return for each node which categories go left: those that it lists, or all but those."""
    width = max((int(chosen.max(initial=0)) for chosen in listed), default=0) + 2
    tables = np.repeat(~np.array(go_left, dtype=np.bool_)[:, None], width, axis=1)
    for table, chosen, is_left in zip(tables, listed, go_left, strict=True):
        table[chosen] = is_left
    return tables


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
    n_margins, output = int(header.get_field("num_class")[0]), str(header.get_field("postprocessor"))
    link = "logistic" if output == "sigmoid" else output
    if link not in LINKS:
        raise NotNativeError(f"its output, of kind {output}, is not read")
    trees = [imported.get_tree_accessor(k) for k in range(int(header.get_field("num_tree")[0]))]
    alpha = float(header.get_field("sigmoid_alpha")[0]) if link == "logistic" else 1.0
    share = n_margins / len(trees) if header.get_field("average_tree_output")[0] else 1.0
    return assemble(
        join([_nodes_of_treelite(tree) for tree in trees]),
        np.float64,
        base=tuple(alpha * float(base) for base in header.get_field("base_scores")[:n_margins]),
        scale=alpha * share,
        link=link,
        margin_of=np.asarray(header.get_field("class_id"), dtype=np.int64) if n_margins > 1 else None,
    )


def _nodes_of_treelite(tree: Any) -> Nodes:
    left, is_category = tree.get_field("cleft"), tree.get_field("node_type") == _CATEGORY_NODE
    if (tree.get_field("cmp")[(left >= 0) & ~is_category] != _LESS_OR_EQUAL).any():
        raise NotNativeError("its splits compare in a way that is not read")
    category, listed, go_left = np.flatnonzero(is_category), [], []
    if len(category):
        begin, end = (tree.get_field(f"category_list_{k}").astype(np.int64) for k in ("begin", "end"))
        chosen = tree.get_field("category_list").astype(np.int64)
        listed = [chosen[begin[node] : end[node]] for node in category]
        go_left = [not is_right for is_right in tree.get_field("category_list_right_child")[category]]
    return Nodes(
        left=left,
        right=tree.get_field("cright"),
        feature=tree.get_field("split_index").astype(np.int64),
        threshold=tree.get_field("threshold"),
        default_left=tree.get_field("default_left").astype(np.bool_),
        value=tree.get_field("leaf_value"),
        category=category,
        goes_left=_category_tables(listed, go_left),
    )


def _from_catboost(model: Any) -> Ensemble:
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        content = json.loads(path.read_text(encoding="utf-8"))
    if "oblivious_trees" not in content:
        raise NotNativeError("its trees are not symmetric")
    trees, loss = content["oblivious_trees"], content["model_info"]["params"]["loss_function"]["type"]
    if loss not in _CATBOOST:
        raise NotNativeError(f"the output of its loss, {loss}, is not read")
    if any(split["split_type"] != "FloatFeature" for tree in trees for split in tree["splits"]):
        raise NotNativeError("it encodes categories itself, also several together; encode them before it")
    scale, base = content["scale_and_bias"]
    numbers = content["features_info"].get("float_features", [])
    values = [np.array(tree["leaf_values"]).reshape(-1, len(base)) for tree in trees]
    nodes = [
        _nodes_of_catboost(tree["splits"], numbers, own) for tree, own in zip(trees, values, strict=True)
    ]
    # A tree of n leaves has n - 1 nodes before them.
    padded = np.concatenate([np.pad(own, ((len(own) - 1, 0), (0, 0))) for own in values])
    several = {"leaf_values": padded} if len(base) > 1 else {}
    return assemble(join(nodes), np.float32, base=tuple(base), scale=scale, link=_CATBOOST[loss], **several)


def _nodes_of_catboost(splits: list[dict[str, Any]], numbers: list[dict[str, Any]], values: Floats) -> Nodes:
    """Return the nodes of a symmetric tree, level by level; all nodes of a level split alike."""
    level = np.repeat(np.arange(len(splits)), 1 << np.arange(len(splits)))
    # Leaf j is where bit k of j says whether the value is above the border of split k.
    place = np.arange(len(level)) + 1 - (1 << level)
    left = (2 << level) - 1 + place
    ends = np.full(len(values), -1)
    features = [numbers[split["float_feature_index"]] for split in splits]

    def of_level(properties: list[Any], dtype: Any) -> NDArray[Any]:
        return np.append(np.array(properties, dtype=dtype)[level], np.zeros(len(values), dtype=dtype))

    return Nodes(
        left=np.append(left, ends),
        right=np.append(left + (1 << level), ends),
        feature=of_level([feature["flat_feature_index"] for feature in features], np.int64),
        threshold=of_level([split["border"] for split in splits], np.float64),
        # A missing number is below all borders, unless it is said to be above them.
        default_left=of_level([feature["nan_value_treatment"] != "AsTrue" for feature in features], np.bool_),
        value=np.append(np.zeros(len(level)), values[:, -1]),
    )


def _from_forest(model: Any) -> Ensemble:
    """Return a single tree, a forest or a bag of trees, whose output is the mean of its trees'."""
    models = getattr(model, "estimators_", [model])
    if not all(hasattr(model, "tree_") for model in models):
        raise NotNativeError("it is made of other models than trees")
    trees = [model.tree_ for model in models]
    if trees[0].n_outputs != 1:
        raise NotNativeError("its trees have several outputs")
    values = np.concatenate([tree.value[:, 0, :] for tree in trees])
    several = {}
    if is_classifier(models[0]):
        values = values / values.sum(axis=1, keepdims=True)
        if values.shape[1] > 2:
            several = {"leaf_values": values, "base": (0.0,) * values.shape[1]}
    features = getattr(model, "estimators_features_", [np.arange(model.n_features_in_)] * len(trees))
    nodes = join([_nodes_of_sklearn(tree, own) for tree, own in zip(trees, features, strict=True)])
    link = "each" if several else "identity"
    nodes = nodes._replace(value=values[:, -1])
    return assemble(nodes, np.float32, scale=1.0 / len(trees), link=link, **several)


def _from_adaboost(model: Any) -> Ensemble:
    """Return trees that vote for one of two classes, each with its weight."""
    if model.n_classes_ != 2 or not all(hasattr(tree, "tree_") for tree in model.estimators_):
        raise NotNativeError("it has not two classes, or boosts other models than trees")
    shares = model.estimator_weights_ / model.estimator_weights_.sum()
    nodes = []
    for tree, share in zip(model.estimators_, shares, strict=False):
        votes = 2 * share * (2 * tree.tree_.value[:, 0, :].argmax(axis=1) - 1)
        nodes.append(_nodes_of_sklearn(tree.tree_)._replace(value=votes))
    return assemble(join(nodes), np.float32, factor=1.0)


def _from_gradient_boosting(model: Any) -> Ensemble:
    n_stages, n_margins = model.estimators_.shape
    if isinstance(model.init_, str):
        base = np.zeros(n_margins)
    elif isinstance(model.init_, DummyClassifier) and model.init_.strategy == "prior":
        shares = model.init_.class_prior_
        base = np.log(shares) if n_margins > 1 else logit(shares[1:])
    elif isinstance(model.init_, DummyRegressor):
        base = model.init_.constant_[0]
    else:
        raise NotNativeError(f"it starts from the predictions of {type(model.init_).__name__}")
    # The exponential loss has half the log odds for its margin.
    factor = 2.0 if model.loss == "exponential" else 1.0
    link = "softmax" if n_margins > 1 else "logistic"
    return assemble(
        join([_nodes_of_sklearn(stage.tree_) for stage in model.estimators_.ravel()]),
        np.float32,
        base=tuple(base.tolist()),
        scale=factor * model.learning_rate,
        link=link if is_classifier(model) else "identity",
        factor=factor,
        margin_of=np.tile(np.arange(n_margins), n_stages) if n_margins > 1 else None,
    )


def _nodes_of_sklearn(tree: Any, features: Ints | None = None) -> Nodes:
    """Return the nodes of a tree, which may see some features only."""
    feature = tree.feature.astype(np.int64)
    return Nodes(
        left=tree.children_left,
        right=tree.children_right,
        # A leaf has a feature below 0, which nobody looks at.
        feature=feature if features is None else features[feature],
        threshold=tree.threshold,
        default_left=tree.missing_go_to_left.astype(np.bool_),
        value=tree.value[:, 0, 0],
    )


def _from_hist_gradient_boosting(model: Any) -> Ensemble:
    n_margins, link = model.n_trees_per_iteration_, type(model._loss.link).__name__
    known = {"IdentityLink": "identity", "LogLink": "exponential", "LogitLink": "logistic"}
    if n_margins == 1 and link not in known:
        raise NotNativeError(f"its output, of loss {model.loss!r}, is not read")
    features = np.arange(model.n_features_in_)
    if model.is_categorical_ is not None:
        # Inside, the columns of categories come first.
        features = np.argsort(~model.is_categorical_, kind="stable")
    trees = [tree for stage in model._predictors for tree in stage]
    return assemble(
        _nodes_of_histograms(trees, features),
        np.float64,
        base=tuple(model._baseline_prediction.ravel().tolist()),
        link=known[link] if n_margins == 1 else "softmax",
        factor=1.0,
        margin_of=np.arange(len(trees)) % n_margins if n_margins > 1 else None,
    )


def _nodes_of_histograms(trees: list[Any], features: Ints) -> Nodes:
    """Return the nodes of all trees at once, which are records with the same fields."""
    nodes = np.concatenate([tree.nodes for tree in trees])
    sizes = [len(tree.nodes) for tree in trees]
    roots, n_tables = np.cumsum([0, *sizes[:-1]]), [len(tree.raw_left_cat_bitsets) for tree in trees]
    start, table = np.repeat(roots, sizes), np.repeat(np.cumsum([0, *n_tables[:-1]]), sizes)
    is_leaf = nodes["is_leaf"] != 0
    category = np.flatnonzero(~is_leaf & (nodes["is_categorical"] != 0))
    # A bit for each of the 256 categories.
    bitsets = np.concatenate([tree.raw_left_cat_bitsets for tree in trees]).astype("<u4")
    words = bitsets[table[category] + nodes["bitset_idx"][category]]
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
    return Nodes(
        left=np.where(is_leaf, -1, nodes["left"] + start),
        right=np.where(is_leaf, -1, nodes["right"] + start),
        feature=features[nodes["feature_idx"]],
        threshold=nodes["num_threshold"],
        default_left=nodes["missing_go_to_left"].astype(np.bool_),
        value=nodes["value"],
        roots=roots,
        category=category,
        goes_left=np.pad(bits, ((0, 0), (0, 1))),
    )


# By the name of a class that the model's inherits from: no library is imported for a model of another.
_READERS: dict[str, Callable[[Any], Ensemble]] = {
    "XGBModel": _from_xgboost,
    "LGBMModel": _from_lightgbm,
    "CatBoost": _from_catboost,
    "BaseWeightBoosting": _from_adaboost,
    "BaseBagging": _from_forest,
    "BaseDecisionTree": _from_forest,
    "ForestClassifier": _from_forest,
    "ForestRegressor": _from_forest,
    "BaseGradientBoosting": _from_gradient_boosting,
    "BaseHistGradientBoosting": _from_hist_gradient_boosting,
}
