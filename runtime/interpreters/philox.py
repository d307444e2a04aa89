"""Random numbers over NumPy: philox4x32-10 and the distributions made of its words.

Interpreters of layers above `materialize-random-state` draw from a stream that counts draws, as the
pass counts them in the program's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import pi, prod
from typing import Any

import numpy as np

from lamina.runtime.interpreters.aten_ops.registry import Call
from lamina.runtime.interpreters.values import Array
from lamina.runtime.random_state import State, make_state

Words = list[np.ndarray[Any, np.dtype[np.uint64]]]
"""32-bit words, kept in 64 bits."""

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)

_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}

_STREAM: ContextVar[State] = ContextVar("random_stream")


@contextmanager
def stream(seed: int = 0) -> Iterator[State]:
    """A fresh stream for the draws inside."""
    state = make_state(seed)
    token = _STREAM.set(state)
    try:
        yield state
    finally:
        _STREAM.reset(token)


def philox(counter: Sequence[Array], key: Sequence[int]) -> Words:
    """philox4x32-10 of four counter words and two key words, after the paper's definition."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    k0, k1 = key
    for _ in range(10):
        first, second = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1 = (second >> _HALF) ^ c1 ^ np.uint64(k0), second & _WORD
        c2, c3 = (first >> _HALF) ^ c3 ^ np.uint64(k1), first & _WORD
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return [c0, c1, c2, c3]


def numbers(
    state: Array, shape: Sequence[int], distribution: str, offset: int, dtype: str
) -> Array:
    """`prims.philox`; half floats as f32."""
    seed, counter = (int(word) & ((1 << 64) - 1) for word in state)
    draw = (counter + offset) & ((1 << 64) - 1)
    position = np.arange(prod(shape), dtype=np.uint64)
    draw_words = [np.full_like(position, word) for word in (draw & 0xFFFFFFFF, draw >> 32)]
    key = (seed & 0xFFFFFFFF, seed >> 32)
    words = philox([position & _WORD, position >> _HALF, *draw_words], key)
    return _DISTRIBUTIONS[distribution](words, dtype).reshape(tuple(shape))


def _uniform(words: Words, dtype: str) -> Array:
    return _fraction(words[0], words[1], _DIGITS[dtype], dtype)


def _normal(words: Words, dtype: str) -> Array:
    if dtype == "float64":
        radius = _fraction(words[0], words[1], 53, dtype) + 2.0**-53
        turn = _fraction(words[2], words[3], 53, dtype)
    else:
        radius = _fraction(words[0], words[1], 31, dtype) + np.float32(2.0**-32)
        turn = _fraction(words[1], words[2], 24, dtype)
    angle = turn.dtype.type(2 * pi) * turn
    return np.sqrt(turn.dtype.type(-2) * np.log(radius)) * np.cos(angle)


def _fraction(
    high: np.ndarray[Any, np.dtype[np.uint64]],
    low: np.ndarray[Any, np.dtype[np.uint64]],
    digits: int,
    dtype: str,
) -> Array:
    bits = ((high << _HALF) | low) >> np.uint64(64 - digits)
    made = bits.astype(np.float64 if dtype == "float64" else np.float32)
    return made * made.dtype.type(2.0**-digits)


_DISTRIBUTIONS: dict[str, Callable[[Words, str], Array]] = {
    "uniform": _uniform,
    "normal": _normal,
}


def run_philox(a: Call) -> Array:
    """`prims.philox`."""
    dtype = a.storage_dtype.name
    return numbers(a["state"], a.shape, a["distribution"], a["offset"], dtype)


def run_uniform(a: Call) -> Array:
    """`prims.uniform`: the next draw."""
    return _draw_for(a, "uniform") * a.dtype.type(a["high"] - a["low"]) + a.dtype.type(a["low"])


def run_normal(a: Call) -> Array:
    """`prims.normal`: the next draw."""
    return _draw_for(a, "normal") * a.dtype.type(a["std"]) + a.dtype.type(a["mean"])


def _draw_for(a: Call, distribution: str) -> Array:
    return draw(a["shape"], distribution, a.storage_dtype.name)


def draw(shape: Sequence[int], distribution: str, dtype: str) -> Array:
    """The stream's next numbers."""
    state = _STREAM.get()
    made = numbers(state, shape, distribution, 0, dtype)
    state[1] += 1
    return made
