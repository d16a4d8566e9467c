"""Square matrices: determinants, inverses, and what systems of equations need."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import SAME, flag
from ._model import FLOATS, Operand, Sample, Shape, Standard, Tolerance, Values
from ._moving import moving
from ._numeric import narrow, widen


def _eliminate(np: Any, matrix: Any, right: Any) -> Any:
    """The determinant; ``matrix`` becomes upper triangular, and ``right`` goes along.

    Gauss with partial pivoting.
    """
    determinant = np.float64(1.0)
    for i in range(len(matrix)):
        # NaN is largest: it shows in the result.
        pivot = i + int(np.argmax(abs(matrix[i:, i])))
        if pivot != i:
            matrix[[i, pivot]], right[[i, pivot]] = matrix[[pivot, i]], right[[pivot, i]]
            determinant = -determinant
        determinant = determinant * matrix[i, i]
        if matrix[i, i] == 0:
            continue
        factors = matrix[i + 1 :, i] / matrix[i, i]
        matrix[i + 1 :] -= factors[:, None] * matrix[i]
        right[i + 1 :] -= factors[:, None] * right[i]
    return determinant


def determinant(np: Any, x: Any) -> Any:
    """The determinant of each matrix."""
    result = np.empty(x.shape[:-2])
    for place in np.ndindex(result.shape):
        matrix = widen(np, x[place]).copy()
        result[place] = _eliminate(np, matrix, np.zeros((len(matrix), 0)))
    return narrow(np, result, x.dtype)


def inverse(np: Any, x: Any) -> Any:
    """The inverse of each matrix; NaN where there is none, or where a number is missing."""
    result = np.empty(x.shape)
    for place in np.ndindex(x.shape[:-2]):
        matrix, right = widen(np, x[place]).copy(), np.eye(x.shape[-1])
        _eliminate(np, matrix, right)
        result[place] = _substitute(np, matrix, right, upper=True, unit=False)
        if not (np.diagonal(matrix).all() and _finite(np, x[place])):
            result[place] = np.nan
    return narrow(np, result, x.dtype)


def _finite(np: Any, x: Any) -> bool:
    return bool(np.isfinite(widen(np, x)).all())


def _substitute(np: Any, matrix: Any, right: Any, *, upper: bool, unit: bool) -> Any:
    """The solution of a triangular system, row by row."""
    result = right.copy()
    size = len(matrix)
    for i in reversed(range(size)) if upper else range(size):
        known = range(i + 1, size) if upper else range(i)
        for k in known:
            result[i] -= matrix[i, k] * result[k]
        if not unit:
            result[i] /= matrix[i, i]
    return result


def cholesky(np: Any, x: Any, *, upper: int) -> Any:
    """The lower triangular L of x = L L^T, or its transpose; NaN where there is none."""
    result = np.zeros(x.shape)
    for place in np.ndindex(x.shape[:-2]):
        matrix = widen(np, x[place])
        matrix = matrix.T if upper else matrix
        lower = result[place]
        if not _finite(np, np.tril(matrix)):
            lower[...] = np.nan
            continue
        for i in range(len(matrix)):
            column = matrix[i:, i].copy()
            for k in range(i):
                column -= lower[i:, k] * lower[i, k]
            if not column[0] > 0:
                lower[...] = np.nan
                break
            lower[i:, i] = column / np.sqrt(column[0])
    result = np.swapaxes(result, -1, -2) if upper else result
    return narrow(np, result, x.dtype)


def solve_triangular(np: Any, a: Any, b: Any, *, upper: int, unit_diagonal: int) -> Any:
    """The x of a x = b for a triangular a, whose other half isn't read."""
    result = np.empty(b.shape)
    for place in np.ndindex(a.shape[:-2]):
        matrix, right = widen(np, a[place]), widen(np, b[place])
        result[place] = _substitute(np, matrix, right, upper=bool(upper), unit=bool(unit_diagonal))
    return narrow(np, result, b.dtype)


def _cube(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    size = (shapes[0] or (0,))[-1]
    return float(elements(shapes[0]) * size)


def _norms(np: Any, x: Any) -> Any:
    """The product of the lengths of rows: no determinant is larger (Hadamard)."""
    return np.sqrt((x * x).sum(axis=-1)).prod(axis=-1)


def _amplified(np: Any, x: Any) -> Any:
    """|inverse| |x| |inverse|: what a small change of x does to the inverse."""
    other = abs(inverse(np, x))
    return other @ abs(x) @ other


def _bent(np: Any, x: Any, *, upper: int) -> Any:
    """What a small change of x does to its factor, at most."""
    other = inverse(np, x)
    size = np.sqrt((x * x).sum(axis=(-1, -2)) * (other * other).sum(axis=(-1, -2)))
    return (size * np.sqrt(abs(x).max(axis=(-1, -2), initial=0.0)))[..., None, None]


def _solved(np: Any, a: Any, b: Any, *, upper: int, unit_diagonal: int) -> Any:
    """|inverse of a| |a| |x|."""
    values = {"upper": upper, "unit_diagonal": unit_diagonal}
    eye = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    other, x = solve_triangular(np, a, eye, **values), solve_triangular(np, a, b, **values)
    kept = np.triu(abs(a)) if upper else np.tril(abs(a))
    return abs(other) @ (kept + np.eye(a.shape[-1])) @ abs(x)


def _elimination(magnitude: Any) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 4 * shapes[0][-1] ** 2,
        magnitude=magnitude,
        reason="Elimination with pivots, or what is as stable: a rounding for each element of the "
        "matrix, relative to what a change of it does to the result.",
    )


