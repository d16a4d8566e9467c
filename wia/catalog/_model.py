"""The form of a catalog entry: what there is to say about one operation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]
Values = Mapping[str, Any]
"""Attributes and scalars of one call by name."""

Semantics = Callable[..., Any]
"""``semantics(np, *inputs, **values)`` returns the output; left-out inputs are None."""

FLOATS = ("float64", "float32", "float16", "bfloat16")
SIGNED = ("int64", "int32", "int16", "int8")
UNSIGNED = ("uint64", "uint32", "uint16", "uint8")
INTEGERS = SIGNED + UNSIGNED
FLOAT8 = (
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
ANY = FLOATS + FLOAT8 + INTEGERS + ("bool", "complex64", "complex128")
"""Every dtype whose elements are whole bytes."""
PACKED = ("float4_e2m1fn", "int4", "int2", "uint4", "uint2")
"""Those of which several share a byte."""

INT64_MAX = 2**63 - 1
INT32_MAX = 2**31 - 1
MAX_INPUTS = 31
"""WIA_MAX_OPERANDS without an output."""


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far a result may be from the semantics: see :mod:`wia.catalog._tolerance`.

    ``length`` gives the number of roundings in the accumulator, ``magnitude`` what each of them
    is relative to. Without them only the rounding of the result counts. ``bitwise``: elements are
    copied, so that every bit has to arrive, those of a NaN too. ``signed_zeros``: the sign of a
    zero is told; elsewhere either is good.
    """

    ulps: float = 0.0
    bitwise: bool = False
    signed_zeros: bool = False
    length: Callable[[tuple[Shape, ...], Values], int] | None = None
    magnitude: Semantics | None = None
    reason: str = "The result is exact."


@dataclass(frozen=True, kw_only=True)
class Operand:
    """An input or an output.

    Of inputs: ``dtypes`` are those of one that has a dtype of its own; the others have that of the
    operation. ``dtype_for`` are pairs of a dtype of the operation and that of this input in
    samples, where they differ and the rule says so (an int32 bias to int8).
    Of outputs: ``read_with`` names the scalar that, unless zero, makes the kernel also read it.
    ``tolerance`` is its own, where that of the operation doesn't fit. ``sized`` ones have the
    largest possible size in their first dimension: see Operation.count.
    """

    name: str
    summary: str
    optional: bool = False
    dtypes: tuple[str, ...] = ()
    dtype_for: tuple[tuple[str, str], ...] = ()
    read_with: str = ""
    tolerance: Tolerance | None = None
    sized: bool = False


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One value of an enumeration; ``then`` is an operation that the call runs after."""

    name: str
    value: int
    summary: str
    then: str = ""


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """A value that a kernel is prepared for.

    ``kind`` is "int", "float", "bool" or "dtype". ``length`` 0 is a single value, else the elements
    of a list; ``variable`` lists have any length up to it. A ``default`` of None means "not given",
    which only variable lists and dtypes can be. ``enum`` is the C type of ``choices``, which count
    from 0, the default. ``field`` is the C type in the config struct, empty for an attribute that
    isn't there. In the struct a zero means the default where ``zero_is_default``; elsewhere zero is
    zero. A ``text`` is a variable list of ASCII codes, for which Python takes a string. Without a
    ``minimum`` and a ``maximum`` integers go from 0, and floats are any but NaN.
    """

    name: str
    summary: str
    default: float | tuple[float, ...] | None
    kind: str = "int"
    length: int = 0
    variable: bool = False
    length_field: str = ""
    minimum: float | None = None
    maximum: float | None = None
    zero_is_default: bool = False
    field: str = "int32_t"
    enum: str = ""
    choices: tuple[Choice, ...] = ()
    text: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest value of an element."""
        least, most = (-math.inf, math.inf) if self.kind == "float" else (0, INT64_MAX)
        return (
            least if self.minimum is None else self.minimum,
            most if self.maximum is None else self.maximum,
        )

    @property
    def words(self) -> int:
        """Words that the value takes: a variable list has its length first."""
        return max(self.length, 1) + int(self.variable)


