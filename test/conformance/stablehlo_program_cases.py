"""Indexing, order, factorizations, control flow, random numbers, and what people write."""

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
    Case,
    Function,
    array,
    case,
)


def indexing() -> Iterator[Case]:
    """Reads and writes at places that are data, inside and outside."""
    inside, outside = np.array([[0, 2], [3, 1]], np.int32), np.array([-9, 1, 40, -1], np.int32)
    for kind in ("float32", "int8", "bool", "bfloat16", "complex64", "uint32"):
        x, u = array(kind, (5, 6)), array(kind, (4, 6), 3)
        yield case("take", lambda x, i: jnp.take(x, i, axis=0), x, inside)
        yield case(
            "take_along",
            lambda x, i: jnp.take_along_axis(x, i, axis=1),
            x,
            np.tile(np.arange(3, dtype=np.int32), (5, 1)),
        )
        yield case("index", lambda x, i: x[i[0], :, None], x, inside)
        for mode in ("clip", "fill", "wrap"):
            yield case(
                "take", lambda x, i, m=mode: jnp.take(x, i, axis=0, mode=m), x, outside, mode=mode
            )
        yield case(
            "dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i[0], i[2]), (2, 3)), x, outside
        )
        yield case(
            "dynamic_update",
            lambda x, u, i: lax.dynamic_update_slice(x, u[:2, :2], (i[1], i[2])),
            x,
            u,
            outside,
        )
        methods = ("set",) if kind == "bool" else ("set", "add", "multiply", "min", "max")
        for method in methods if kind != "complex64" else ("set", "add"):
            for indices in (
                np.array([0, 2, 4, 3], np.int32),
                np.array([0, 2, 2, 0], np.int32),
                outside,
            ):
                if method == "set" and indices[1] == indices[2]:
                    continue
                yield case(
                    "scatter_" + method,
                    lambda x, u, i, m=method: getattr(x.at[i], m)(u),
                    x,
                    u,
                    indices,
                    i=indices.tolist(),
                )
    yield case(
        "gather_batched",
        jax.vmap(lambda x, i: x[i]),
        array("float32", (3, 5)),
        np.array([[0, 1], [4, 2], [3, 3]], np.int32),
    )
    yield case(
        "scatter_batched",
        jax.vmap(lambda x, i, u: x.at[i].add(u)),
        array("float32", (3, 5)),
        np.array([[0, 1], [4, 4], [3, 3]], np.int32),
        array("float32", (3, 2)),
    )
    yield case(
        "segment_sum",
        lambda x, i: jax.ops.segment_sum(x, i, 4),
        array("float32", (6, 3)),
        np.array([0, 0, 1, 3, 3, 3], np.int32),
    )
    yield case(
        "boolean", lambda x: jnp.where(x > 0, x, 0)[jnp.array([1, 0])], array("float32", (3, 4))
    )


def ordering() -> Iterator[Case]:
    """Sorts, their permutations, the first ones."""
    for kind in (*FLOATS, *INTEGERS, "bool"):
        x = array(kind, (4, 9), low=-100, high=100)
        yield case("sort", lambda x: lax.sort(x, dimension=1), x)
        yield case("argsort", lambda x: jnp.argsort(x, axis=0), x)
        yield case("argsort_down", lambda x: jnp.argsort(x, axis=1, descending=True), x)
        if kind != "bool":
            yield case("top_k", lambda x: lax.top_k(x, 3), x)
    special = np.array([np.nan, -np.inf, 0.0, -0.0, np.inf, 1, -np.nan], np.float32)
    yield case("sort", lambda x: lax.sort(x), special, values="special")
    yield case("argsort", lambda x: jnp.argsort(x), special, values="special")
    a, b = array("int32", (20,), 1), array("float32", (20,), 2)
    yield case("sort_pair", lambda a, b: lax.sort((a, b), num_keys=2), a, b)
    yield case("sort_key", lambda a, b: lax.sort((a, b), num_keys=1, is_stable=True), a, b)
    yield case("sort", lambda x: lax.sort(x), array("complex64", (7,)))
    yield case("searchsorted", lambda a, b: jnp.searchsorted(jnp.sort(a), b), b, b[:5])
    yield case("median", jnp.median, array("float32", (3, 7)))
    yield case("unique", lambda x: jnp.unique(x, size=5), a)


