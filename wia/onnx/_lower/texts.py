"""Strings: on the host, since no device has them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from wia._errors import ResourceExhaustedError
from wia.onnx._errors import ModelError, UnsupportedError
from wia.onnx._values import broadcast_shapes, check_size, is_text
from wia.onnx._values import texts as make_texts

if TYPE_CHECKING:
    import numpy as np

    from wia.onnx._call import Call, Result

__all__ = [
    "cast_texts",
    "concat",
    "equal",
    "normalize",
    "parse_number",
    "regex_full_match",
    "split",
    "tf_idf",
    "where_texts",
    "write_number",
]


_MOST_TEXT = 2**28
"""Strings of a tensor, letters of all, or numbers made of them, at a time."""


def _text(call: Call, index: int) -> np.ndarray[Any, Any]:
    value: Any = call.value(index)
    if not is_text(value):
        raise ModelError(f"input {index} is no tensor of strings")
    found: np.ndarray[Any, Any] = value
    return found


def _map(function: Callable[..., object], *arrays: Any, dtype: Any = object) -> Any:
    """A function of elements over arrays that broadcast."""
    import numpy as np

    shape: tuple[int, ...] = ()
    for array in arrays:
        shape = broadcast_shapes(shape, array.shape)
    _check_texts(math.prod(shape))
    together = [np.broadcast_to(array, shape) for array in arrays]
    flat = [function(*items) for items in zip(*(a.reshape(-1) for a in together), strict=True)]
    made = np.empty(len(flat), dtype)
    made[:] = flat
    return made.reshape(together[0].shape)


def equal(call: Call) -> Result:
    """Equal, of numbers and of strings."""
    import numpy as np

    if is_text(call.value(0)):
        return call.put(_map(lambda a, b: a == b, _text(call, 0), _text(call, 1), dtype=np.bool_))
    from wia.onnx._lower.elementwise import binary

    return binary("equal")(call)


def where_texts(call: Call) -> Result:
    """Where between strings."""
    result: np.ndarray[Any, Any] = _map(
        lambda c, a, b: a if c else b, call.host(0), _text(call, 1), _text(call, 2)
    )
    return result


def cast_texts(call: Call, to: int) -> Result:
    """Cast from or to strings, numbers written as Python's shortest text that reads back."""
    import numpy as np
    from onnx import TensorProto, helper

    source = call.value(0)
    if to == TensorProto.STRING:
        return source if is_text(source) else _map(write_number, call.host(0))
    dtype = helper.tensor_dtype_to_np_dtype(to)
    try:
        if dtype.kind in "iu":
            return call.put(_map(_read_int, _text(call, 0), dtype=dtype))
        wide = _map(float, _text(call, 0), dtype=np.float64)
    except (ValueError, OverflowError) as error:
        raise ModelError(f"a string is no {dtype}: {error}") from None
    return call.cast(call.put(wide), dtype)


def _read_int(text: str) -> int:
    return int(text, 0) if text.strip().lower().lstrip("+-").isalnum() else int(float(text))


def parse_number(item: Any, dtype: Any) -> Any:
    """A number, or a text that is one, for an array of a dtype. Raises ModelError if it is none."""
    import numpy as np

    try:
        number = float(item) if dtype.kind == "f" or not isinstance(item, str) else _read_int(item)
        return dtype.type(number if dtype.kind == "f" else np.int64(int(number)))
    except (ValueError, OverflowError) as error:
        raise ModelError(f"{item!r} is no {dtype}: {error}") from None


def write_number(item: Any) -> str:
    """The shortest text that reads back as the number, as ONNX's Cast writes it."""
    import numpy as np

    if isinstance(item, np.bool_ | bool):
        return "1" if item else "0"
    if isinstance(item, np.integer | int):
        return str(int(item))
    if isinstance(item, np.floating):
        text = np.format_float_positional(item, unique=True, trim="-")
        names = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}
        return names.get(text, text)
    if hasattr(item, "__float__"):
        return write_number(np.float32(float(item)))
    raise UnsupportedError(f"{type(item).__name__} has no text")


def _check_texts(size: int) -> None:
    """Raises ResourceExhaustedError for strings that no tensor's size keeps within bounds."""
    if size > _MOST_TEXT:
        raise ResourceExhaustedError(
            f"{size} elements or letters were asked for; at most {_MOST_TEXT} are made"
        )


