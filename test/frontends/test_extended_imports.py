"""Torch ops that extensions import, by a schema or by a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from xdsl.ir import Attribute, Operation

import lamina
from lamina.dialects import aten, prims


@torch.library.custom_op("lamina_test_imports::scaled", mutates_args=())
def scaled(x: torch.Tensor, by: float, twice: bool = False) -> torch.Tensor:
    """x * by, and once more."""
    return x * by * (by if twice else 1)


scaled.register_fake(lambda x, by, twice=False: torch.empty_like(x))
X = torch.linspace(-1, 1, 12).reshape(3, 4)


def by_schema() -> lamina.Extension:
    made = lamina.extend("m")
    made.ops("lamina_test_imports::scaled(Tensor x, float by, bool twice=False) -> Tensor")
    made.result_rule("lamina_test_imports.scaled")(lambda args: [args["x"]])

    @made.lowers("lamina_test_imports.scaled", to="prims")
    def lower(op: Any, b: Any) -> Any:
        by = op.arg("by") ** (2 if op.arg("twice") else 1)
        return b.with_number("mul", op.arg("x"), by)

    return made


def by_function(*names: str) -> lamina.Extension:
    made = lamina.extend("m")

    @made.imports(*names)
    def scaled_by(name: str, arguments: dict[str, Any], types: Sequence[Attribute]) -> Operation:
        assert name == "scaled.default"
        by = arguments["by"] ** (2 if arguments["twice"] else 1)
        return aten.op("mul.Scalar")(arguments["x"], by)

    return made


class Program(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return scaled(torch.relu(x), 3.0) + scaled(x, by=2.0, twice=True)


EXTENSIONS = {
    "schema": by_schema,
    "namespace": lambda: by_function("lamina_test_imports"),
    "op": lambda: by_function("lamina_test_imports::scaled"),
    "overload": lambda: by_function("lamina_test_imports::scaled.default"),
}


@pytest.mark.parametrize("made", EXTENSIONS.values(), ids=EXTENSIONS)
def test_export_and_torch_compile(made: Any) -> None:
    program = Program()
    exported = torch.export.export(program, (X,))
    with made():
        compiled = lamina.compile(exported)
        torch._dynamo.reset()
        fast = torch.compile(program, backend="lamina", fullgraph=True)
        with torch.no_grad():
            torch.testing.assert_close(fast(X), program(X))
    torch.testing.assert_close(compiled(X), program(X))
    assert not any("torch." in kernel.name for kernel in compiled.kernels)
    without = lamina.compile(exported)  # as an extern kernel, by torch itself
    torch.testing.assert_close(without(X), program(X))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda name, arguments, types: arguments["nothing"], "raises KeyError"),
        (lambda name, arguments, types: arguments["x"], "and not an op of its own"),
        (
            lambda name, arguments, types: aten.op("sum.default")(arguments["x"]),
            r"gives results of types tensor<f32>; torch's are tensor<3x4xf32>",
        ),
    ],
)
def test_an_importer_at_fault_is_named(function: Any, said: str) -> None:
    mine = lamina.extend("m")
    mine.imports("lamina_test_imports")(function)
    exported = torch.export.export(Program(), (X,))
    with mine, pytest.raises(lamina.InputError, match=rf"extension 'm' \(.*{said}"):
        lamina.compile(exported)


def test_an_importer_may_refuse_with_the_line_of_the_program() -> None:
    mine = lamina.extend("m")

    @mine.imports("lamina_test_imports")
    def refuse(name: str, arguments: dict[str, Any], types: Sequence[Attribute]) -> Operation:
        raise ValueError("not this one")

    exported = torch.export.export(Program(), (X,))
    with mine, pytest.raises(lamina.UnsupportedError, match="not this one") as caught:
        lamina.compile(exported)
    assert "test_extended_imports.py" in str(caught.value)


def test_a_kernel_is_found_where_another_module_is_bound_later() -> None:
    mine = lamina.extend("m")
    mine.extern_kernel("mine.scaled")(lambda x: x * 3)

    @mine.imports("lamina_test_imports")
    def call(name: str, arguments: dict[str, Any], types: Sequence[Attribute]) -> Operation:
        return prims.op("extern")([arguments["x"]], "mine.scaled", "{}", result_types=types)

    class Weighted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return scaled(self.linear(x), 3.0)

    x = torch.randn(8, 64)
    torch._dynamo.reset()
    fast = torch.compile(lambda module, x: module(x), backend="lamina")
    one, other = Weighted(), Weighted()
    with torch.no_grad():
        with mine:
            torch.testing.assert_close(fast(one, x), one(x))
        torch.testing.assert_close(fast(other, x), other(x))