def transforms() -> Iterator[Case]:
    """Fourier transforms, factorizations, systems."""
    for n in (8, 15, 1, 37):
        z, x = array("complex64", (3, n)), array("float32", (3, n))
        yield case("fft", jnp.fft.fft, z)
        yield case("ifft", jnp.fft.ifft, z)
        yield case("rfft", jnp.fft.rfft, x)
        yield case("irfft", lambda z, n=n: jnp.fft.irfft(z, n), z[:, : n // 2 + 1])
    yield case("fft2", jnp.fft.fft2, array("complex64", (2, 4, 6)))
    for kind in ("float32", "float64", "complex64"):
        m = array(kind, (2, 4, 4))
        spd = m @ np.conj(np.swapaxes(m, -1, -2)) + 4 * np.eye(4, dtype=m.dtype)
        y = array(kind, (2, 4, 3), 5)
        yield case("cholesky", jnp.linalg.cholesky, spd)
        yield case("solve", jnp.linalg.solve, spd, y)
        yield case("inv", jnp.linalg.inv, spd)
        yield case("det", jnp.linalg.det, spd)
        yield case("qr", lambda m: abs(jnp.linalg.qr(m)[1]), m)
        yield case("eigvalsh", jnp.linalg.eigvalsh, spd)
        yield case("svdvals", lambda m: jnp.linalg.svd(m, compute_uv=False), m)
        for lower in (False, True):
            for trans in (0, 1):
                yield case(
                    "triangular",
                    lambda a, b, lo=lower, t=trans: jax.scipy.linalg.solve_triangular(
                        a, b, lower=lo, trans=t
                    ),
                    spd,
                    y,
                    lower=lower,
                    trans=trans,
                )


def control() -> Iterator[Case]:
    """Branches, loops, and their derivatives."""
    x = array("float32", (6, 4))
    yield case("cond", lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), x)
    for n in (-1, 0, 1, 2, 9):
        yield case(
            "switch",
            lambda x, i: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * 2], x),
            x,
            np.int32(n),
            n=n,
        )
    yield case(
        "while",
        lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 1.5), (0, x)),
        x,
    )
    yield case("fori", lambda x: lax.fori_loop(0, 4, lambda i, c: c + x[i], jnp.zeros(4)), x)
    yield case("scan", lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c), jnp.zeros(4), x), x)
    yield case(
        "scan_grad",
        jax.grad(
            lambda x: lax.scan(lambda c, y: (jnp.tanh(c + y), None), jnp.zeros(4), x)[0].sum()
        ),
        x,
    )
    yield case("map", lambda x: lax.map(lambda r: r / r.sum(), x), x)
    yield case("associative_scan", lambda x: lax.associative_scan(jnp.add, x), x)
    yield case(
        "nested",
        lambda x: lax.fori_loop(
            0,
            2,
            lambda i, c: lax.cond(
                i == 0, lambda c: c + 1, lambda c: lax.fori_loop(0, 2, lambda j, d: d * 2, c), c
            ),
            x,
        ),
        x,
    )
    yield case(
        "literals", lambda x: lax.fori_loop(0, 2, lambda i, c: c + jnp.array([1.0, 2, 3, 4]), x), x
    )
    yield case("custom_jvp", jax.grad(lambda x: jax.nn.relu(x).sum()), x)
    yield case("remat", jax.grad(lambda x: jax.checkpoint(jnp.sin)(x).sum()), x)
    yield case("pjit", lambda x: jax.jit(jnp.sin)(jax.jit(jnp.cos)(x)), x)


def random() -> Iterator[Case]:
    """Numbers of threefry keys, bit for bit those of JAX."""
    key = np.array([3, 4], np.uint32)
    draws: dict[str, Function] = {
        "bits": lambda k: jax.random.bits(k, (7,)),
        "uniform": lambda k: jax.random.uniform(k, (7,)),
        "normal": lambda k: jax.random.normal(k, (5, 3)),
        "randint": lambda k: jax.random.randint(k, (9,), 0, 10),
        "split": lambda k: jax.random.split(k, 3),
        "permutation": lambda k: jax.random.permutation(k, 10),
        "bernoulli": lambda k: jax.random.bernoulli(k, 0.3, (9,)),
        "categorical": lambda k: jax.random.categorical(k, jnp.arange(5.0), shape=(4,)),
        "gamma": lambda k: jax.random.gamma(k, 2.0, (3,)),
    }
    for name, draw in draws.items():
        yield case(f"random_{name}", draw, key)
    yield case(
        "rng_bit_generator",
        lambda k: lax.rng_bit_generator(k, (4,))[1],
        np.arange(4, dtype=np.uint32),
    )