_MATRICES = Operand(name="input", summary="[..., n, n].")
_SHAPES = (
    Sample(shapes=((3, 3),)),
    Sample(shapes=((2, 1, 5, 5),)),
    Sample(shapes=((1, 1),), fills=("positive",)),
    Sample(shapes=((0, 0),)),
    Sample(shapes=((0, 2, 2),)),
)

DETERMINANT = moving(
    420,
    "determinant",
    determinant,
    summary="Determinants of square matrices.",
    formula="output = det(input)",
    inputs=(_MATRICES,),
    output=Operand(name="output", summary="[...]."),
    dtypes=FLOATS,
    notes=("That of no rows is 1.",),
    standard=Standard(name="Det", opset=22),
    tolerance=_elimination(_norms),
    flops=_cube,
    samples=(*_SHAPES, Sample(shapes=((4, 4),), fills=("special",))),
    source="ONNX node tests det_*; numpy.linalg.det",
)

INVERSE = moving(
    421,
    "inverse",
    inverse,
    summary="Inverses of square matrices.",
    formula="output input = the identity",
    inputs=(_MATRICES,),
    output=SAME,
    family="square",
    dtypes=FLOATS,
    notes=(
        "A singular matrix, with a pivot of 0 in its elimination, gives NaN in all elements; so "
        "does one with a NaN or an infinity.",
    ),
    tolerance=_elimination(_amplified),
    flops=_cube,
    samples=_SHAPES,
    source="numpy.linalg.inv; singular ones and NaN by hand",
)

CHOLESKY = moving(
    422,
    "cholesky",
    cholesky,
    summary="Cholesky factors of positive definite matrices.",
    formula="input = L L^T with a lower triangular L, the output; upper: its transpose",
    inputs=(Operand(name="input", summary="[..., n, n]; only the half of the output is read."),),
    output=SAME,
    family="square",
    dtypes=FLOATS,
    notes=(
        "The other half of the output is 0. A matrix that isn't positive definite gives NaN in all "
        "elements; so does one with a NaN or an infinity in the half that is read.",
    ),
    attributes=(flag("upper", "The output is upper triangular."),),
    tolerance=_elimination(_bent),
    flops=_cube,
    samples=(
        Sample(shapes=((3, 3),), fills=("definite",)),
        Sample(shapes=((2, 5, 5),), values={"upper": 1}, fills=("definite",)),
        Sample(shapes=((0, 0),)),
    ),
    source="numpy.linalg.cholesky; values and NaN by hand",
)

SOLVE_TRIANGULAR = moving(
    423,
    "solve_triangular",
    solve_triangular,
    summary="Solves systems of equations with a triangular matrix.",
    formula="a output = b",
    inputs=(
        Operand(name="a", summary="[..., n, n]; the other half isn't read."),
        Operand(name="b", summary="[..., n, k]."),
    ),
    output=Operand(name="output", summary="The shape of b."),
    dtypes=FLOATS,
    notes=(
        "A zero on the diagonal gives infinities or NaN.",
        "NaN and infinities spread as substitution has it, row by row: x_i = (b_i - a_i1 x_1 - "
        "...) / a_ii with all products, so that 0 times an infinity is NaN. Columns of b don't "
        "touch each other.",
    ),
    attributes=(
        flag("upper", "a is upper triangular, else lower."),
        flag("unit_diagonal", "The diagonal of a isn't read: it is all 1."),
    ),
    tolerance=_elimination(_solved),
    flops=_cube,
    samples=(
        Sample(shapes=((3, 3), (3, 2)), fills=("definite",)),
        Sample(shapes=((2, 5, 5), (2, 5, 1)), values={"upper": 1}, fills=("definite",)),
        Sample(shapes=((4, 4), (4, 3)), values={"unit_diagonal": 1}, fills=("positive",)),
        Sample(shapes=((0, 0), (0, 2))),
    ),
    source="scipy.linalg.solve_triangular, also of NaN; values by hand",
)

OPERATIONS = (DETERMINANT, INVERSE, CHOLESKY, SOLVE_TRIANGULAR)
