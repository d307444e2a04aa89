"""Control flow of torch, exported and through Dynamo: native code and every layer against eager."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as _map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import lamina
from lamina.frontends.dynamo_graph import import_dynamo_graph
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.compile import as_target, compile_module
from lamina.runtime.entry import argument_slots, function_named
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower

pytestmark = pytest.mark.one_in(2)

Tensor = torch.Tensor
torch_map: Any = _map


class Program(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any], **parameters: Tensor) -> None:
        super().__init__()
        self.function = function
        for name, value in parameters.items():
            setattr(self, name, torch.nn.Parameter(value, requires_grad=False))

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args, **dict(self.named_parameters()))


def exported(program: torch.nn.Module, args: tuple[Tensor, ...]) -> torch.export.ExportedProgram:
    return torch.export.export(program, args, strict=False)


def check(program: torch.nn.Module, *samples: tuple[Tensor, ...], layers: bool = True) -> Any:
    """Compile for the first sample; native code and interpreters must agree with eager on all."""
    ep = exported(program, samples[0])
    compiled = lamina.compile(ep)
    for sample in samples:
        wanted = program(*sample)
        torch.testing.assert_close(compiled(*sample), wanted)
        if layers:
            _check_layers(ep, sample, wanted)
    return compiled


def _check_layers(ep: Any, sample: tuple[Tensor, ...], wanted: Any) -> None:
    imported = import_exported_program(ep)
    arguments = {name: value.detach().numpy() for name, value in imported.constants.items()}
    names = [s.arg.name for s in ep.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    arguments |= {n: v.numpy() for n, v in zip(names, sample, strict=True)}
    flat = wanted if isinstance(wanted, tuple) else (wanted,)
    for layer in LAYERS:
        module = imported.module.clone()
        lower(module, "aten", layer, as_target(None))
        main = function_named(module, "main")
        assert main is not None
        slots = argument_slots(main)
        lowered = layer in ("bufferized", "scheduled") or any(
            slot.kind == "prepared" for slot in slots
        )
        given = arguments if lowered else [arguments[slot.name] for slot in slots]
        for made, value in zip(run_module(module, given), flat, strict=True):
            np.testing.assert_allclose(made, value.numpy(), rtol=1e-4, atol=1e-5, err_msg=layer)


def test_cond_goes_both_ways_by_its_data() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda v: v.sin() + 1, lambda v: v * v, (x,))

    x = torch.linspace(-1, 2, 12).reshape(3, 4)
    check(Program(function), (x,), (-x,))


def test_branches_see_parameters_and_values_from_outside() -> None:
    class Gate(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = torch.nn.Linear(4, 6), torch.nn.Linear(4, 6)

        def forward(self, x: Tensor, scale: Tensor) -> Tensor:
            y = x * scale
            z = torch.cond(
                scale[0, 0] > 0, lambda v: self.up(v) + y.sum(), lambda v: self.down(v), (y,)
            )
            return torch.relu(z) + y.mean()

    x, scale = torch.randn(5, 4), torch.ones(5, 4)
    with torch.no_grad():
        check(Gate(), (x, scale), (x, -scale))


def test_nested_conds_with_several_results() -> None:
    def function(x: Tensor, p: Tensor) -> Any:
        def inner(v: Tensor) -> Any:
            return torch.cond(
                v.max() > 2, lambda u: (u - 2, u * 1), lambda u: (u.clone(), u + 2), (v,)
            )

        return torch.cond(p.any(), inner, lambda v: (v * 2, v * 3), (x,))

    x = torch.linspace(-1, 1.5, 6)
    true, false = torch.tensor([False, True]), torch.tensor([False, False])
    check(Program(function), (x, true), (x + 3, true), (x, false))


def test_a_branch_may_return_its_operand_or_a_constant() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.cond(x[0] > 0, lambda v: v.clone(), lambda v: torch.full_like(v, 7), (x,))

    x = torch.tensor([1.0, 2, 3])
    check(Program(function), (x,), (-x,))


def test_results_of_cond_feed_kernels_and_other_conds() -> None:
    def function(x: Tensor) -> Tensor:
        y = torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))
        z = torch.cond(y.sum() > 10, lambda u, v: u * v, lambda u, v: u / (v * v + 1), (x, y))
        return (z.t() @ y).softmax(-1)

    x = torch.randn(4, 3)
    check(Program(function), (x,), (x.abs() + 2,), (-x.abs() - 2,))


def test_dtypes_and_shapes_that_cross_a_cond() -> None:
    def function(x: Tensor, n: Tensor, b: Tensor) -> Any:
        def then(x: Tensor, n: Tensor, b: Tensor) -> Any:
            return x.bfloat16(), n + 1, ~b, x[:0].clone(), x[0, 0].double()

        def otherwise(x: Tensor, n: Tensor, b: Tensor) -> Any:
            return (x * 2).bfloat16(), n * n, b.clone(), x[:0] + 1, x[2, 2].double()

        return torch.cond(n[0] > 0, then, otherwise, (x, n, b))

    x, n, b = torch.randn(3, 5), torch.tensor([2, 3], dtype=torch.int32), torch.eye(3).bool()
    check(Program(function), (x, n, b), (x, -n, b), layers=False)


def test_complex_numbers_cross_regions() -> None:
    def function(z: Tensor) -> Tensor:
        return torch.cond(z.real.sum() > 0, lambda v: v * v, lambda v: v.conj() + 1, (z,))

    z = torch.randn(4, dtype=torch.complex64)
    check(Program(function), (z,), (-z,), layers=False)


def test_while_counts() -> None:
    def function(n: Tensor, x: Tensor) -> Any:
        return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 1.5 + n), (n, x))

    x = torch.randn(2, 3)
    check(Program(function), (torch.tensor(4), x), (torch.tensor(0), x), (torch.tensor(-3), x))


def test_while_to_a_fixed_point() -> None:
    def function(a: Tensor) -> Tensor:
        def far(x: Tensor, last: Tensor) -> Tensor:
            return ((x - last).abs().max() > 1e-6) | (x == 1).all()

        def newton(x: Tensor, last: Tensor) -> Any:
            return (x + a / x) / 2, x.clone()

        return while_loop(far, newton, (torch.ones_like(a), torch.zeros_like(a)))[0]

    a = torch.tensor([2.0, 9, 100, 0.25])
    compiled = check(Program(function), (a,), (a * 3,))
    torch.testing.assert_close(compiled(a), a.sqrt())


def test_while_swaps_what_it_carries() -> None:
    def function(n: Tensor, a: Tensor, b: Tensor) -> Any:
        def body(n: Tensor, a: Tensor, b: Tensor) -> Any:
            return n - 1, b.clone(), a + b

        return while_loop(lambda n, a, b: n > 0, body, (n, a, b))

    check(Program(function), *((torch.tensor(n), torch.zeros(3), torch.ones(3)) for n in (5, 8)))


def test_while_with_a_product_and_a_branch_inside() -> None:
    def function(n: Tensor, x: Tensor, w: Tensor) -> Any:
        def body(n: Tensor, x: Tensor) -> Any:
            y = torch.tanh(x @ w)
            z = torch.cond(y.sum() > 0, lambda v: v - 0.5, lambda v: v + 0.5, (y,))
            return n - 1, z

        return while_loop(lambda n, x: n > 0, body, (n, x))

    x = torch.randn(4, 8)
    check(Program(function, w=torch.randn(8, 8)), (torch.tensor(6), x), (torch.tensor(1), x))


def test_scan_is_a_running_sum() -> None:
    def function(xs: Tensor) -> Any:
        return scan(lambda h, x: (h + x, (h + x).clone()), torch.zeros(3), xs)

    xs = torch.randn(7, 3)
    compiled = check(Program(function), (xs,))
    torch.testing.assert_close(compiled(xs)[1], xs.cumsum(0))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_scan_of_a_recurrent_cell(dim: int, reverse: bool) -> None:
    def function(h: Tensor, xs: Tensor, w: Tensor, u: Tensor) -> Any:
        def cell(h: Tensor, x: Tensor) -> Any:
            h = torch.tanh(h @ w + x @ u)
            return h, h * 2

        return scan(cell, h, xs, dim=dim, reverse=reverse)

    program = Program(function, w=torch.randn(8, 8) / 3, u=torch.randn(4, 8))
    xs = torch.randn(6, 2, 4) if dim == 0 else torch.randn(2, 6, 4)
    check(program, (torch.zeros(2, 8), xs))


def test_scan_with_trees_and_several_carried_values() -> None:
    def function(h: Tensor, c: Tensor, xs: Tensor, gates: Tensor) -> Any:
        def lstm(state: dict[str, Tensor], row: tuple[Tensor, Tensor]) -> Any:
            x, g = row
            c = torch.sigmoid(g) * state["c"] + torch.tanh(x + state["h"])
            h = torch.tanh(c)
            return {"h": h, "c": c}, (h.clone(), c.sum())

        state, ys = scan(lstm, {"h": h, "c": c}, (xs, gates))
        return state["h"], state["c"], *ys

    check(Program(function), tuple(torch.randn(s) for s in ((3, 4), (3, 4), (5, 3, 4), (5, 3, 4))))


def test_map_over_one_and_several_dimensions() -> None:
    def function(xs: Tensor, y: Tensor) -> Tensor:
        return torch_map(lambda x, y: (x.sin() + y).softmax(-1), xs, y)

    def nested(xs: Tensor, y: Tensor) -> Tensor:
        return torch_map(lambda x, y: torch_map(lambda v, y: v @ y, x, y), xs, y)

    check(Program(function), (torch.randn(5, 2, 3), torch.randn(3)))
    check(Program(nested), (torch.randn(3, 2, 4), torch.randn(4)))


@pytest.mark.parametrize("length", [1, 2, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(length: int, reverse: bool) -> None:
    def function(a: Tensor, b: Tensor) -> Any:
        def combine(x: tuple[Tensor, Tensor], y: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            return x[0] * y[0], y[0] * x[1] + y[1]

        return associative_scan(combine, (a, b), 0, reverse=reverse, combine_mode="generic")

    check(Program(function), (torch.randn(length, 3), torch.randn(length, 3)))


def test_map_of_gathers_products_and_constants() -> None:
    def function(xs: Tensor, index: Tensor, w: Tensor) -> Any:
        def body(x: Tensor, index: Tensor) -> Any:
            picked = x[index] @ w
            return picked, index * 2, x.cumsum(0), torch.arange(3)

        return torch_map(body, xs, index)

    xs, index = torch.randn(5, 6, 4), torch.tensor([3, 0, 5])
    check(Program(function, w=torch.randn(4, 7)), (xs, index))


def test_map_of_a_body_that_must_stay_a_loop() -> None:
    def function(xs: Tensor, ns: Tensor, y: Tensor) -> Tensor:
        def body(row: tuple[Tensor, Tensor], y: Tensor) -> Tensor:
            n, x = row
            return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * y), (n, x))[1].exp()

        return torch_map(body, (ns, xs), y)

    check(Program(function), (torch.randn(4, 3), torch.tensor([0, 3, 1, 2]), torch.randn(3)))


def test_weights_of_loops_and_branches_are_prepared_once() -> None:
    def function(h: Tensor, xs: Tensor, w: Tensor, u: Tensor, v: Tensor) -> Any:
        def cell(h: Tensor, x: Tensor) -> Any:
            h = torch.tanh(h @ w + x @ u)
            z = torch.cond(h.sum() > 0, lambda a: a @ v.t(), lambda a: a + 1, (h,))
            return z, (h @ v).relu()

        return scan(cell, h, xs)

    weights = {"w": torch.randn(8, 8) / 3, "u": torch.randn(4, 8), "v": torch.randn(8, 8) / 3}
    compiled = check(Program(function, **weights), (torch.zeros(2, 8), torch.randn(6, 2, 4)))
    packs = [kernel for kernel in compiled.kernels if "pack" in kernel.ops]
    assert packs == []


def test_loops_carry_complex_numbers() -> None:
    def function(n: Tensor, z: Tensor) -> Any:
        return while_loop(lambda n, z: n > 0, lambda n, z: (n - 1, z * z + 0.1), (n, z))

    z = torch.randn(5, dtype=torch.complex64) * 0.3
    check(Program(function), (torch.tensor(3), z), (torch.tensor(0), z), layers=False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_scans_of_other_floats(dtype: torch.dtype) -> None:
    def function(h: Tensor, xs: Tensor) -> Any:
        return scan(lambda h, x: ((h * x + x).tanh(), h + 1), h, xs)

    h, xs = torch.randn(5, dtype=dtype), torch.randn(7, 5, dtype=dtype)
    program = exported(Program(function), (h, xs))
    torch.testing.assert_close(lamina.compile(program, rounding="eager")(h, xs), function(h, xs))


@pytest.mark.parametrize("length", [1, 6])
def test_graphs_with_associative_scans_of_their_own(length: int) -> None:
    """Torch leaves this op only in graphs for GPUs; here one is written by hand."""
    combine = torch.fx.Graph()
    x, y, scale = (combine.placeholder(name) for name in ("x", "y", "scale"))
    product = combine.call_function(torch.ops.aten.mul.Tensor, (x, y))
    combined = combine.call_function(torch.ops.aten.mul.Tensor, (product, scale))
    combine.output([combined])
    root = torch.nn.Module()
    root.combine = torch.fx.GraphModule(torch.nn.Module(), combine)
    graph = torch.fx.Graph()
    xs, fixed = graph.placeholder("xs"), graph.placeholder("fixed")
    op = torch.ops.higher_order.associative_scan
    made = graph.call_function(op, (graph.get_attr("combine"), [xs], (fixed,)))
    graph.output([graph.call_function(operator.getitem, (made, 0))])
    values, factor = torch.rand(length, 4) + 0.5, torch.tensor(1.25)
    for node, example in ((xs, values), (fixed, factor), (made, [values])):
        node.meta["val"] = example
    for node, example in ((x, values[0]), (y, values[0]), (scale, factor)):
        node.meta["val"] = example
    for node in (product, combined):
        node.meta["val"] = values[0]
    imported = import_dynamo_graph(torch.fx.GraphModule(root, graph), ())
    compiled = compile_module(imported.module, cache=False)
    wanted = [values[0]]
    for row in values[1:]:
        wanted.append(wanted[-1] * row * factor)
    torch.testing.assert_close(compiled(values, factor), torch.stack(wanted))


def test_loops_of_kernels_that_run_on_several_threads() -> None:
    def function(n: Tensor, x: Tensor, w: Tensor) -> Any:
        def body(n: Tensor, x: Tensor) -> Any:
            y = torch.tanh(x @ w)
            far = y.sum() > 1e9
            z = torch.cond(far, lambda v: v * 2, lambda v: v.softmax(-1) + v.t().mean(0), (y,))
            return n - 1, (z + x) * 0.5

        return while_loop(lambda n, x: n > 0, body, (n, x))

    sample = torch.tensor(4), torch.randn(256, 256)
    check(Program(function, w=torch.randn(256, 256) / 16), sample, layers=False)
