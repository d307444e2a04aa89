"""What moves, reduces and multiplies tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from stablehlo_case import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    Case,
    Function,
    array,
    case,
)


def shapes() -> Iterator[Case]:
    """What moves elements, over types."""
    for kind in ("float32", "int8", "bool", "bfloat16", "complex64", "uint64"):
        x = array(kind, (4, 6))
        zero = np.zeros((), x.dtype)
        yield case("reshape", lambda x: lax.reshape(x, (3, 8)), x)
        yield case("transpose", lambda x: lax.transpose(x, (1, 0)), x)
        yield case("rev", lambda x: lax.rev(x, (0, 1)), x)
        yield case("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 4, 6), (1, 2)), x)
        yield case("slice", lambda x: lax.slice(x, (1, 0), (4, 6), (2, 3)), x)
        yield case("slice", lambda x: lax.slice(x, (1, 2), (1, 6)), x, empty=1)
        yield case("concatenate", lambda x: lax.concatenate([x, x, x], 1), x)
        for amounts in (((1, 2, 0), (0, 0, 0)), ((-1, 0, 2), (1, -2, 1)), ((0, 0, 1), (-3, -1, 0))):
            yield case("pad", lambda x, z, a=amounts: lax.pad(x, z, a), x, zero, amounts=amounts)
        yield case("select", lambda p, x: lax.select(p, x, x[::-1]), array("bool", (4, 6)), x)
        yield case(
            "iota", lambda x: x[:0].sum() * 0 + lax.iota(jnp.int32, 5).sum().astype(x.dtype), x
        )
        yield case("tile", lambda x: jnp.tile(x, (2, 3)), x)
        yield case("roll", lambda x: jnp.roll(x, 2, 1), x)
    yield case("clamp", lax.clamp, np.float32(-1), array("float32", (9,)), np.float32(1))
    yield case(
        "pad", lambda x: lax.pad(x, jnp.float32(jnp.inf), ((1, 1, 1),)), array("float32", (5,))
    )


def reductions() -> Iterator[Case]:
    """Over axes, of types that each takes."""
    table: dict[str, tuple[Function, tuple[str, ...]]] = {
        "sum": (jnp.sum, NUMBERS),
        "prod": (jnp.prod, ("float32", "float64", "int32", "uint8", "complex64")),
        "max": (jnp.max, (*FLOATS, *INTEGERS, "bool")),
        "min": (jnp.min, (*FLOATS, *INTEGERS, "bool")),
        "argmax": (jnp.argmax, (*FLOATS, *INTEGERS, "bool")),
        "argmin": (jnp.argmin, (*FLOATS, *INTEGERS, "bool")),
        "all": (jnp.all, ("bool", "int32")),
        "any": (jnp.any, ("bool", "float32")),
        "var": (jnp.var, ("float32", "float64")),
        "logsumexp": (jax.nn.logsumexp, ("float32", "bfloat16")),
    }
    for name, (function, kinds) in table.items():
        for place, kind in enumerate(kinds):
            axis = (0, 1, -1, None)[place % 4]
            x = array(kind, (3, 4, 7))
            yield case(name, lambda x, f=function, a=axis: f(x, axis=a), x, axis=axis)
    withnan = np.array([[1, np.nan, 3], [4, 5, -np.inf]], np.float32)
    for name in ("argmax", "argmin", "max", "min"):
        yield case(name, lambda x, f=table[name][0]: f(x, axis=1), withnan, values="nan")
    for name, function in (("reduce_xor", lax.bitwise_xor), ("reduce_and", lax.bitwise_and)):
        for kind in ("int32", "uint8", "bool"):
            start = np.array(0 if name == "reduce_xor" else -1).astype(kind)
            yield case(
                name, lambda x, f=function, s=start: lax.reduce(x, s, f, (1,)), array(kind, (3, 5))
            )
    yield case(
        "reduce_pair",
        lambda x, y: lax.reduce(
            (x, y), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)
        ),
        array("float32", (5, 3)),
        array("float32", (5, 3), 1),
    )
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for kind in ("float32", "int32", "uint8", "bfloat16", "complex64")[
            : 1 if name == "cumlogsumexp" else 5
        ]:
            for reverse in (False, True):
                yield case(
                    name,
                    lambda x, n=name, r=reverse: getattr(lax, n)(x, axis=1, reverse=r),
                    array(kind, (3, 8), low=-1, high=1),
                    reverse=reverse,
                )


def windows() -> Iterator[Case]:
    """Pooling and its gradients."""
    combiners: dict[str, tuple[Any, Any]] = {
        "max": (-np.inf, lax.max),
        "min": (np.inf, lax.min),
        "add": (0.0, lax.add),
        "mul": (1.0, lax.mul),
    }
    options = (
        ((2, 2), (1, 1), "VALID", (1, 1), (1, 1)),
        ((2, 3), (2, 1), "SAME", (1, 1), (1, 1)),
        ((2, 2), (1, 2), ((1, 0), (2, 1)), (1, 1), (1, 2)),
        ((2, 2), (1, 1), ((0, 1), (1, 0)), (2, 1), (1, 1)),
    )
    for name, (start, combine) in combiners.items():
        for window, strides, padding, base, dilation in options:

            def pool(
                x: Any,
                s: Any = start,
                c: Any = combine,
                o: Any = (window, strides, padding, base, dilation),
            ) -> Any:
                return lax.reduce_window(x, s, c, o[0], o[1], o[2], o[3], o[4])

            yield case(
                f"window_{name}",
                pool,
                array("float32", (5, 6)),
                o=(window, strides, base, dilation),
            )
        yield case(
            f"window_{name}",
            lambda x, c=combine: lax.reduce_window(x, np.int32(0), c, (2,), (1,), "VALID"),
            array("int32", (6,)),
        )
    for padding in ("VALID", "SAME"):
        for combine, start in ((lax.max, -np.inf), (lax.min, np.inf), (lax.add, 0.0)):

            def loss(x: Any, c: Any = combine, s: Any = start, p: str = padding) -> Any:
                return (lax.reduce_window(x, s, c, (1, 3, 3, 1), (1, 2, 2, 1), p) ** 2).sum()

            yield case(
                "window_grad",
                jax.grad(loss),
                array("float32", (2, 7, 7, 3)),
                padding=padding,
                c=combine.__name__,
            )


def products() -> Iterator[Case]:
    """Contractions over dimension numbers and types; convolutions over windows and layouts."""
    numbers = ((((1,), (0,)), ((), ())), (((0,), (1,)), ((), ())), (((), ()), ((), ())))
    for kind in (
        "float32",
        "float64",
        "bfloat16",
        "float16",
        "int32",
        "uint8",
        "complex64",
        "bool",
    ):
        for n in numbers:
            a, b = (array(kind, (4, 5), 1), array(kind, (5, 4), 2))
            yield case("dot_general", lambda a, b, n=n: lax.dot_general(a, b, n), a, b, n=n)
    yield case(
        "dot_general",
        lambda a, b: lax.dot_general(a, b, (((3,), (1,)), ((0, 1), (2, 0)))),
        array("float32", (2, 3, 4, 5)),
        array("float32", (3, 5, 2, 6)),
    )
    yield case(
        "dot_wide",
        lambda a, b: lax.dot_general(
            a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32
        ),
        array("int8", (3, 4)),
        array("int8", (4, 5)),
    )
    yield case(
        "dot_wide",
        lambda a, b: lax.dot_general(
            a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32
        ),
        array("bfloat16", (3, 4)),
        array("bfloat16", (4, 5)),
    )
    yield case(
        "einsum",
        lambda a, b: jnp.einsum("bij,bkj->bik", a, b),
        array("float32", (2, 3, 4)),
        array("float32", (2, 5, 4)),
    )
    # Without negative padding, where XLA's own convolutions of several channels are wrong.
    table = (
        ("NCHW", "OIHW", "NCHW", (1, 1), "SAME", (1, 1), (1, 1), 1, 1),
        ("NHWC", "HWIO", "NHWC", (2, 1), "VALID", (1, 1), (1, 1), 1, 1),
        ("NHWC", "HWIO", "NCHW", (1, 1), ((1, 2), (0, 1)), (1, 1), (2, 1), 1, 1),
        ("NCHW", "OIHW", "NCHW", (1, 1), ((2, 1), (1, 1)), (2, 2), (1, 1), 1, 1),
        ("NCHW", "OIHW", "NCHW", (1, 2), "SAME", (1, 1), (1, 1), 2, 1),
        ("NCHW", "OIHW", "NCHW", (1, 1), "SAME", (1, 1), (1, 1), 1, 2),
    )
    for place, (lhs, rhs, out, stride, padding, left, right, groups, batches) in enumerate(table):
        for kind in ("float32", "bfloat16", "float64", "int32")[: 4 if place == 0 else 1]:
            image = {"N": 2, "C": 4, "H": 6, "W": 7}
            kernel = {"O": 4, "I": 4 // groups, "H": 3, "W": 2}
            x = array(kind, tuple(image[c] for c in lhs), 1)
            w = array(kind, tuple(kernel[c] for c in rhs), 2)

            def conv(
                x: Any,
                w: Any,
                o: Any = (stride, padding, left, right, (lhs, rhs, out), groups, batches),
            ) -> Any:
                return lax.conv_general_dilated(x, w, o[0], o[1], o[2], o[3], o[4], o[5], o[6])

            yield case("conv", conv, x, w, place=place)
    yield case(
        "conv1d",
        lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME"),
        array("float32", (2, 3, 9)),
        array("float32", (4, 3, 3)),
    )
    yield case(
        "conv3d",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "SAME"),
        array("float32", (1, 2, 4, 5, 3)),
        array("float32", (3, 2, 2, 2, 2)),
    )
    yield case(
        "conv_transpose",
        lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
        array("float32", (1, 4, 4, 2)),
        array("float32", (3, 3, 2, 3)),
    )
    yield case(
        "conv_grad",
        jax.grad(lambda w, x: (lax.conv(x, w, (1, 1), "SAME") ** 2).sum()),
        array("float32", (4, 3, 3, 3)),
        array("float32", (2, 3, 6, 6)),
    )