@dataclass(frozen=True, kw_only=True)
class Option(Attribute):
    """A wish how to compute, which doesn't change what is computed.

    An option whose choices have a ``then`` is carried out by the call itself: no driver sees it,
    and lists of attributes don't have it.
    """

    @property
    def in_call(self) -> bool:
        """Whether the generated function carries the option out."""
        return any(choice.then for choice in self.choices)


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """A value that may change from call to call without another prepare.

    ``another`` is a second good one for tests, None: the default plus 1.
    """

    name: str
    summary: str
    default: float
    another: float | None = None


@dataclass(frozen=True, kw_only=True)
class Standard:
    """The operator of a standard that an operation follows, and where it differs."""

    name: str
    opset: int
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Inputs of one call, described: ``shapes`` has None for an input that is left out.

    ``fills`` names how each input is filled (see :mod:`wia.catalog._samples`), "normal" where it
    is shorter. ``dtypes`` limits the sample to some of the operation's dtypes. ``own`` are pairs of
    an input's name and its dtype, for those that have several of their own; else they have the
    first.
    """

    shapes: tuple[Shape | None, ...]
    values: Values = field(default_factory=dict)
    fills: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    own: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation.

    ``number`` is the value of WIA_OP_<NAME> and never given to another operation; numbers may have
    gaps. Optional inputs and outputs are the last ones; with several outputs the semantics return
    a tuple of all of them. ``count`` names the int64 output of rank 0 that tells how many elements
    of the first dimension of the ``sized`` outputs the data made; those behind are 0. ``family`` is
    the shape and dtype rule, a C function wia__infer_<family>. ``dtypes`` are those of the first
    input that has none of its own, or of the first output if there is no such input; with
    ``same_dtype`` all other inputs like it have that one too. A ``variadic`` operation has one
    entry in ``inputs``, which stands for 1 to MAX_INPUTS; one with ``variadic_outputs`` has as many
    of its outputs in a call as its rule makes, the first ones. ``gradient`` is its program, unless
    :mod:`wia.catalog.derivatives` has it, ``no_gradient`` in one line why there is none. ``flops``
    takes the shapes of the inputs, the shape of the first output and the values. ``source`` names
    what the semantics are checked against.
    """

    number: int
    name: str
    summary: str
    formula: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    family: str
    dtypes: tuple[str, ...]
    semantics: Semantics
    tolerance: Tolerance
    flops: Callable[[tuple[Shape | None, ...], Shape, Values], float]
    samples: tuple[Sample, ...]
    source: str
    notes: tuple[str, ...] = ()
    standard: Standard | None = None
    same_dtype: bool = True
    variadic: bool = False
    variadic_outputs: bool = False
    attributes: tuple[Attribute, ...] = ()
    options: tuple[Option, ...] = ()
    scalars: tuple[Scalar, ...] = ()
    config: str = ""
    count: str = ""
    gradient: str = ""
    no_gradient: str = ""

    @property
    def output(self) -> Operand:
        """The first output."""
        return self.outputs[0]

    @property
    def required_outputs(self) -> int:
        """Outputs that can't be left out; the optional ones come after them."""
        return sum(not operand.optional for operand in self.outputs)

    @property
    def tolerances(self) -> tuple[Tolerance, ...]:
        """The tolerance of each output."""
        return tuple(output.tolerance or self.tolerance for output in self.outputs)

    def outputs_read(self, values: Values) -> tuple[int, ...]:
        """The numbers of the outputs that a call with these scalars reads first."""
        return tuple(
            i
            for i, output in enumerate(self.outputs)
            if output.read_with and values[output.read_with] != 0
        )

    @property
    def required(self) -> int:
        """Inputs that can't be left out; the optional ones come after them."""
        return sum(not operand.optional for operand in self.inputs)

    @property
    def most(self) -> int:
        """The largest number of inputs that a call can have."""
        return MAX_INPUTS if self.variadic else len(self.inputs)

    @property
    def lead(self) -> int:
        """The number of the input that ``dtypes`` is about; -1: the first output."""
        return next((i for i, operand in enumerate(self.inputs) if not operand.dtypes), -1)

    @property
    def fields(self) -> tuple[Attribute | Scalar, ...]:
        """The fields of the config struct in their order."""
        listed = (*self.options, *self.attributes)
        return (*(item for item in listed if item.field), *self.scalars)

    def defaults(self) -> dict[str, Any]:
        """Attributes and scalars with their defaults; options are not among them."""
        values: dict[str, Any] = {item.name: item.default for item in self.attributes}
        values.update({scalar.name: scalar.default for scalar in self.scalars})
        return values
