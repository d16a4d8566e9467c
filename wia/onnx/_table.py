"""The one table: for each operator of ONNX what WIA does in its place.

An operator that isn't here runs by the body that onnx defines for it, if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wia.onnx._lower import elementwise, flow, moves, neural, reductions, shapes, texts
from wia.onnx._lower.elementwise import binary, unary

if TYPE_CHECKING:
    from wia.onnx._call import Lowering
    from wia.onnx._graph import Node

__all__ = ["TABLE", "find_lowering"]

TABLE: Mapping[tuple[str, str], Lowering] = {
    ("", "Abs"): unary("abs"),
    ("", "Acos"): unary("acos"),
    ("", "Acosh"): unary("acosh"),
    ("", "Add"): binary("add"),
    ("", "And"): binary("logical_and"),
    ("", "ArgMax"): reductions.arg("argmax"),
    ("", "ArgMin"): reductions.arg("argmin"),
    ("", "Asin"): unary("asin"),
    ("", "Asinh"): unary("asinh"),
    ("", "Atan"): unary("atan"),
    ("", "Atanh"): unary("atanh"),
    ("", "AveragePool"): neural.average_pool,
    ("", "BatchNormalization"): neural.batch_norm,
    ("", "BitwiseAnd"): binary("bitwise_and"),
    ("", "BitwiseNot"): unary("bitwise_not"),
    ("", "BitwiseOr"): binary("bitwise_or"),
    ("", "BitwiseXor"): binary("bitwise_xor"),
    ("", "Cast"): elementwise.cast,
    ("", "CastLike"): elementwise.cast_like,
    ("", "Ceil"): unary("ceil"),
    ("", "Clip"): elementwise.clip,
    ("", "Concat"): moves.concat,
    ("", "ConcatFromSequence"): flow.concat_from_sequence,
    ("", "Constant"): shapes.constant,
    ("", "ConstantOfShape"): shapes.constant_of_shape,
    ("", "Conv"): neural.conv,
    ("", "Cos"): unary("cos"),
    ("", "Cosh"): unary("cosh"),
    ("", "Div"): binary("div"),
    ("", "Dropout"): neural.dropout,
    ("", "Equal"): texts.equal,
    ("", "Erf"): unary("erf"),
    ("", "Exp"): unary("exp"),
    ("", "Expand"): moves.expand,
    ("", "Flatten"): moves.flatten,
    ("", "Floor"): unary("floor"),
    ("", "Gather"): moves.gather,
    ("", "Gemm"): neural.gemm,
    ("", "Gelu"): elementwise.gelu,
    ("", "GlobalAveragePool"): neural.global_pool("reduce_mean"),
    ("", "GlobalMaxPool"): neural.global_pool("reduce_max"),
    ("", "Greater"): binary("greater"),
    ("", "GreaterOrEqual"): binary("greater_equal"),
    ("", "Identity"): flow.identity,
    ("", "If"): flow.if_,
    ("", "IsNaN"): unary("is_nan"),
    ("", "LayerNormalization"): neural.layer_norm,
    ("", "Less"): binary("less"),
    ("", "LessOrEqual"): binary("less_equal"),
    ("", "Log"): unary("log"),
    ("", "Loop"): flow.loop,
    ("", "MatMul"): neural.matmul,
    ("", "Max"): elementwise.many("maximum"),
    ("", "MaxPool"): neural.max_pool,
    ("", "Mean"): elementwise.mean,
    ("", "Min"): elementwise.many("minimum"),
    ("", "Mul"): binary("mul"),
    ("", "Neg"): unary("neg"),
    ("", "Not"): unary("logical_not"),
    ("", "Optional"): flow.optional,
    ("", "OptionalGetElement"): flow.optional_get,
    ("", "OptionalHasElement"): flow.optional_has,
    ("", "Or"): binary("logical_or"),
    ("", "Pad"): moves.pad,
    ("", "Pow"): elementwise.power,
    ("", "Reciprocal"): unary("reciprocal"),
    ("", "ReduceMax"): reductions.reduce("reduce_max"),
    ("", "ReduceMean"): reductions.reduce("reduce_mean"),
    ("", "ReduceMin"): reductions.reduce("reduce_min"),
    ("", "ReduceProd"): reductions.reduce("reduce_prod"),
    ("", "ReduceSum"): reductions.reduce("reduce_sum"),
    ("", "RegexFullMatch"): texts.regex_full_match,
    ("", "Relu"): unary("relu"),
    ("", "Reshape"): moves.reshape,
    ("", "Round"): unary("round"),
    ("", "Scan"): flow.scan,
    ("", "SequenceAt"): flow.sequence_at,
    ("", "SequenceConstruct"): flow.sequence_construct,
    ("", "SequenceEmpty"): flow.sequence_empty,
    ("", "SequenceErase"): flow.sequence_erase,
    ("", "SequenceInsert"): flow.sequence_insert,
    ("", "SequenceLength"): flow.sequence_length,
    ("", "Shape"): shapes.shape,
    ("", "Sigmoid"): unary("sigmoid"),
    ("", "Sign"): unary("sign"),
    ("", "Sin"): unary("sin"),
    ("", "Sinh"): unary("sinh"),
    ("", "Size"): shapes.size,
    ("", "Slice"): moves.slice_,
    ("", "Softmax"): neural.softmax("softmax"),
    ("", "Split"): moves.split,
    ("", "SplitToSequence"): flow.split_to_sequence,
    ("", "Sqrt"): unary("sqrt"),
    ("", "Squeeze"): moves.squeeze,
    ("", "StringConcat"): texts.concat,
    ("", "StringNormalizer"): texts.normalize,
    ("", "StringSplit"): texts.split,
    ("", "Sub"): binary("sub"),
    ("", "Sum"): elementwise.many("add"),
    ("", "Tan"): unary("tan"),
    ("", "Tanh"): unary("tanh"),
    ("", "Transpose"): moves.transpose,
    ("", "Unsqueeze"): moves.unsqueeze,
    ("", "Where"): elementwise.where,
    ("", "Xor"): binary("logical_xor"),
}
"""Lowerings by domain and operator; "" is ai.onnx."""


def find_lowering(node: Node) -> Lowering | None:
    """The lowering for a node, None where there is none."""
    return TABLE.get((node.domain, node.op))
