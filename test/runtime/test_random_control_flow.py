"""Random programs of nested branches and loops: native code against the interpreter of `aten`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.lowering.pipeline import LAYERS
from lamina.runtime.compile import as_target, compile_module
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse

SHAPES = ("4x8", "8", "")
UNARY = ("tanh", "sin", "neg", "relu", "sigmoid")


class Writer:
    """Writes a program of tensors of a few shapes, whose values stay small."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self, values: Sequence[tuple[str, str]], shape: str | None = None) -> tuple[str, str]:
        fitting = [v for v in values if shape is None or v[1] == shape]
        return self.draw(st.sampled_from(fitting))

    def block(self, values: list[tuple[str, str]], depth: int, steps: int) -> list[str]:
        """Lines of ops that add to `values`, which has a tensor of each shape."""
        lines: list[str] = []
        kinds = ["unary", "unary", "binary", "product", "sum"]
        kinds += ["cond", "while", "scan", "map"] if depth else []
        for _ in range(self.draw(st.integers(1, steps))):
            kind = self.draw(st.sampled_from(kinds))
            lines += getattr(self, f"_{kind}")(values, depth)
        return lines

    def _unary(self, values: list[tuple[str, str]], depth: int) -> list[str]:
        (x, s), r = self.pick(values), self.name()
        op = self.draw(st.sampled_from(UNARY))
        values.append((r, s))
        return [f"{r} = aten.{op}.default({x}) : ({_t(s)}) -> {_t(s)}"]

    def _binary(self, values: list[tuple[str, str]], depth: int) -> list[str]:
        (x, s), r = self.pick(values), self.name()
        y, _ = self.pick(values, s)
        values.append((r, s))
        op = self.draw(st.sampled_from(("maximum.default", "sub.Tensor", "mul.Tensor")))
        t = self.name()
        first = f"{t} = aten.{op}({x}, {y}) : ({_t(s)}, {_t(s)}) -> {_t(s)}"
        return [first, f"{r} = aten.tanh.default({t}) : ({_t(s)}) -> {_t(s)}"]

    def _product(self, values: list[tuple[str, str]], depth: int) -> list[str]:
        (x, _), t, u, r = self.pick(values, "4x8"), self.name(), self.name(), self.name()
        values.append((r, "4x8"))
        return [
            f"{t} = aten.t.default({x}) : ({_t('4x8')}) -> {_t('8x4')}",
            f"{u} = aten.mm.default({t}, {x}) : ({_t('8x4')}, {_t('4x8')}) -> {_t('8x8')}",
            f"{t}w = aten.mm.default({x}, {u}) : ({_t('4x8')}, {_t('8x8')}) -> {_t('4x8')}",
            f"{r} = aten.tanh.default({t}w) : ({_t('4x8')}) -> {_t('4x8')}",
        ]

    def _sum(self, values: list[tuple[str, str]], depth: int) -> list[str]:
        """Reductions that are seen under another shape."""
        (x, _), r, q = self.pick(values, "4x8"), self.name(), self.name()
        values += [(r, "8"), (q, "")]
        return [
            f"{r}k = aten.mean.dim({x}, dim = [0], keepdim = true) : ({_t('4x8')}) -> {_t('1x8')}",
            f"{r} = aten.view.default({r}k, size = [8]) : ({_t('1x8')}) -> {_t('8')}",
            f"{q}k = aten.amax.default({r}k, dim = [1], keepdim = true) "
            f": ({_t('1x8')}) -> {_t('1x1')}",
            f"{q} = aten.view.default({q}k, size = []) : ({_t('1x1')}) -> {_t('')}",
        ]

    def _inputs(self, values: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [self.pick(values, s) for s in SHAPES] + [self.pick(values)]

    def _region(
        self, kinds: Sequence[str], results: Sequence[str], depth: int, predicate: bool = False
    ) -> list[str]:
        """A region of arguments of these shapes, each of `SHAPES` among them."""
        arguments = [(self.name(), kind) for kind in kinds]
        values = list(arguments)
        lines = self.block(values, depth - 1, 3)
        given = [self.pick(values, kind) for kind in results]
        head = f"^bb0({', '.join(f'{n}: {_t(k)}' for n, k in arguments)}):"
        if predicate:
            (x, _), r = self.pick(values, ""), self.name()
            lines.append(f"{r} = aten.gt.Scalar({x}, other = 0.1) : ({_t('')}) -> tensor<i1>")
            return [head, *lines, f"control.yield {r} : tensor<i1>"]
        names, types = ", ".join(n for n, _ in given), ", ".join(_t(k) for _, k in given)
        return [head, *lines, f"control.yield {names} : {types}"]

    def _cond(self, values: list[tuple[str, str]], depth: int) -> list[str]:
        inputs, (x, _), p = self._inputs(values), self.pick(values, ""), self.name()
        kinds = [kind for _, kind in inputs]
        results = [self.draw(st.sampled_from(SHAPES)) for _ in range(2)]
        made = [(self.name(), kind) for kind in results]
        values += made
        return [
            f"{p} = aten.gt.Scalar({x}, other = 0.1) : ({_t('')}) -> tensor<i1>",
            f"{_names(made)} = control.cond if({p}) with({_names(inputs)}) : "
            f"(tensor<i1>, {_types(kinds)}) -> ({_types(results)}) then {{",
            *self._region(kinds, results, depth),
            "} else {",
            *self._region(kinds, results, depth),
            "}",
        ]

    def _while(self, values: list[tuple[str, str]], depth: int) -> list[str]:
        starts = [self.pick(values) for _ in range(2)]
        inputs = self._inputs(values)
        carried = [kind for _, kind in starts]
        kinds = [*carried, *(kind for _, kind in inputs)]
        made = [(self.name(), kind) for kind in carried]
        n, k, m, p, zero = (self.name() for _ in range(5))
        test = self._region(kinds, [], depth, predicate=True)
        body = self._region(kinds, carried, depth)
        # A count of at most four rounds beside the random predicate.
        test[0] = test[0].replace("^bb0(", f"^bb0({k}t: tensor<i64>, ")
        verdict = test[-1].split()[1]
        test[-1:] = [
            f"{p} = aten.lt.Scalar({k}t, other = 4) : (tensor<i64>) -> tensor<i1>",
            f"{p}b = aten.logical_and.default({p}, {verdict}) : "
            "(tensor<i1>, tensor<i1>) -> tensor<i1>",
            f"control.yield {p}b : tensor<i1>",
        ]
        body[0] = body[0].replace("^bb0(", f"^bb0({k}: tensor<i64>, ")
        names, types = body[-1].removeprefix("control.yield ").split(" : ")
        body[-1:] = [
            f"{m} = aten.add.Scalar({k}, other = 1) : (tensor<i64>) -> tensor<i64>",
            f"control.yield {m}, {names} : tensor<i64>, {types}",
        ]
        values += made
        return [
            f"{zero} = aten.zeros.default(size = [], dtype = i64) : () -> tensor<i64>",
            f"{n}, {_names(made)} = control.while from({zero}, {_names(starts)}) "
            f"with({_names(inputs)}) : (tensor<i64>, {_types(kinds)}) -> "
            f"(tensor<i64>, {_types(carried)}) test {{",
            *test,
            "} do {",
            *body,
            "}",
        ]

    def _scan(self, values: list[tuple[str, str]], depth: int, carries: int = 2) -> list[str]:
        starts = [self.pick(values) for _ in range(carries)]
        (xs, _), inputs = self.pick(values, "4x8"), self._inputs(values)
        carried = [kind for _, kind in starts]
        kinds = [*carried, "8", *(kind for _, kind in inputs)]
        rows = self._region(kinds, [*carried, "8"], depth)
        made = [(self.name(), kind) for kind in (*carried, "4x8")]
        values += made
        start = f"from({_names(starts)}) " if starts else ""
        operands = [*carried, "4x8", *(kind for _, kind in inputs)]
        return [
            f"{_names(made)} = control.scan {start}over({xs}) with({_names(inputs)}) : "
            f"({_types(operands)}) -> ({_types([*carried, '4x8'])}) do {{",
            *rows,
            "}",
        ]

    def _map(self, values: list[tuple[str, str]], depth: int) -> list[str]:
        return self._scan(values, depth, carries=0)


def _t(shape: str) -> str:
    return f"tensor<{shape}xf32>" if shape else "tensor<f32>"


def _names(values: Sequence[tuple[str, str]]) -> str:
    return ", ".join(name for name, _ in values)


def _types(kinds: Sequence[str]) -> str:
    return ", ".join(map(_t, kinds))


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program that takes a tensor of each shape and gives its last values."""
    writer = Writer(draw)
    arguments = [("%a", "4x8"), ("%b", "8"), ("%c", "")]
    values = list(arguments)
    lines = writer.block(values, 2, 4)
    results = values[-4:]
    kinds = [kind for _, kind in results]
    head = ", ".join(f"{n}: {_t(k)}" for n, k in arguments)
    body = "\n  ".join([*lines, f"func.return {_names(results)} : {_types(kinds)}"])
    return f"func.func @main({head}) -> ({_types(kinds)}) {{\n  {body}\n}}\n"


INPUTS = [
    np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8),
    np.linspace(0.5, -0.7, 8, dtype=np.float32),
    np.float32(0.3),
]


@pytest.mark.long
@given(programs())
def test_native_code_equals_the_interpreter(text: str) -> None:
    module = parse(text)
    wanted = run_module(module, INPUTS)
    made = compile_module(parse(text), cache=False)(*map(np.asarray, INPUTS))
    made = made if isinstance(made, tuple) else (made,)
    for value, expected in zip(made, wanted, strict=True):
        np.testing.assert_allclose(value, expected, rtol=2e-4, atol=2e-4, err_msg=text)


@pytest.mark.long
@given(programs())
def test_layers_equal_one_another(text: str) -> None:
    wanted = run_module(parse(text), INPUTS)
    for layer in LAYERS[1:]:
        module = parse(text)
        lower(module, "aten", layer, as_target(None))
        for value, expected in zip(run_module(module, INPUTS), wanted, strict=True):
            np.testing.assert_allclose(value, expected, rtol=2e-4, atol=2e-4, err_msg=layer)