def concat(call: Call) -> Result:
    """StringConcat: pairs that broadcast."""
    a, b = _text(call, 0), _text(call, 1)
    longest = [max(map(len, side.reshape(-1)), default=0) for side in (a, b)]
    _check_texts(sum(longest) * math.prod(broadcast_shapes(a.shape, b.shape)))
    result: np.ndarray[Any, Any] = _map(lambda one, other: one + other, a, b)
    return result


def regex_full_match(call: Call) -> Result:
    """RegexFullMatch."""
    import numpy as np

    try:
        pattern = re.compile(call.required("pattern"))
    except re.error as error:
        raise UnsupportedError(f"the pattern is none of Python's: {error}") from None
    found = _map(lambda t: pattern.fullmatch(t) is not None, _text(call, 0), dtype=np.bool_)
    return call.put(found)


def split(call: Call) -> Result:
    """StringSplit: the pieces, filled up with empty strings, and their number."""
    import numpy as np

    source = _text(call, 0)
    delimiter, most = call.attribute("delimiter") or None, call.attribute("maxsplit", -1)
    pieces = [item.split(delimiter, most) for item in source.reshape(-1)]
    width = max(map(len, pieces), default=0)
    rows = [[*row, *[""] * (width - len(row))] for row in pieces]
    counts = np.array([len(row) for row in pieces], np.int64).reshape(source.shape)
    return make_texts(rows, (*source.shape, width)), call.put(counts)


def normalize(call: Call) -> Result:
    """StringNormalizer: takes stop words out and changes case."""
    source = _text(call, 0)
    change: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}
    action = call.attribute("case_change_action", "NONE")
    if action not in change:
        raise ModelError(f"case_change_action is {action!r}; expected one of {', '.join(change)}")
    stop = set(call.attribute("stopwords", ()))
    fold: Callable[[str], str] = str
    if not call.attribute("is_case_sensitive", 0):
        fold, stop = str.lower, {word.lower() for word in stop}
    kept = [change[action](item) for item in source.reshape(-1) if fold(item) not in stop]
    lead = source.shape[:-1]
    return make_texts(kept or [""], (*(1 for _ in lead), max(len(kept), 1)))


def tf_idf(call: Call) -> Result:
    """TfIdfVectorizer: how often each n-gram of the pool is in each row, of strings or integers."""
    import numpy as np

    source: Any = call.value(0) if is_text(call.value(0)) else call.host(0)
    pool = call.attribute("pool_strings") or call.required("pool_int64s")
    starts, places = call.required("ngram_counts"), call.required("ngram_indexes")
    weights = np.array(call.attribute("weights") or (1.0,) * len(places), np.float32)
    mode, skips = call.required("mode"), call.required("max_skip_count")
    least, most = call.required("min_gram_length"), call.required("max_gram_length")
    grams: dict[tuple[Any, ...], int] = {}
    for length, begin in enumerate(starts, 1):
        end = starts[length] if length < len(starts) else len(pool)
        for at in range(begin, end, length):
            grams[tuple(pool[at : at + length])] = len(grams)
    if not max(grams.values(), default=-1) < len(places) == len(weights):
        raise ModelError(
            f"ngram_indexes has {len(places)} elements and weights {len(weights)} for "
            f"{len(grams)} n-grams"
        )
    if not 1 <= source.ndim <= 2:
        raise ModelError(f"the input has {source.ndim} dimensions; expected 1 or 2")
    rows = (source if source.ndim == 2 else source[None]).tolist()
    if not places or min(places) < 0:
        raise ModelError("ngram_indexes is empty, or has a number below 0")
    _check_texts(check_size((len(rows), max(places) + 1), 4, "the result"))
    result = np.zeros((len(rows), max(places) + 1), np.float32)
    for row, items in enumerate(rows):
        for found in _grams(items, least, most, skips):
            if found in grams:
                result[row, places[grams[found]]] += 1
    if mode == "IDF":
        result = np.minimum(result, 1)
    if mode != "TF":
        by_place = np.ones(result.shape[1], np.float32)
        by_place[list(places)] = weights
        result = result * by_place
    return call.put(result.reshape(*source.shape[:-1], result.shape[1]))


def _grams(items: list[Any], least: int, most: int, skips: int) -> Iterator[tuple[Any, ...]]:
    """Every n-gram of these lengths whose items stand 1 to skips + 1 places apart."""
    for length in range(max(least, 1), min(most, len(items)) + 1):
        for step in range(1, min(skips + 1, len(items)) + 1 if length > 1 else 2):
            for begin in range(len(items) - step * (length - 1)):
                yield tuple(items[begin : begin + step * length : step][:length])
