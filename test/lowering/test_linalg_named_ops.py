"""Named ops of MLIR's linalg, against NumPy."""

# ruff: noqa: E501 - texts as MLIR prints them

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from linalg_programs import UNITS, Array, run, sample


def tensor(kind: str, array: Array) -> str:
    """The type of an array."""
    return f"tensor<{''.join(f'{extent}x' for extent in array.shape)}{kind}>"


def named(op: str, kinds: tuple[str, ...], arrays: tuple[Array, ...], out: Array, kind: str) -> str:
    """A program of one named op, on top of what `out` holds."""
    names = ", ".join(f"%a{n}" for n in range(len(arrays)))
    types = ", ".join(tensor(k, a) for k, a in zip(kinds, arrays, strict=True))
    taken = ", ".join(
        f"%a{n}: {tensor(k, a)}" for n, (k, a) in enumerate(zip(kinds, arrays, strict=True))
    )
    given = tensor(kind, out)
    return f"""
    func.func @main({taken}, %out: {given}) -> {given} {{
      %r = linalg.{op} ins({names} : {types}) outs(%out : {given}) -> {given}
      return %r : {given}
    }}"""


@pytest.mark.parametrize(
    ("op", "equation"),
    [
        ("matmul", "mk,kn->mn"),
        ("matmul_transpose_a", "km,kn->mn"),
        ("matmul_transpose_b", "mk,nk->mn"),
        ("batch_matmul", "bmk,bkn->bmn"),
        ("batch_matmul_transpose_b", "bmk,bnk->bmn"),
        ("batch_reduce_matmul", "bmk,bkn->mn"),
        ("batch_matvec", "bmk,bk->bm"),
        ("matvec", "mk,k->m"),
        ("vecmat", "k,kn->n"),
        ("dot", "k,k->"),
        ("mmt4d", "mkxz,nkyz->mnxy"),
    ],
)
def test_contraction(op: str, equation: str) -> None:
    extents = {"b": 3, "m": 5, "k": 7, "n": 6, "x": 2, "y": 4, "z": 3}
    shapes = [[extents[c] for c in part] for part in equation.replace("->", ",").split(",")]
    a, b, out = (sample("f64", *shape, seed=n) for n, shape in enumerate(shapes))
    text = named(op, ("f64", "f64"), (a, b), out, "f64")
    np.testing.assert_allclose(run(text, a, b, out), out + np.einsum(equation, a, b), rtol=1e-12)


def test_mixed_types_of_a_product() -> None:
    a, b = sample("i8", 5, 33), sample("i8", 33, 4)
    out = sample("i32", 5, 4)
    wanted = out + a.astype(np.int32) @ b.astype(np.int32)
    np.testing.assert_array_equal(
        run(named("matmul", ("i8", "i8"), (a, b), out, "i32"), a, b, out), wanted
    )
    x, y, z = sample("f16", 5, 33), sample("f16", 33, 4), sample("f32", 5, 4)
    made = run(named("matmul", ("f16", "f16"), (x, y), z, "f32"), x, y, z)
    np.testing.assert_allclose(made, z + x.astype("f") @ y.astype("f"), rtol=1e-5, atol=1e-5)


def windows(x: Array, size: tuple[int, int], strides: Any, dilations: Any) -> Array:
    """Of an NHWC image: N, lines, columns, window, window, channels."""
    n, h, w, c = x.shape
    oh, ow = (
        (e - (k - 1) * d - 1) // s + 1
        for e, k, s, d in zip((h, w), size, strides, dilations, strict=True)
    )
    made = np.empty((n, oh, ow, *size, c), x.dtype)
    for i, j, p, q in np.ndindex(oh, ow, *size):
        made[:, i, j, p, q] = x[
            :, i * strides[0] + p * dilations[0], j * strides[1] + q * dilations[1]
        ]
    return made


@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("dilations", [(1, 1), (2, 1)])
def test_convolutions(strides: tuple[int, int], dilations: tuple[int, int]) -> None:
    x, w = sample("f64", 2, 9, 11, 3), sample("f64", 3, 2, 3, 4)
    parts = windows(x, (3, 2), strides, dilations)
    wanted = np.einsum("nhwpqc,pqcf->nhwf", parts, w)
    attributes = f"{{dilations = dense<{list(dilations)}> : tensor<2xi64>, strides = dense<{list(strides)}> : tensor<2xi64>}}"
    zero = np.zeros_like(wanted)
    text = named(f"conv_2d_nhwc_hwcf {attributes}", ("f64", "f64"), (x, w), zero, "f64")
    np.testing.assert_allclose(run(text, x, w, zero), wanted, rtol=1e-12)
    turned, kernel, out = (
        np.ascontiguousarray(a)
        for a in (x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), zero.transpose(0, 3, 1, 2))
    )
    text = named(f"conv_2d_nchw_fchw {attributes}", ("f64", "f64"), (turned, kernel), out, "f64")
    np.testing.assert_allclose(
        run(text, turned, kernel, out), wanted.transpose(0, 3, 1, 2), rtol=1e-12
    )
    depth = sample("f64", 3, 2, 3)
    out = np.zeros((*wanted.shape[:3], 3))
    text = named(f"depthwise_conv_2d_nhwc_hwc {attributes}", ("f64", "f64"), (x, depth), out, "f64")
    np.testing.assert_allclose(
        run(text, x, depth, out), np.einsum("nhwpqc,pqc->nhwc", parts, depth), rtol=1e-12
    )
    size = np.zeros((3, 2))
    for op, wanted in (("sum", parts.sum((3, 4))), ("max", parts.max((3, 4)))):
        begin = np.full_like(wanted, 0 if op == "sum" else -np.inf)
        text = named(f"pooling_nhwc_{op} {attributes}", ("f64", "f64"), (x, size), begin, "f64")
        np.testing.assert_allclose(run(text, x, size, begin), wanted, rtol=1e-12)


ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "exp": np.exp,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "negf": np.negative,
    "square": np.square,
    "tanh": np.tanh,
    "reciprocal": np.reciprocal,
    "copy": np.copy,
}


@pytest.mark.parametrize("op", ELEMENTWISE)
@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
def test_elementwise(op: str, kind: str) -> None:
    function = ELEMENTWISE[op]
    count = 2 if op in ("add", "sub", "mul", "div", "max", "min") else 1
    arrays = tuple(sample(kind, 3, 7, seed=n) for n in range(count))
    text = named(op, (kind,) * count, arrays, arrays[0], kind)
    made = run(text, *arrays, arrays[0])
    np.testing.assert_allclose(made, function(*arrays), rtol=4 * UNITS[kind])
