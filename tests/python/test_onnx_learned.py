"""The domain ai.onnx.ml: nodes with values worked by hand, maps, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_learned import CASES, Case, assert_alike, floats, ints, node_model, texts

import wia
import wia.onnx

_TO_STRINGS = helper.make_map_type_proto(
    TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
)
_TO_INTS = helper.make_map_type_proto(
    TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
)
_TO_TEXTS = helper.make_map_type_proto(
    TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.STRING, [])
)


def run_case(case: Case, device: str = "reference") -> list[Any]:
    inputs = {f"x{i}": value for i, value in enumerate(case.inputs)}
    with wia.onnx.load(case.model(), device) as session:
        first = [*session.run(inputs).values()]
        again = [*session.run(inputs).values()]  # with what the first run kept
    for one, other in zip(first, again, strict=True):
        assert_alike(one, other)
    return first


@pytest.mark.parametrize("name_of_device", ["reference", "npu:0"])
@pytest.mark.parametrize("name", CASES)
def test_nodes_give_what_is_worked_by_hand(name: str, name_of_device: str) -> None:
    case = CASES[name]
    for found, expected in zip(run_case(case, name_of_device), case.expected, strict=True):
        assert_alike(found, expected)


def test_every_operator_of_the_domain_is_there() -> None:
    schemas = onnx.defs.get_all_schemas_with_history()
    wanted = {s.name for s in schemas if s.domain == "ai.onnx.ml"}
    assert wanted == {op for domain, op in wia.onnx._table.TABLE if domain == "ai.onnx.ml"}


@pytest.mark.parametrize(
    "name",
    ["regression", "trees", "classes of trees", "columns", "missing floats", "over L1", "scaled"],
)
def test_no_rows_give_no_rows(name: str) -> None:
    case = CASES[name]
    empty = (case.inputs[0].reshape(-1, case.inputs[0].shape[-1])[:0], *case.inputs[1:])
    for found, expected in zip(run_case(case._replace(inputs=empty)), case.expected, strict=True):
        assert found.shape == (0, *expected.shape[1:])
        assert found.dtype == expected.dtype


# -- maps ---------------------------------------------------------------------------------------


def test_a_map_for_each_row() -> None:
    kind = helper.make_sequence_type_proto(_TO_STRINGS)
    x = floats([1, 2], [3, 4])
    model = node_model("ZipMap", {"x": x}, [kind], classlabels_strings=["a", "b"])
    session = wia.onnx.load(model, "reference")
    assert session.run([x])["y0"] == [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]
    assert session.placement().host == ("n",)
    assert session.outputs[0].dtype == ""
    with pytest.raises(wia.onnx.ModelError, match=r"'n' \(ai.onnx.ml.ZipMap-1\).*rows of 2"):
        session.run([floats([1, 2, 3])])


def test_a_map_becomes_a_row() -> None:
    model = node_model(
        "DictVectorizer", {"x": _TO_STRINGS}, [TensorProto.FLOAT], string_vocabulary=["b", "c", "a"]
    )
    session = wia.onnx.load(model, "reference")
    assert_alike(session.run({"x": {"a": 4, "b": 8.5, "q": 1}})["y0"], floats([8.5, 0, 4]))
    assert_alike(session.run({"x": {}})["y0"], floats([0, 0, 0]))
    with pytest.raises(wia.onnx.ModelError, match="a map can't be taken"):
        session.run({"x": {"a": "text"}})
    with pytest.raises(wia.onnx.ModelError, match=r"is a float32\[1\]; expected a map"):
        session.run({"x": floats(1)})


def test_values_of_a_map_by_rising_key() -> None:
    def run(given: dict[int, Any], kind: Any, result: int, **attributes: Any) -> Any:
        model = node_model("CastMap", {"x": kind}, [result], **attributes)
        return wia.onnx.load(model, "reference").run({"x": given})["y0"]

    numbers, strings = {3: 1.5, 1: -2.5}, {0: "7", 2: "-1"}
    assert_alike(run(numbers, _TO_INTS, TensorProto.FLOAT), floats([-2.5, 1.5]))
    assert_alike(
        run(numbers, _TO_INTS, TensorProto.INT64, cast_to="TO_INT64", map_form="SPARSE", max_map=5),
        ints([0, -2, 0, 1, 0]),
    )
    assert_alike(
        run(numbers, _TO_INTS, TensorProto.STRING, cast_to="TO_STRING"), texts(["-2.5", "1.5"])
    )
    assert_alike(run(strings, _TO_TEXTS, TensorProto.INT64, cast_to="TO_INT64"), ints([7, -1]))
    with pytest.raises(wia.onnx.ModelError, match="the map has the key 3; max_map is 3"):
        run(numbers, _TO_INTS, TensorProto.FLOAT, map_form="SPARSE", max_map=3)
    with pytest.raises(wia.onnx.ModelError, match="'many' is no float32"):
        run({1: "many"}, _TO_TEXTS, TensorProto.FLOAT)
    with pytest.raises(wia.onnx.ModelError, match="more than"):
        run(numbers, _TO_INTS, TensorProto.FLOAT, map_form="SPARSE", max_map=2**60)


def test_a_map_for_what_is_none_is_told() -> None:
    model = node_model("Binarizer", {"x": floats(1)}, [TensorProto.FLOAT])
    with pytest.raises(wia.ArgumentTypeError, match=r"'x' was given as a map; expected x: float32"):
        wia.onnx.load(model, "reference").run({"x": {"a": 1}})


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(
    "threshold", [0.5, -0.5, -1.0, 2.0, np.nan, np.inf, -np.inf, 2.0**63, -(2.0**63), -(2.0**31)]
)
def test_integers_above_a_threshold(threshold: float, dtype: type[np.signedinteger[Any]]) -> None:
    """Guard: binarizer; a threshold that is cut to an integer has other ones above it."""
    info = np.iinfo(dtype)
    numbers = [info.min, info.min + 1, -2, -1, 0, 1, 2, 3, info.max]
    x = np.array(numbers, dtype)[:, None]
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    model = node_model("Binarizer", {"x": x}, [kind], threshold=float(threshold))
    (got,) = wia.onnx.load(model, "reference").run({"x": x}).values()
    assert got.dtype == dtype
    assert got[:, 0].tolist() == [int(number > threshold) for number in numbers]


# -- errors -------------------------------------------------------------------------------------


def _changed(name: str, **attributes: Any) -> Case:
    case = CASES[name]
    given = {**case.attributes, **attributes}
    return case._replace(attributes={k: v for k, v in given.items() if v is not None})


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (_changed("regression", targets=3), "coefficients for 2 targets, not 3"),
        (_changed("regression", coefficients=[1.0, 2.0, 3.0]), "3 coefficients .* for 2 features"),
        (_changed("regression", intercepts=[1.0]), "intercepts has 1 elements; expected 2"),
        (_changed("regression", post_transform="NORM"), "'NORM'; expected one of NONE, SOFTMAX"),
        (_changed("three classes", classlabels_ints=[1, 2]), "3 scores for 2 labels"),
        (_changed("three classes", classlabels_ints=[1]), "two or more"),
        (_changed("trees", nodes_modes=["BRANCH_LEQ", *["LEAF"] * 4]), "nodes_modes has 5"),
        (_changed("trees", nodes_featureids=[2, 0, 1, 0, 0, 0]), "beyond the 2 features"),
        (_changed("trees", nodes_truenodeids=[0, 0, 3, 0, 0, 0]), "a tree goes in a circle"),
        (_changed("trees", nodes_falsenodeids=[2, 0, 0, 0, 0, 0]), "a tree goes in a circle"),
        (_changed("trees", nodes_truenodeids=[9, 0, 3, 0, 0, 0]), "node 9 of tree 0"),
        (_changed("trees", target_nodeids=[1, 3, 7, 0]), "node 7 of tree 0"),
        (_changed("trees", nodes_nodeids=[0, 1, 1, 3, 4, 0]), "stands there twice"),
        (_changed("trees", target_ids=[0, 0, 2, 0]), "beyond the 2 targets"),
        (_changed("trees", n_targets=2**50), "more than"),
        (_changed("trees", aggregate_function="MEDIAN"), "expected one of 'AVERAGE', 'SUM'"),
        (_changed("vectors", n_supports=3), "4 elements for 3 vectors of 2 features"),
        (_changed("vectors", kernel_type="SPLINE"), "'SPLINE'; expected one of 'LINEAR'"),
        (_changed("a machine for each pair", vectors_per_class=[1]), "vectors_per_class has 1"),
        (_changed("a machine for each pair", coefficients=[1.0]), "1 coefficients"),
        (_changed("a machine for each pair", prob_a=[1.0, 2.0]), "prob_a and prob_b have 2 and 0"),
        (_changed("missing floats", imputed_value_floats=[1.0] * 3), "has 3 elements"),
        (_changed("features side by side", inputdimensions=[1]), "has 1 elements for 2 inputs"),
        (_changed("features side by side", inputdimensions=[1, -1]), "sizes are 0 or more"),
        (_changed("features side by side", inputdimensions=[1, 2**60]), "more than"),
        (_changed("one of integers", zeros=0, cats_int64s=[5, 3]), "1 elements are of no category"),
        (_changed("one of strings", cats_int64s=[1]), "either cats_strings or cats_int64s"),
        (_changed("over L1", norm="L3"), "'L3'; expected one of 'MAX', 'L1', 'L2'"),
        (_changed("integers to strings", cats_int64s=[1]), "2 strings and 1 integers"),
        (CASES["columns of strings"]._replace(inputs=(texts("a", "b"), ints(2))), "there are 2"),
        (
            CASES["columns of strings"]._replace(inputs=(np.array("a", object), ints(0))),
            "0 dimensions",
        ),
        (
            CASES["columns of strings"]._replace(inputs=(texts("a"), floats(np.nan))),
            "expected integers",
        ),
        (CASES["columns"]._replace(inputs=(floats([1.0, 2.0]), ints(2))), "2"),
    ],
)
def test_wrong_attributes_are_told(case: Case, text: str) -> None:
    with pytest.raises(wia.WiaError, match=rf"'n' \(ai.onnx.ml.{case.op}-\d\).*{text}"):
        run_case(case)


@pytest.mark.parametrize(
    ("op", "attributes", "dtype"),
    [
        ("Imputer", {"imputed_value_int64s": [2**60]}, np.int32),
        ("Imputer", {"imputed_value_int64s": [1], "replaced_value_int64": 2**60}, np.int32),
    ],
)
def test_numbers_that_have_no_place_are_told(op: str, attributes: Any, dtype: Any) -> None:
    """Guard: _make in wia.onnx._call, which literal and once go through."""
    x = np.ones((2, 1), dtype)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    session = wia.onnx.load(node_model(op, {"x0": x}, [kind], **attributes), "reference")
    with pytest.raises(wia.onnx.ModelError, match=rf"{op}.*number of an attribute has no place"):
        session.run({"x0": x})
