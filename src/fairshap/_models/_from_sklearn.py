"""scikit-learn's trees as arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from fairshap._models._ensemble import Ensemble, Nodes, assemble, join_trees, no_categories
from fairshap._models._errors import NotNativeError
from fairshap._typing import Bools, Floats, Ints


def from_decision_tree(model: Any) -> Ensemble:
    """Return a single tree as an ensemble of one."""
    return _from_trees([model])


def from_forest(model: Any) -> Ensemble:
    """Return a forest, whose output is the mean of its trees' probabilities or predictions."""
    return _from_trees(model.estimators_)


def _from_trees(models: Sequence[Any]) -> Ensemble:
    trees = [model.tree_ for model in models]
    if trees[0].n_outputs != 1:
        raise NotNativeError("its trees have several outputs")
    value = np.concatenate([tree.value[:, 0, :] for tree in trees])
    if is_classifier(models[0]):
        if trees[0].n_classes[0] != 2:
            raise NotNativeError("its trees have not two classes")
        value = value[:, 1:] / value.sum(axis=1, keepdims=True)
    return assemble(_nodes(trees, value[:, 0]), np.float32, scale=1.0 / len(trees), is_logistic=False)


def from_gradient_boosting(model: Any) -> Ensemble:
    """Return the trees of scikit-learn's gradient boosting that starts from a constant."""
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
    nodes = _nodes(trees, np.concatenate([tree.value[:, 0, 0] for tree in trees]))
    scale = factor * model.learning_rate
    return assemble(nodes, np.float32, base=base, scale=scale, is_logistic=is_classifier(model))


def _nodes(trees: Sequence[Any], value: Floats) -> Nodes:
    def join(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    counts = [tree.node_count for tree in trees]
    lefts, rights = ([getattr(tree, f"children_{side}") for tree in trees] for side in ("left", "right"))
    return Nodes(
        *join_trees(counts, lefts, rights),
        join("feature").astype(np.int64),
        join("threshold"),
        join("missing_go_to_left").astype(np.bool_),
        value,
        *no_categories(),
    )


def from_hist_gradient_boosting(model: Any) -> Ensemble:
    """Return the trees of scikit-learn's histogram gradient boosting.

    Categories come as the codes that :func:`~fairshap._models._categories.category_lists` gives them.
    """
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
        feature,
        nodes["num_threshold"],
        nodes["missing_go_to_left"].astype(np.bool_),
        nodes["value"],
        category,
        goes_left,
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
