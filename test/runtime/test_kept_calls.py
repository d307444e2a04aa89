"""Functions marked `no_inline`: each is compiled once and called, and gives what inlining gives."""

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.runtime.interpreters.run import run_module
from lamina.tools.lamina_compile import main as lamina_compile

pytestmark = pytest.mark.one_in(2)

MARK = " attributes {no_inline}"
F32 = np.float32
ROWS = np.linspace(-2, 2, 7 * 33, dtype=F32).reshape(7, 33)
HEAD = "dense<[" + ", ".join(f"[{n}.0, {-n}.5]" for n in range(33)) + "]>"

BLOCK = f"""
func.func @main(%x: tensor<7x33xf32>, %i: tensor<3xi64>) -> (tensor<3x2xf32>, tensor<7x33xf32>) {{
  %0, %n = func.call @norm(%x) : (tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7xf32>)
  %1, %m = func.call @norm(%0) : (tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7xf32>)
  %2 = func.call @pick(%1, %i) : (tensor<7x33xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  %3 = aten.add.Tensor(%1, %x) : (tensor<7x33xf32>, tensor<7x33xf32>) -> tensor<7x33xf32>
  func.return %2, %3 : tensor<3x2xf32>, tensor<7x33xf32>
}}
func.func private @norm(%x: tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7xf32>){MARK} {{
  %0 = aten.softmax.int(%x, 1) : (tensor<7x33xf32>) -> tensor<7x33xf32>
  %1 = aten.cumsum.default(%0, 0) : (tensor<7x33xf32>) -> tensor<7x33xf32>
  %2 = aten.amax.default(%1, [1]) : (tensor<7x33xf32>) -> tensor<7xf32>
  func.return %1, %2 : tensor<7x33xf32>, tensor<7xf32>
}}
func.func private @pick(%x: tensor<7x33xf32>, %i: tensor<3xi64>) -> tensor<3x2xf32>{MARK} {{
  %w = arith.constant {HEAD} : tensor<33x2xf32>
  %0, %n = func.call @norm(%x) : (tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7xf32>)
  %1 = aten.index_select.default(%0, 0, %i) : (tensor<7x33xf32>, tensor<3xi64>) -> tensor<3x33xf32>
  %2 = aten.matmul.default(%1, %w) : (tensor<3x33xf32>, tensor<33x2xf32>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}}
"""

WRITES = f"""
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
  %0 = func.call @bump(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = aten.slice.Tensor(%x, 0, 0, 2) : (tensor<4xf32>) -> tensor<2xf32>
  func.call @double(%v) : (tensor<2xf32>) -> ()
  %1 = aten.add.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}}
func.func private @bump(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>{MARK} {{
  %0 = aten.exp.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.add_.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}}
func.func private @double(%x: tensor<2xf32>){MARK} {{
  %0 = aten.mul_.Tensor(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}}
"""

REGIONS = f"""
func.func @main(%p: tensor<i1>, %n: tensor<i64>, %x: tensor<9xf32>) -> tensor<9xf32> {{
  %0 = control.cond if(%p) with(%x) : (tensor<i1>, tensor<9xf32>) -> tensor<9xf32> then {{
  ^bb0(%a: tensor<9xf32>):
    %n1 = func.call @step(%a) : (tensor<9xf32>) -> tensor<9xf32>
    control.yield %n1 : tensor<9xf32>
  }} else {{
  ^bb0(%a: tensor<9xf32>):
    control.yield %a : tensor<9xf32>
  }}
  %k, %1 = control.while from(%n, %0) : (tensor<i64>, tensor<9xf32>) -> (tensor<i64>, tensor<9xf32>) test {{
  ^bb0(%m: tensor<i64>, %a: tensor<9xf32>):
    %zero = aten.gt.Scalar(%m, 0) : (tensor<i64>) -> tensor<i1>
    control.yield %zero : tensor<i1>
  }} do {{
  ^bb0(%m: tensor<i64>, %a: tensor<9xf32>):
    %l = aten.sub.Scalar(%m, 1) : (tensor<i64>) -> tensor<i64>
    %b = func.call @step(%a) : (tensor<9xf32>) -> tensor<9xf32>
    control.yield %l, %b : tensor<i64>, tensor<9xf32>
  }}
  func.return %1 : tensor<9xf32>
}}
func.func private @step(%x: tensor<9xf32>) -> tensor<9xf32>{MARK} {{
  %0 = aten.cumsum.default(%x, 0) : (tensor<9xf32>) -> tensor<9xf32>
  %1 = aten.tanh.default(%0) : (tensor<9xf32>) -> tensor<9xf32>
  func.return %1 : tensor<9xf32>
}}
"""  # noqa: E501 - an op on one line

