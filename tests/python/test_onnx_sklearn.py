"""Models that scikit-learn trained and skl2onnx wrote, beside what scikit-learn says itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx_learned import Array, assert_alike, floats, texts

import wia
import wia.onnx

pytestmark = pytest.mark.filterwarnings("ignore")  # of scikit-learn and the converter

_OPSETS = {"": 21, "ai.onnx.ml": 3}


def _estimators() -> dict[str, tuple[Callable[[], Any], int]]:
    """By name: what makes an estimator, and the number of classes, 0 for regression."""
    from sklearn import ensemble, linear_model, neural_network, svm, tree

    boosting, forest = ensemble.GradientBoostingClassifier, ensemble.RandomForestClassifier
    return {
        "logistic, 2 classes": (linear_model.LogisticRegression, 2),
        "logistic, 3 classes": (linear_model.LogisticRegression, 3),
        "linear": (linear_model.LinearRegression, 0),
        "vectors, 2 classes": (svm.SVC, 2),
        "vectors, polynomial": (lambda: svm.SVC(kernel="poly", degree=2, coef0=1.0), 3),
        "vectors, sigmoid": (lambda: svm.SVC(kernel="sigmoid", gamma=0.1), 3),
        "vectors, 2 probabilities": (lambda: svm.SVC(probability=True, random_state=0), 2),
        "vectors, 4 probabilities": (lambda: svm.SVC(probability=True, random_state=0), 4),
        "vectors, regression": (svm.SVR, 0),
        "one class": (svm.OneClassSVM, 0),
        "tree": (lambda: tree.DecisionTreeClassifier(max_depth=4, random_state=0), 3),
        "forest, 2 classes": (lambda: forest(8, max_depth=4, random_state=0), 2),
        "forest, regression": (lambda: ensemble.RandomForestRegressor(8, random_state=0), 0),
        "boosting, 2 classes": (lambda: boosting(n_estimators=8, random_state=0), 2),
        "boosting, 3 classes": (lambda: boosting(n_estimators=5, random_state=0), 3),
        "network": (lambda: neural_network.MLPClassifier((6,), max_iter=20, random_state=0), 3),
    }


@cache
def _numbers(classes: int) -> tuple[Array, Array]:
    from sklearn.datasets import make_classification

    x, y = make_classification(
        120, 5, n_informative=4, n_redundant=1, n_classes=classes, random_state=3
    )
    return x.astype(np.float32), y


def _convert(estimator: Any, sample: Any, **options: Any) -> Any:
    from skl2onnx import to_onnx

    return to_onnx(estimator, sample, target_opset=_OPSETS, **options)


@pytest.mark.parametrize("name", _estimators())
def test_trained_models_say_what_scikit_learn_says(name: str) -> None:
    make, classes = _estimators()[name]
    x, y = _numbers(classes or 3)
    estimator = make().fit(x, y)
    options = {"options": {id(estimator): {"zipmap": False}}} if classes else {}
    model = _convert(estimator, x[:1], **options)
    with wia.onnx.load(model, "reference") as session:
        found = [*session.run([x]).values()]
        assert not any(op.startswith("com.") for op in wia.onnx.inspect(model).operators)
    expected = estimator.predict(x)
    if not classes and name != "one class":
        np.testing.assert_allclose(found[0].reshape(-1), expected, rtol=1e-5, atol=1e-5)
        return
    assert found[0].reshape(-1).tolist() == expected.tolist()
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_allclose(found[1], estimator.predict_proba(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["max", "l1", "l2"])
def test_rows_over_their_norm(norm: str) -> None:
    from sklearn.preprocessing import Normalizer

    x = abs(_numbers(3)[0])
    scaler = Normalizer(norm)
    found = wia.onnx.load(_convert(scaler.fit(x), x[:1]), "reference").run([x])
    assert_alike(next(iter(found.values())), scaler.transform(x))


def test_columns_of_strings_and_of_numbers_with_gaps() -> None:
    """What most tables need before a model: categories, gaps, scales, and a map of classes."""
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer, OneHotEncoder, StandardScaler

    names = np.array([["red"], ["blue"], ["green"], ["red"], ["blue"], ["red"]], object)
    numbers = floats([1, np.nan], [2, 3], [np.nan, 1], [4, 2], [0, 0], [5, 1])
    answers = np.array(["yes", "no", "no", "yes", "no", "yes"])
    columns = ColumnTransformer(
        [
            ("colour", OneHotEncoder(handle_unknown="ignore"), [0]),
            ("scaled", make_pipeline(SimpleImputer(), StandardScaler()), [1, 2]),
            ("large", make_pipeline(SimpleImputer(), Binarizer(threshold=2)), [1]),
        ],
        sparse_threshold=0,
    )
    table = np.concatenate([names, numbers.astype(object)], axis=1)
    line = make_pipeline(columns, LogisticRegression()).fit(table, answers)
    model = _convert(
        line,
        None,
        initial_types=[
            ("colour", StringTensorType([None, 1])),
            ("numbers", FloatTensorType([None, 2])),
        ],
    )
    session = wia.onnx.load(model, "reference")
    asked = np.array([["green", 2.0, 1.0], ["purple", np.nan, 0.0]], object)
    found = session.run({"colour": asked[:, :1], "numbers": asked[:, 1:].astype(np.float32)})
    assert found["output_label"].tolist() == line.predict(asked).tolist()
    shares = line.predict_proba(asked)
    for given, row in zip(found["output_probability"], shares, strict=True):
        assert [*given] == ["no", "yes"]
        assert [*given.values()] == pytest.approx([*row], abs=1e-6)


def test_maps_become_rows() -> None:
    from skl2onnx.common.data_types import DictionaryType, FloatTensorType, StringTensorType
    from sklearn.feature_extraction import DictVectorizer

    rows = [{"a": 1.0, "c": 3.0}, {"b": 2.0}]
    maker = DictVectorizer(sparse=False).fit(rows)
    kind = DictionaryType(StringTensorType([1]), FloatTensorType([1]))
    session = wia.onnx.load(_convert(maker, None, initial_types=[("x", kind)]), "reference")
    for row in rows:
        found = session.run({"x": row})
        assert_alike(next(iter(found.values())), maker.transform(row).astype(np.float32))


def test_labels_become_numbers_and_back() -> None:
    from skl2onnx.common.data_types import StringTensorType
    from sklearn.preprocessing import LabelEncoder, OrdinalEncoder

    words = texts("b", "a", "c", "b")
    maker = LabelEncoder().fit(words)
    model = _convert(maker, None, initial_types=[("x", StringTensorType([None]))])
    found = next(iter(wia.onnx.load(model, "reference").run([words]).values()))
    assert found.tolist() == maker.transform(words).tolist()
    columns = words.reshape(2, 2)
    ordinal = OrdinalEncoder().fit(columns)
    model = _convert(ordinal, None, initial_types=[("x", StringTensorType([None, 2]))])
    found = next(iter(wia.onnx.load(model, "reference").run([columns]).values()))
    assert found.tolist() == ordinal.transform(columns).tolist()
