"""`partition`: parts of programs that back ends take, and what they may do wrong."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

import lamina
from lamina.lowering.partition.convex import convex_groups
from lamina.runtime.interpreters import run_module

TEXT = """
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = aten.exp.default(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = aten.mul.Tensor(%0, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = aten.neg.default(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = aten.mul.Tensor(%1, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = aten.sqrt.default(%0) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %3, %4 : tensor<8xf32>, tensor<8xf32>
}
"""
X = np.linspace(-1, 1, 8, dtype=np.float32)


class Interpreting:
    """A back end that takes some ops and interprets what it has."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.modules: list[str] = []

    def supports(self, op: Operation) -> bool | str:
        """By name."""
        return op.name.split(".")[1] in self.names or f"only {', '.join(self.names)}"

    def compile(self, module: ModuleOp) -> Callable[..., Any]:
        """The interpreter."""
        self.modules.append(str(module))
        return lambda *arrays: tuple(run_module(module, list(arrays)))


def extension(**backends: Any) -> lamina.Extension:
    made = lamina.extend("backends")
    for name, backend in backends.items():
        made.backend(name)(backend)
    return made


def partitioned(*names: str, layer: str = "core-aten", options: str = "") -> lamina.Pipeline:
    specs = [f"partition{{backend={name}{options}}}" for name in names]
    return lamina.Pipeline().after(f"verify-{layer}", *specs)


def kernels(compiled: lamina.Compiled) -> list[str]:
    return [kernel.name for kernel in compiled.kernels if kernel.name.startswith("partition.")]


@pytest.mark.parametrize("layer", ["core-aten", "prims"])
def test_convex_parts_are_calls(layer: str) -> None:
    backend = Interpreting("exp", "mul")
    with extension(accel=backend):
        compiled = lamina.compile(TEXT, pipeline=partitioned("accel", layer=layer))
    for ours, wanted in zip(compiled(X), lamina.compile(TEXT)(X), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6)
    # The negation stands between the two products.
    assert kernels(compiled) == ["partition.accel"] * 2
    assert len(backend.modules) == 2
    module = lamina.parse(compiled.ir(layer.replace("-", "_")))
    refused = module.attributes["lamina.refused"]
    assert isinstance(refused, ArrayAttr)
    prefix = layer.replace("-", "_")
    said = [entry.data for entry in refused if isinstance(entry, StringAttr)]
    assert re.fullmatch(
        rf"accel: {prefix}\.neg(\.default)? \(at <text>:5:3\): only exp, mul", said[0]
    )
    assert len(said) == 2


def test_two_back_ends_at_once() -> None:
    first, second = Interpreting("mul", "exp"), Interpreting("neg", "sqrt")
    with extension(first=first, second=second):
        compiled = lamina.compile(TEXT, pipeline=partitioned("first", "second"))
    for ours, wanted in zip(compiled(X), lamina.compile(TEXT)(X), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6)
    assert sorted(set(kernels(compiled))) == ["partition.first", "partition.second"]
    assert len(compiled.kernels) == len(kernels(compiled)), "nothing is left"


def test_a_whole_program_is_one_call() -> None:
    backend = Interpreting("exp", "mul", "neg", "sqrt")
    with extension(accel=backend):
        compiled = lamina.compile(TEXT, pipeline=partitioned("accel"))
    assert kernels(compiled) == ["partition.accel"]
    assert backend.modules[0].count("core_aten.") == 5


def test_small_groups_stay() -> None:
    backend = Interpreting("exp", "mul")
    with extension(accel=backend):
        compiled = lamina.compile(TEXT, pipeline=partitioned("accel", options=" least=2"))
        assert "its group has 1 ops, not 2" in compiled.ir("core_aten")
    assert kernels(compiled) == ["partition.accel"]


def test_numbers_go_along_and_equal_parts_are_compiled_once() -> None:
    text = """
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = aten.add.Scalar(%x, 2.0) : (tensor<8xf32>) -> tensor<8xf32>
      %1 = aten.neg.default(%0) : (tensor<8xf32>) -> tensor<8xf32>
      %2 = aten.add.Scalar(%1, 2.0) : (tensor<8xf32>) -> tensor<8xf32>
      func.return %2 : tensor<8xf32>
    }"""
    backend = Interpreting("add", "full")
    with extension(accel=backend):
        compiled = lamina.compile(text, pipeline=partitioned("accel"))
    np.testing.assert_allclose(compiled(X), 2 - (X + 2), atol=1e-6)
    (called,) = (k for k in compiled.kernels if k.name == "partition.accel")
    assert called.calls == 2 and len(backend.modules) == 1


def test_saved_programs_ask_the_back_end_again(tmp_path: Path) -> None:
    with extension(accel=Interpreting("exp", "mul")):
        lamina.compile(TEXT, pipeline=partitioned("accel")).save(tmp_path / "program")
    with pytest.raises(lamina.InputError, match="no back end is called 'accel'"):
        lamina.load(tmp_path / "program")
    with extension(accel=Interpreting("exp", "mul")):
        loaded = lamina.load(tmp_path / "program")
    for ours, wanted in zip(loaded(X), lamina.compile(TEXT)(X), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6)


def test_loops_stay_and_parts_of_their_bodies_are_calls() -> None:
    example = Path(__file__).parents[2] / "examples" / "square_root.mlir"
    plain = lamina.compile(example)
    inputs = [np.full(slot.shape, 2, slot.numpy_dtype) for slot in plain.inputs]
    with extension(accel=Interpreting("mul", "add", "div", "sub")):
        compiled = lamina.compile(example, pipeline=partitioned("accel"))
        assert "control.while (at " in compiled.ir("core_aten")
    assert "partition.accel" in str(compiled.kernels)
    for ours, wanted in zip(compiled(*inputs), plain(*inputs), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6)


def _raising(*arrays: np.ndarray) -> np.ndarray:
    raise OSError("no device")


class Raising(Interpreting):
    """A back end whose methods raise."""

    def __init__(self, at: str, *names: str) -> None:
        super().__init__(*names)
        self.at = at

    def supports(self, op: Operation) -> bool | str:
        """Raises, perhaps."""
        if self.at == "supports":
            raise KeyError("no table")
        if self.at == "answer":
            return None  # pyright: ignore[reportReturnType]
        return super().supports(op)

    def compile(self, module: ModuleOp) -> Any:
        """Raises, gives no function, or a function of other results."""
        match self.at:
            case "compile":
                raise RuntimeError("too large")
            case "nothing":
                return None
            case "shape":
                return lambda *arrays: np.zeros(3, np.float32)
            case "call":
                return _raising
        return super().compile(module)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("supports", r"'accel' raises on core_aten\.exp\.default \(at <text>:3:3\): KeyError"),
        (
            "answer",
            r"'accel' answers supports\(core_aten\.exp.*\) with a NoneType, ",
        ),
        (
            "compile",
            r"'accel' cannot compile 1 ops from core_aten\.exp\.default \(at <text>:3:3\) on "
            r"\(core_aten\.exp\.default\): RuntimeError: too large",
        ),
        ("nothing", r"'accel' gives a NoneType for 1 ops from .*, which is no function"),
    ],
)
def test_faults_name_extension_op_and_line(at: str, said: str) -> None:
    with extension(accel=Raising(at, "exp")), pytest.raises(lamina.InputError) as caught:
        lamina.compile(TEXT, pipeline=partitioned("accel"))
    assert re.search(said, str(caught.value)) and "\n" not in str(caught.value)
    assert "extension 'backends'" in str(caught.value) and "test_partition.py" in str(caught.value)


@pytest.mark.parametrize(
    ("at", "said"),
    [("shape", r"made a result of shape \(3,\).*"), ("call", r"OSError: no device")],
)
def test_faults_of_calls_name_extension_op_and_line(at: str, said: str) -> None:
    with extension(accel=Raising(at, "exp")):
        compiled = lamina.compile(TEXT, pipeline=partitioned("accel"))
    with pytest.raises(lamina.ExecutionError) as caught:
        compiled(X)
    whole = (
        rf"<text>:3:3: extern kernel failed: partition\.accel: .*{said}; it computes 1 ops, "
        r"core_aten\.exp\.default; extension 'backends' \(.*test_partition\.py:\d+\)"
    )
    assert re.fullmatch(whole, str(caught.value)), str(caught.value)


def test_unknown_back_ends_and_what_is_none() -> None:
    with pytest.raises(lamina.InputError, match="no back end is called 'nobody'; no active"):
        lamina.compile(TEXT, pipeline=partitioned("nobody"))
    with (
        extension(accel=Interpreting("exp")),
        pytest.raises(lamina.InputError, match="'acel'; nearest: accel"),
    ):
        lamina.compile(TEXT, pipeline=partitioned("acel"))
    with pytest.raises(lamina.InputError, match=r"has no method compile\(\)"):
        lamina.extend("bad").backend("bad")(type("Bad", (), {"supports": print}))
    with pytest.raises(lamina.InputError, match="is no name of a back end"):
        lamina.extend("bad").backend("a.b")(Interpreting("exp"))


def test_groups_of_random_programs_are_convex() -> None:
    generator = np.random.default_rng(0)
    for _ in range(30):
        count = int(generator.integers(2, 25))
        lines = ["func.func @main(%v0: tensor<2xf32>) -> tensor<2xf32> {"]
        for number in range(1, count):
            a, b = generator.integers(max(0, number - 6), number, 2)
            lines.append(
                f"  %v{number} = aten.add.Tensor(%v{a}, %v{b}) : "
                "(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
            )
        lines += [f"  func.return %v{count - 1} : tensor<2xf32>", "}"]
        module = lamina.parse("\n".join(lines))
        (function,) = module.ops
        ops = list(function.regions[0].block.ops)[:-1]
        taken = generator.integers(0, 2, len(ops)).astype(bool)
        groups, order = convex_groups(ops, lambda n, taken=taken: bool(taken[n]))
        assert sorted(n for members in order for n in members) == list(range(len(ops)))
        assert sorted(n for group in groups for n in group) == sorted(np.flatnonzero(taken))
        done: set[int] = set()
        numbers = {op: number for number, op in enumerate(ops)}
        for members in order:  # each in one piece, behind all that it reads
            read = {
                numbers[v.owner] for n in members for v in ops[n].operands if v.owner in numbers
            }
            assert read - set(members) <= done
            done |= set(members)