NUMBERS = f"""
func.func @main(%x: tensor<5xf32>, %a: f32) -> tensor<5xf32> {{
  %0 = func.call @scale(%x, %a) : (tensor<5xf32>, f32) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}}
func.func private @scale(%x: tensor<5xf32>, %a: f32) -> tensor<5xf32>{MARK} {{
  %0 = aten.mul.Scalar(%x, %a) : (tensor<5xf32>, f32) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}}
"""


def several(result: Any) -> list[np.ndarray]:
    """Results as a list."""
    return list(result) if isinstance(result, tuple | list) else [result]


PROGRAMS: dict[str, tuple[str, Sequence[Any]]] = {
    "block": (BLOCK, (ROWS, np.array([6, 0, 3]))),
    "writes": (WRITES, (np.arange(4, dtype=F32), np.ones(4, F32))),
    "branch": (REGIONS, (np.array(True), np.array(2), np.linspace(-1, 1, 9, dtype=F32))),
    "no branch": (REGIONS, (np.array(False), np.array(0), np.linspace(-1, 1, 9, dtype=F32))),
    "numbers": (NUMBERS, (np.arange(5, dtype=F32), np.array(1.5, F32))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gives_what_inlining_gives(name: str) -> None:
    text, arguments = PROGRAMS[name]
    kept, inlined = lamina.compile(text), lamina.compile(text.replace(MARK, ""))
    assert any("." in kernel.name for kernel in kept.kernels)
    ours = [np.array(value) for value in arguments]
    theirs = [np.array(value) for value in arguments]
    for one, other in zip(several(kept(*ours)), several(inlined(*theirs)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)
    for one, other in zip(ours, theirs, strict=True):  # what was written
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "layer", ["aten", "core_aten", "prims", "loop", "fused", "bufferized", "scheduled"]
)
def test_each_layer_runs_and_goes_on(name: str, layer: str) -> None:
    text, arguments = PROGRAMS[name]
    compiled = lamina.compile(text)
    wanted = several(compiled(*(np.array(value) for value in arguments)))
    stopped = compiled.ir(layer)
    made = run_module(lamina.parse(stopped), [np.array(value) for value in arguments])
    for one, other in zip(made, wanted, strict=False):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    again = lamina.compile(stopped)
    for one, other in zip(several(again(*(np.array(v) for v in arguments))), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_callee_is_compiled_once() -> None:
    kept = lamina.compile(BLOCK)
    kernels = {kernel.name: kernel.calls for kernel in kept.kernels}
    assert {calls for name, calls in kernels.items() if name.startswith("norm.")} == {3}
    assert kept.ir("llvm").count("define internal void @norm.main(") == 1


def test_a_mark_of_one_call() -> None:
    text = BLOCK.replace(MARK, "").replace("@norm(%0) :", "@norm(%0) {no_inline} :")
    names = {k.name: k.calls for k in lamina.compile(text).kernels if k.name.startswith("norm.")}
    assert set(names.values()) == {1}
    x, i = PROGRAMS["block"][1]
    for one, other in zip(lamina.compile(text)(x, i), lamina.compile(BLOCK)(x, i), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6)


def test_a_public_function_is_an_entry_and_called() -> None:
    compiled = lamina.compile(BLOCK.replace("func private @norm", "func @norm"))
    assert list(compiled.entries) == ["main", "norm"]
    exps = np.exp(ROWS)
    wanted = np.cumsum(exps / exps.sum(1, keepdims=True), 0)
    np.testing.assert_allclose(compiled.entries["norm"](ROWS)[0], wanted, rtol=1e-5)


def test_a_check_that_fails_in_a_callee() -> None:
    inlined = lamina.compile(BLOCK.replace(MARK, ""))
    for program in (lamina.compile(BLOCK), inlined):
        with pytest.raises(lamina.ExecutionError, match=r"index out of range.*below 7"):
            program(ROWS, np.array([0, 7, 1]))
        program(ROWS, np.array([0, 6, 1]))


def test_threads() -> None:
    compiled, (x, i) = lamina.compile(BLOCK), PROGRAMS["block"][1]
    wanted = [compiled(n * x, i)[1] for n in range(8)]
    with ThreadPoolExecutor(2) as pool:
        for one, other in zip(
            pool.map(lambda n: compiled(n * x, i)[1], range(8)), wanted, strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_saved_and_loaded(tmp_path: Path) -> None:
    compiled, (x, i) = lamina.compile(BLOCK), PROGRAMS["block"][1]
    compiled.save(tmp_path / "block")
    for one, other in zip(lamina.load(tmp_path / "block")(x, i), compiled(x, i), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_disk_cache_tells_callees_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    x = np.arange(5, dtype=F32)
    for _ in range(2):
        for name, wanted in (("mul", 2 * x), ("add", x + 2)):
            text = NUMBERS.replace("aten.mul", f"aten.{name}")
            np.testing.assert_array_equal(lamina.compile(text)(x, 2.0), wanted)


WEIGHT = [[(7 * row + column) % 5 - 2.0 for column in range(64)] for row in range(64)]
SQUARE = "tensor<64x64xf32>"
PRODUCT = f"({SQUARE}, {SQUARE}) -> {SQUARE}"
WEIGHTS = f"""
func.func @main(%x: {SQUARE},
    %w: {SQUARE} {{lamina.kind = "parameter", lamina.name = "w"}}) -> {SQUARE} {{
  %0 = aten.linear.default(%x, %w) : {PRODUCT}
  %1 = func.call @twice(%0) : ({SQUARE}) -> {SQUARE}
  %2 = func.call @layer(%1) : ({SQUARE}) -> {SQUARE}
  func.return %2 : {SQUARE}
}}
func.func private @layer(%x: {SQUARE}) -> {SQUARE}{MARK} {{
  %w = arith.constant dense<{WEIGHT}> : {SQUARE}
  %0 = aten.linear.default(%x, %w) : {PRODUCT}
  func.return %0 : {SQUARE}
}}
func.func private @twice(%x: {SQUARE}) -> {SQUARE}{MARK} {{
  %0 = func.call @layer(%x) : ({SQUARE}) -> {SQUARE}
  %1 = func.call @layer(%0) : ({SQUARE}) -> {SQUARE}
  func.return %1 : {SQUARE}
}}
"""


def test_constants_of_callees_are_prepared_once() -> None:
    w = np.random.default_rng(0).standard_normal((64, 64)).astype(F32)
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(F32)
    kept = lamina.compile(WEIGHTS, constants={"w": w})
    wanted = np.linalg.multi_dot([np.float64(m) for m in (x, w.T, *[np.array(WEIGHT).T] * 3)])
    # Of four sums of 64 products, each rounded: some units of the largest element.
    apart = 8 * np.finfo(F32).eps * np.abs(wanted).max()
    np.testing.assert_allclose(kept(x), wanted, rtol=0, atol=apart)
    linked = kept.ir("scheduled")
    setup = linked.partition("func.func @setup")[2].partition("func.return")[0]
    assert setup.count("call @layer.setup") == 1 and setup.count("call @") == 2
    (made,) = run_module(lamina.parse(linked), {"arg0": x, "w": w})
    np.testing.assert_allclose(made, wanted, rtol=0, atol=apart)
    assert [slot.name for slot in kept.native.slots if slot.kind == "prepared"] == [
        "prepared0",
        "layer.prepared0",
    ]


C_MAIN = r"""
#include <stdio.h>
#include "kept.h"
static _Alignas(64) char workspace[KEPT_WORKSPACE_BYTES];
int main(void) {
  float x[4] = {0, 1, 2, 3}, y[4] = {1, 1, 1, 1}, out0[4], out1[4];
  struct kept_memory memory = {0, 0, workspace};
  if (kept_prepare(&memory) || kept(x, y, out0, out1, &memory)) return 1;
  printf("%g %g %g %g", x[0], x[1], x[2], x[3]);
  return 0;
}
"""


def test_object_files(tmp_path: Path) -> None:
    (tmp_path / "kept.mlir").write_text(WRITES)
    assert lamina_compile([str(tmp_path / "kept.mlir"), "-o", str(tmp_path), "--no-openmp"]) == 0
    compiler = which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "main.c").write_text(C_MAIN)
    run = str(tmp_path / "run")
    made = [compiler, str(tmp_path / "main.c"), str(tmp_path / "kept.o"), "-lm", "-o", run]
    subprocess.run(made, check=True)
    printed = subprocess.run([run], capture_output=True, text=True, check=True).stdout
    assert printed == "1 4 3 4"


def refused(text: str) -> str:
    """The message that a program gets."""
    with pytest.raises(lamina.LaminaError) as caught:
        lamina.compile(text)
    return str(caught.value)


def test_a_module_that_calls_itself_is_refused() -> None:
    call = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = loop.extern "call.doubled" {} (%x : tensor<2xf32>) : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }"""
    assert "'doubled' calls itself" in refused(f"{call}\nbuiltin.module @doubled {{ {call} }}")


def test_recursion_is_refused() -> None:
    text = (
        BLOCK.replace("aten.softmax.int(%x, 1)", "func.call @again(%x)")
        + """
func.func private @again(%x: tensor<7x33xf32>) -> tensor<7x33xf32> attributes {no_inline} {
  %0, %1 = func.call @norm(%x) : (tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7xf32>)
  func.return %0 : tensor<7x33xf32>
}"""
    )
    message = refused(text)
    assert "@norm calls @again calls @norm: recursion is not compiled" in message


def test_a_circle_of_linked_functions_is_refused() -> None:
    linked = lamina.compile(NUMBERS).ir("scheduled")
    kernel = next(line.strip() for line in linked.splitlines() if "@scale.kernel_0(" in line)
    callee = "func.call @scale.main(%x, %a, %out, %arena) : "
    callee += "(memref<5xf32>, memref<f32>, memref<5xf32>, memref<0xi8>) -> ()"
    assert "@scale.main calls @scale.main" in refused(linked.replace(kernel, callee))


ONE_OP = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> RESULT
  func.return %x : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> RESULT attributes {no_inline} {
  %0 = aten.OP.default(%x) : (tensor<4xf32>) -> RESULT
  func.return %0 : RESULT
}
"""


def test_what_only_a_whole_program_does_is_refused() -> None:
    text = ONE_OP.replace("RESULT", "tensor<4xf32>").replace("OP", "bernoulli")
    message = refused(text.replace("return %x", "return %0"))
    assert "@f stays a function, and draws random numbers" in message and "<text>:6:1" in message
    message = refused(ONE_OP.replace("RESULT", "tensor<?x1xi64>").replace("OP", "nonzero"))
    assert "gives tensor<?x1xi64>, which is no tensor of known size" in message


SHARED = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  ARGUMENTS
  %1 = aten.mul_.Tensor(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}
func.func private @view(%x: tensor<4xf32>) -> tensor<4xf32> attributes {no_inline} {
  %0 = aten.view.default(%x, [4]) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @bump(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
    attributes {no_inline} {
  %0 = aten.add_.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.exp.default(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""


def test_memory_that_is_shared_is_refused() -> None:
    view = "%0 = func.call @view(%x) : (tensor<4xf32>) -> tensor<4xf32>"
    bump = """%v = aten.view.default(%x, [4]) : (tensor<4xf32>) -> tensor<4xf32>
    %0 = func.call @bump(%x, %v) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"""
    assert "@view gives back memory of its arguments" in refused(SHARED.replace("ARGUMENTS", view))
    assert "memory is that of argument 1" in refused(SHARED.replace("ARGUMENTS", bump))
    read = SHARED.replace("ARGUMENTS", view).replace("aten.mul_.", "aten.mul.")
    lamina.compile(read)
