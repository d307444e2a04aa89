"""`lamina-compile`: object files that C calls, and what the manifest says of them."""

import ctypes
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.codegen.object_file import machine, undefined_symbols
from lamina.runtime.buffers import AlignedMemory
from lamina.runtime.entry import NUMPY_DTYPES
from lamina.tools.lamina_compile import main

EXAMPLES = Path(__file__).parents[2] / "examples"
COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

PRODUCT = """
func.func @main(%x: tensor<16x600xf32> {lamina.name = "x.y"},
                %w: tensor<600x600xf32> {lamina.kind = "parameter", lamina.name = "w"})
    -> (tensor<16x600xf32> {lamina.name = "x_y"}) {
  %0 = aten.mm.default(%x, %w) : (tensor<16x600xf32>, tensor<600x600xf32>) -> tensor<16x600xf32>
  func.return %0 : tensor<16x600xf32>
}
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.neg.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
EXTERN = """
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = prims.extern([%x], "linalg.inv", "{}") : (tensor<2x2xf32>) -> (tensor<2x2xf32>)
  func.return %0 : tensor<2x2xf32>
}
"""


def cc(folder: Path, *arguments: str) -> None:
    flags = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I."]
    run = subprocess.run(
        [str(COMPILER), *flags, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def called(folder: Path, name: str, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Calls a program as its manifest says; gives the outputs."""
    manifest = json.loads((folder / f"{name}.json").read_text())
    openmp = ["-fopenmp"] if manifest["openmp"] else []
    cc(folder, "-shared", *openmp, f"{name}.o", "-lm", "-o", f"{name}.so")
    library = ctypes.CDLL(str(folder / f"{name}.so"))
    blocks = {block: AlignedMemory(size) for block, size in manifest["bytes"].items()}
    addresses = {block: memory.address for block, memory in blocks.items()}
    if manifest["weights"] == f"{name}_weights":
        symbol = ctypes.c_char.in_dll(library, manifest["weights"])
        addresses["weights"] = ctypes.addressof(symbol)
    elif manifest["weights"]:
        data = (folder / manifest["weights"]).read_bytes()
        ctypes.memmove(addresses["weights"], data, len(data))
    outputs: list[np.ndarray] = []
    for symbol in (f"{name}_setup", f"{name}_main"):
        pointers: list[int] = []
        for slot in manifest["pointers"].get(symbol, []):
            if slot["kind"] == "input":
                pointers.append(arrays[slot["name"]].ctypes.data)
            elif slot["kind"] == "output":
                outputs.append(np.empty(slot["shape"], NUMPY_DTYPES[slot["dtype"]]))
                pointers.append(outputs[-1].ctypes.data)
            else:
                pointers.append(addresses[slot["block"]] + slot["at"])
        if pointers:
            assert getattr(library, symbol)((ctypes.c_void_p * len(pointers))(*pointers)) == 0
    return outputs


@needs_compiler
def test_the_example_in_c(tmp_path: Path) -> None:
    source = str(EXAMPLES / "classifier.mlir")
    assert main([source, "-o", str(tmp_path), "--no-openmp"]) == 0
    cc(tmp_path, str(EXAMPLES / "classifier.c"), "classifier.o", "-lm", "-o", "classifier")
    made = subprocess.run([tmp_path / "classifier"], capture_output=True, text=True, check=True)
    scores = lamina.compile(Path(source))(np.array([0, 2, 4, 1]), np.zeros(3, np.float32))
    numbers, sums = (" ".join(f"{n:g}" for n in scores * times) for times in (1, 2))
    assert made.stdout.splitlines() == [
        f"success: scores {numbers}, sums {sums}",
        "index out of range: must be at least 0 and below 5",
    ]


@needs_compiler
@pytest.mark.parametrize("openmp", [True, False])
def test_as_fast_code_as_in_python(tmp_path: Path, openmp: bool) -> None:
    source = EXAMPLES / "gelu.mlir"
    options = [] if openmp else ["--no-openmp"]
    assert main([str(source), "-o", str(tmp_path), "--prefix", "my_gelu", *options]) == 0
    assert ("GOMP_parallel" in undefined_symbols((tmp_path / "my_gelu.o").read_bytes())) == openmp
    generator = np.random.default_rng(0)
    x = generator.standard_normal((128, 768), np.float32)
    bias = generator.standard_normal(768, np.float32)
    (result,) = called(tmp_path, "my_gelu", {"x": x, "bias": bias})
    np.testing.assert_array_equal(result, lamina.compile(source)(x, bias))


@needs_compiler
def test_weights_in_a_file_and_other_functions(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((16, 600), np.float32)
    w = generator.standard_normal((600, 600), np.float32)
    np.savez(tmp_path / "w.npz", w=w)
    (tmp_path / "product.mlir").write_text(PRODUCT)
    source, folder = str(tmp_path / "product.mlir"), tmp_path / "made" / "here"
    assert main([source, "-o", str(folder), "--constants", str(tmp_path / "w.npz")]) == 0
    assert (folder / "product.weights").stat().st_size == w.nbytes
    (result,) = called(folder, "product", {"x.y": x})
    expected = lamina.compile(PRODUCT, constants={"w": w})(x)
    np.testing.assert_array_equal(result, expected)
    manifest = json.loads((folder / "product.json").read_text())
    assert [argument["c"] for argument in manifest["arguments"]] == ["x_y", "x_y_"]
    two = np.array([1, 2], np.float32)
    assert called(folder, "product_other", {"arg0": two})[0].tolist() == [-1, -2]
    (folder / "both.c").write_text(
        '#include "product.h"\n#include "product_other.h"\nint main(void) { return 0; }\n'
    )
    cc(folder, "-c", "both.c", "-o", "both.o")


@pytest.mark.parametrize("target", ["aarch64", "riscv64", "x86-64-v3"])
def test_other_machines(tmp_path: Path, target: str) -> None:
    source = str(EXAMPLES / "classifier.mlir")
    assert main([source, "-o", str(tmp_path), "--target", target]) == 0
    manifest = json.loads((tmp_path / "classifier.json").read_text())
    found = machine((tmp_path / "classifier.o").read_bytes())
    assert manifest["target"]["triple"].startswith(found)
    assert manifest["messages"] == ["index out of range: must be at least 0 and below 5"]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (EXTERN, [], "linalg.inv: an object file cannot call an extern kernel"),
        (EXTERN, ["--prefix", "a-b"], "'a-b' is no name of C"),
        (PRODUCT.replace("@other", '@"a b"'), [], "@a b is public, and no name of C"),
        (PRODUCT, ["--constants", "v.npz"], "constant 'v': the program has no such parameter"),
        (PRODUCT, ["--target", "vax"], "no target is called 'vax'"),
        (PRODUCT, ["--constants", "nothing.npz"], "cannot use 'nothing.npz'"),
        (PRODUCT.replace("@main", "@maine"), [], "there is no function @main to compile"),
        ("(EXAMPLE)", ["--constants", "count.npz"], "'count' is written by the program"),
    ],
)
def test_refusals(
    text: str,
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[Any],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("v.npz", v=np.zeros(3))
    np.savez("count.npz", count=np.zeros(3, np.float32))
    example = (EXAMPLES / "classifier.mlir").read_text()
    Path("program.mlir").write_text(example if text == "(EXAMPLE)" else text)
    assert main(["program.mlir", "-o", "made", *options]) == 1
    assert said in capsys.readouterr().err
    assert not Path("made").exists(), "nothing is written"
