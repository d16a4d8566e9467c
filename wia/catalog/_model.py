"""The form of a catalog entry: what there is to say about one operation."""

from __future__ import annotations

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
"""WIA_MAX_OPERANDS without the output."""


@dataclass(frozen=True, kw_only=True)
class Operand:
    """An input or the output.

    ``read_with`` names the scalar that, unless zero, makes the kernel also read this output.
    ``dtypes`` are those of an input that has a dtype of its own; the others have that of the
    operation.
    """

    name: str
    summary: str
    optional: bool = False
    dtypes: tuple[str, ...] = ()
    read_with: str = ""


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

    ``kind`` is "int", "bool" or "dtype". ``length`` 0 is a single value, else the elements of a
    list; ``variable`` lists have any length up to it. A ``default`` of None means "not given",
    which only variable lists and dtypes can be. ``enum`` is the C type of ``choices``, which count
    from 0, the default. ``field`` is the C type in the config struct, empty for an attribute that
    isn't there. In the struct a zero means the default where ``zero_is_default``; elsewhere zero is
    zero.
    """

    name: str
    summary: str
    default: int | tuple[int, ...] | None
    kind: str = "int"
    length: int = 0
    variable: bool = False
    length_field: str = ""
    minimum: int = 0
    maximum: int = INT64_MAX
    zero_is_default: bool = False
    field: str = "int32_t"
    enum: str = ""
    choices: tuple[Choice, ...] = ()

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
    """A value that may change from call to call without another prepare."""

    name: str
    summary: str
    default: float


@dataclass(frozen=True, kw_only=True)
class Standard:
    """The operator of a standard that an operation follows, and where it differs."""

    name: str
    opset: int
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far a result may be from the semantics: see :mod:`wia.catalog._tolerance`.

    ``length`` gives the number of roundings in the accumulator, ``magnitude`` what each of them
    is relative to. Without them only the rounding of the result counts.
    """

    ulps: float = 0.0
    length: Callable[[tuple[Shape, ...], Values], int] | None = None
    magnitude: Semantics | None = None
    reason: str = "The result is exact."


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Inputs of one call, described: ``shapes`` has None for an input that is left out.

    ``fills`` names how each input is filled (see :mod:`wia.catalog._samples`), "normal" where it
    is shorter. ``dtypes`` limits the sample to some of the operation's dtypes.
    """

    shapes: tuple[Shape | None, ...]
    values: Values = field(default_factory=dict)
    fills: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation.

    ``number`` is the value of WIA_OP_<NAME> and never given to another operation. ``family`` names
    the shape and dtype rule, a C function wia__infer_<family>. ``dtypes`` are those of the first
    input that has none of its own; with ``same_dtype`` all others like it have that one too. A
    ``variadic`` operation has one entry in ``inputs``, which stands for 1 to MAX_INPUTS. ``flops``
    takes the shapes of the inputs, the shape of the output and the values. ``source`` names what
    the semantics are checked against.
    """

    number: int
    name: str
    summary: str
    formula: str
    inputs: tuple[Operand, ...]
    output: Operand
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
    attributes: tuple[Attribute, ...] = ()
    options: tuple[Option, ...] = ()
    scalars: tuple[Scalar, ...] = ()
    config: str = ""

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
        """The number of the input that ``dtypes`` is about."""
        return next(i for i, operand in enumerate(self.inputs) if not operand.dtypes)

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