def networks() -> Iterator[Case]:
    """What people write: layers, losses, gradients."""
    x, w = array("float32", (4, 8)), array("float32", (8, 8), 1)
    layers: dict[str, Function] = {
        "mlp": lambda x, w: jax.nn.softmax(jax.nn.relu(x @ w) @ w),
        "gelu": lambda x, w: jax.nn.gelu(x @ w),
        "silu": lambda x, w: jax.nn.silu(x @ w),
        "layer_norm": lambda x, w: (
            (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) @ w
        ),
        "attention": lambda x, w: jax.nn.softmax((x @ w) @ (x @ w).T / 3) @ (x @ w),
        "masked": lambda x, w: (
            jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((4, 4), bool)), x @ x.T, -1e9)) @ x @ w
        ),
        "one_hot": lambda x, w: jax.nn.one_hot(jnp.argmax(x, 1), 8) @ w,
        "log_softmax": lambda x, w: jax.nn.log_softmax(x @ w),
        "norm": lambda x, w: jnp.linalg.norm(x @ w, axis=1),
        "outer": lambda x, w: jnp.einsum("ij,kj->ikj", x, w).mean(),
        "lstm": lambda x, w: lax.scan(lambda h, r: (jnp.tanh(r + h @ w), h), jnp.zeros(8), x),
        "vmap": lambda x, w: jax.vmap(lambda r: jnp.sort(w @ r))(x),
        "half": lambda x, w: (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32),
        "kron": lambda x, w: jnp.kron(x, w[:2, :2]),
        "interp": lambda x, w: jnp.interp(x[0], jnp.sort(w[0]), w[1]),
        "resize": lambda x, w: jax.image.resize(x, (7, 5), "bilinear"),
        "convolve": lambda x, w: jnp.convolve(x[0], w[0]),
        "histogram": lambda x, w: jnp.histogram(x, bins=5, range=(-3, 3))[0],
        "quantile": lambda x, w: jnp.quantile(x, 0.3, axis=1),
        "nan_to_num": lambda x, w: jnp.nan_to_num(jnp.log(x)),
        "floor_divide": lambda x, w: jnp.floor_divide(x, w[:4]) + jnp.mod(x, w[:4]),
        "cross": lambda x, w: jnp.cross(x[:, :3], w[:4, :3]),
        "trapezoid": lambda x, w: jnp.trapezoid(x, axis=1),
        "polyval": lambda x, w: jnp.polyval(w[0], x),
    }
    for name, layer in layers.items():
        yield case(f"nn_{name}", layer, x, w)
    for name in (
        "mlp",
        "gelu",
        "layer_norm",
        "attention",
        "masked",
        "log_softmax",
        "norm",
        "lstm",
        "vmap",
    ):

        def loss(x: Any, w: Any, f: Function = layers[name]) -> Any:
            return sum((leaf**2).sum() for leaf in jax.tree.leaves(f(x, w)))

        yield case(f"grad_{name}", jax.grad(loss, argnums=(0, 1)), x, w)
    yield case("hessian", jax.hessian(lambda x: jnp.sin(x).prod()), array("float32", (3,)))
    yield case("jvp", lambda x, v: jax.jvp(jnp.tanh, (x,), (v,)), x, x)
    for name in ("gammainc", "gammaincc", "betainc", "expi", "i0", "ndtr", "polygamma", "zeta"):
        function = getattr(jax.scipy.special, name)
        count = {"betainc": 3, "expi": 1, "i0": 1, "ndtr": 1}.get(name, 2)
        args = [array("float32", (5,), n, low=0.1, high=0.9) for n in range(count)]
        args = [np.full(5, 2, np.float32), *args[1:]] if name == "polygamma" else args
        args = [args[0] + 1.5, *args[1:]] if name == "zeta" else args
        yield case(f"special_{name}", function, *args)
