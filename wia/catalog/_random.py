"""Random numbers by position: Philox4x32 with 10 rounds, the same on every device.

After Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). The key
is the seed, its low 32 bits first. Element i of a result takes word i % 4 of the block whose
counter is i / 4 plus the offset, in 64 bits, its low 32 bits first; the upper two words of the
counter are 0. So an offset of a quarter of the elements, rounded up, goes on where a call ended.
"""

from __future__ import annotations

from typing import Any

from ._numeric import ScalarError

_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_MASK = 0xFFFFFFFF
_LARGEST = 2**53


def philox(np: Any, counter: Any, key: tuple[int, int]) -> Any:
    """Blocks of four random words: uint32 [n, 4] for counters of uint32 [n, 4]."""
    words = [counter[:, i].astype(np.uint64) for i in range(4)]
    mask, half = np.uint64(_MASK), np.uint64(32)
    left, right = key
    for _ in range(_ROUNDS):
        first = words[0] * np.uint64(_MULTIPLIERS[0])
        second = words[2] * np.uint64(_MULTIPLIERS[1])
        words = [
            (second >> half) ^ words[1] ^ np.uint64(left),
            second & mask,
            (first >> half) ^ words[3] ^ np.uint64(right),
            first & mask,
        ]
        left, right = (left + _WEYL[0]) & _MASK, (right + _WEYL[1]) & _MASK
    return np.stack(words, axis=1).astype(np.uint32)


def random_words(np: Any, count: int, seed: float, offset: float = 0.0) -> Any:
    """uint32 words of the first ``count`` elements of a result."""
    key, start = _whole("seed", seed), _whole("offset", offset)
    block = np.arange(-(-count // 4), dtype=np.uint64) + np.uint64(start)
    counter = np.zeros((block.size, 4), np.uint32)
    counter[:, 0] = block & np.uint64(_MASK)
    counter[:, 1] = block >> np.uint64(32)
    return philox(np, counter, (key & _MASK, key >> 32)).reshape(-1)[:count]


def uniform(np: Any, words: Any) -> Any:
    """Floats of 24 random bits from words: multiples of 2**-24 in [0, 1), as float64."""
    return (words >> np.uint32(8)).astype(np.float64) * 2.0**-24


def _whole(name: str, value: float) -> int:
    if not (float(value).is_integer() and 0 <= value <= _LARGEST):
        raise ScalarError(f"{name} is {value}; expected a whole number from 0 to 2**53")
    return int(value)
