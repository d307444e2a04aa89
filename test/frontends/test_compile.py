"""`lamina.compile` on every kind of program, and the parts of the public API."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from xdsl.dialects.builtin import TensorType, f32
from xdsl.passes import ModulePass

import lamina

LINEAR = """
func.func @main(%x: tensor<4x3xf32> {lamina.name = "x", lamina.kind = "input"},
                %w: tensor<2x3xf32> {lamina.name = "w", lamina.kind = "parameter"})
    -> (tensor<4x2xf32> {lamina.kind = "output"}) {
  %y = aten.linear.default(%x, %w) : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %z = aten.relu.default(%y) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %z : tensor<4x2xf32>
}
"""
X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
EXPECTED = np.maximum(X @ W.T, 0)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path / "cache"))


def close(left: Any, right: Any) -> None:
    np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("suffix", [".mlir", ".pt2", ".onnx", ".pt"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, suffix: str) -> None:
    missing = tmp_path / f"missing{suffix}"
    with pytest.raises(lamina.InputError, match=rf"missing\{suffix}: error: .*No such file") as met:
        lamina.compile(missing)
    assert isinstance(met.value, FileNotFoundError)
    assert met.value.filename == str(missing)


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(lamina.InputError, match="cannot be read: Is a directory") as met:
        lamina.compile(tmp_path)
    assert isinstance(met.value, OSError)


def test_text_with_bound_constants() -> None:
    close(lamina.compile(LINEAR, constants={"w": W})(X), EXPECTED)


def test_text_with_parameters_passed_in_each_call() -> None:
    compiled = lamina.compile(LINEAR)
    assert [slot.name for slot in compiled.inputs] == ["x", "w"]
    close(compiled(X, W), EXPECTED)
    close(compiled(X, w=W), EXPECTED)


def test_constants_of_either_library_and_any_strides() -> None:
    transposed = np.asfortranarray(W)
    for constant in (transposed, torch.from_numpy(W.T.copy()).T, W.tolist()):
        if isinstance(constant, list):
            constant = np.asarray(constant, np.float32)
        close(lamina.compile(LINEAR, constants={"w": constant})(X), EXPECTED)


def test_a_module_stays_as_it_is() -> None:
    module = lamina.parse(LINEAR)
    before = str(module)
    close(lamina.compile(module, constants={"w": W})(X), EXPECTED)
    assert str(module) == before


def test_a_module_that_does_not_verify_is_refused() -> None:
    module = lamina.parse(LINEAR)
    for op in module.walk():
        if op.name == "aten.relu.default":
            op.results = (type(op.results[0])(TensorType(f32, [9, 9]), op, 0),)
    with pytest.raises(lamina.InputError, match="does not verify"):
        lamina.compile(module)


def test_a_file_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "linear.mlir"
    path.write_text(LINEAR)
    close(lamina.compile(path)(X, W), EXPECTED)
    close(lamina.compile(LINEAR.encode())(X, W), EXPECTED)
    path.write_text("func.func @main() { foo.bar }")
    with pytest.raises(lamina.InputError, match=r"linear\.mlir:1:21: error: "):
        lamina.compile(path)


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden = torch.nn.functional.gelu(self.first(x))
        return {"scores": self.second(hidden).softmax(-1), "hidden": hidden}


def test_an_exported_program_gives_what_the_module_gives() -> None:
    torch.manual_seed(0)
    module, x = Mlp().eval(), torch.randn(5, 8)
    compiled = lamina.compile(torch.export.export(module, (x,)))
    with torch.no_grad():
        expected = module(x)
        result = compiled(x)
    assert result.keys() == expected.keys()
    for name in expected:
        assert type(result[name]) is torch.Tensor
        close(result[name], expected[name])
    from_numpy = compiled(x.numpy())
    assert type(from_numpy["scores"]) is np.ndarray


def test_buffers_are_updated_in_place() -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(x)
            return self.count * 2

    module = Counter()
    compiled = lamina.compile(torch.export.export(module, (torch.zeros(2),)))
    module.count.zero_()
    x = torch.tensor([1.0, 2.0])
    assert [compiled(x).tolist() for _ in range(2)] == [[2, 4], [4, 8]]


def test_every_layer_can_be_shown() -> None:
    compiled = lamina.compile(LINEAR, constants={"w": W})
    shown = {layer: compiled.ir(layer) for layer in lamina.LAYERS}
    assert "aten.linear.default" in shown["aten"]
    assert "core_aten." in shown["core_aten"] and " aten." not in shown["core_aten"]
    assert "prims." in shown["prims"]
    assert "loop.generic" in shown["loop"]
    assert "lamina.kernel" in shown["fused"]
    assert "%arena" in shown["scheduled"]
    assert "define i32 @lamina_main" in shown["llvm"]
    assert "lamina_main:" in shown["asm"]


@pytest.mark.parametrize(
    "layer", ["functional", "core_aten", "prims", "loop", "fused", "bufferized", "scheduled"]
)
def test_text_of_every_layer_compiles(layer: str) -> None:
    text = lamina.compile(LINEAR).ir(layer)
    compiled = lamina.compile(text)
    close(compiled(X, W), EXPECTED)
    assert lamina.parse(compiled.ir(layer)).is_structurally_equivalent(lamina.parse(text))


def test_kernels_are_records_and_a_table() -> None:
    x = torch.zeros(8, 16)

    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x.tanh().softmax(-1) + 1).softmax(-1)

    kernels = lamina.compile(torch.export.export(Twice(), (x,))).kernels
    assert sum(kernel.calls for kernel in kernels) <= 2
    for kernel in kernels:
        assert kernel.bytes == 2 * x.numel() * 4
        assert kernel.flops > x.numel()
        assert kernel.types == "(tensor<8x16xf32>) -> (tensor<8x16xf32>)"
    heading = " ".join(repr(kernels).splitlines()[0].split())
    assert heading == "kernel calls bytes flops roofline us measured us ops"
    assert f"{len(kernels)} kernels, " in repr(kernels)


def test_looking_up_rows_counts_what_is_read() -> None:
    module, ids = torch.nn.Embedding(5000, 16), torch.tensor([3, 4])
    kernels = lamina.compile(torch.export.export(module, (ids,))).kernels
    assert sum(kernel.bytes * kernel.calls for kernel in kernels) <= 2 * 2 * 16 * 4 + 2 * 8


def test_fusion_is_explained() -> None:
    compiled = lamina.compile(torch.export.export(Mlp().eval(), (torch.zeros(5, 8),)))
    reasons = compiled.kernels.explain().splitlines()
    assert reasons
    assert all(line.startswith("kernel_") or "was fused" in line for line in reasons)


@pytest.mark.parametrize(
    "module",
    [torch.nn.Softmax(-1), torch.nn.LayerNorm(64), torch.nn.LogSoftmax(-1)],
    ids=lambda module: type(module).__name__,
)
def test_normalizing_rows_is_one_pass_over_memory(module: torch.nn.Module) -> None:
    x = torch.randn(32, 64)
    compiled = lamina.compile(torch.export.export(module, (x,)))
    assert len(compiled.kernels) == 1
    assert compiled.kernels[0].calls == 1
    weights = sum(parameter.numel() for parameter in module.parameters())
    assert compiled.kernels[0].bytes == 4 * (2 * x.numel() + weights)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), module(x))


def test_passes_can_be_taken_one_by_one() -> None:
    specs = lamina.pipeline(start="aten", stop="core_aten")
    assert "convert-aten-to-core-aten" in specs
    from lamina.passes.registry import load_pass

    module = lamina.parse(LINEAR)
    for spec in specs:
        kind = load_pass(spec)
        assert issubclass(kind, ModulePass)
        kind().apply(lamina.Context(), module)
    assert "core_aten.relu.default" in str(module)


def test_code_for_another_machine() -> None:
    compiled = lamina.compile(LINEAR, target="aarch64")
    assert "lamina_main:" in compiled.ir("asm")
    with pytest.raises(lamina.ExecutionError, match="another machine"):
        compiled(X, W)


BAD: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "a number": (3, {}, lamina.InputError, "cannot compile a int: pass textual IR"),
    "a module": (Mlp(), {}, lamina.InputError, "cannot compile a Mlp without inputs"),
    "syntax": ("func.func @main(", {}, lamina.InputError, "<text>:1:17: error"),
    "unknown op": (
        LINEAR.replace("relu", "rellu"),
        {},
        lamina.InputError,
        r"<text>:6:.* nearest: .*aten\.relu\.default",
    ),
    "no main": (
        LINEAR.replace("@main", "@f") + LINEAR.replace("@main", "@g"),
        {},
        lamina.InputError,
        "no function @main to compile; public are @f, @g",
    ),
    "target": (LINEAR, {"target": "i386"}, lamina.UnsupportedError, "no target is called 'i386'"),
    "constant's name": (
        LINEAR,
        {"constants": {"W": W}},
        lamina.ArgumentError,
        "constant 'W': .*nearest: w",
    ),
    "an input as constant": (
        LINEAR,
        {"constants": {"x": X}},
        lamina.ArgumentError,
        "constant 'x': the program has no such parameter",
    ),
    "constant's shape": (
        LINEAR,
        {"constants": {"w": W.T}},
        lamina.ArgumentError,
        "constant 'w': expected shape 2x3, got 3x2",
    ),
    "constant's dtype": (
        LINEAR,
        {"constants": {"w": W.astype(np.float64)}},
        lamina.ArgumentError,
        "constant 'w': expected dtype float32, got float64",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_compiled_says_why(case: str) -> None:
    program, options, error, message = BAD[case]
    with pytest.raises(error, match=f"(?s){message}"):
        lamina.compile(program, **options)


def test_unknown_layers_and_layers_above_the_program() -> None:
    compiled = lamina.compile(lamina.compile(LINEAR).ir("loop"))
    with pytest.raises(lamina.InputError, match="unknown layer 'lop'; the layers are: aten, "):
        compiled.ir("lop")
    with pytest.raises(lamina.InputError, match="came in at layer loop; there is no aten above"):
        compiled.ir("aten")


def test_importing_is_lazy() -> None:
    script = (
        "import sys, lamina; lamina.compile, lamina.Context, lamina.LAYERS;"
        "print([m for m in ('torch', 'llvmlite') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert shown.stdout.strip() == "[]", shown.stderr


def test_public_names_exist() -> None:
    for name in lamina.__all__:
        assert getattr(lamina, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lamina.nothing


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_refused_by_name() -> None:
    compiled = lamina.compile(LINEAR)
    nested = torch.nested.nested_tensor([torch.ones(3), torch.ones(2)])
    with pytest.raises(lamina.ArgumentError, match=r"'w'\): expected a dense tensor, got a nested"):
        compiled(torch.ones(4, 3), nested)
