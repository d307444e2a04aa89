"""Extern kernels that are C code at an address."""

import ctypes
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.runtime.interpreters import run_module

SOURCE = """
#include <stdint.h>
int32_t twice(void **operands) {
  const float *x = operands[0];
  float *out = operands[1];
  for (int i = 0; i < 8; ++i) out[i] = 2 * x[i];
  return 0;
}
int32_t sum_and_difference(void **operands) {
  const float *x = operands[0], *y = operands[1];
  float *sum = operands[2], *difference = operands[3];
  for (int i = 0; i < 8; ++i) sum[i] = x[i] + y[i], difference[i] = x[i] - y[i];
  return 0;
}
int32_t failing(void **operands) { (void)operands; return 7; }
"""
X = np.arange(8, dtype=np.float32)


def program(name: str, options: str = "{}") -> str:
    return f"""
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
      %0 = prims.extern([%x], "{name}", "{options}") : (tensor<8xf32>) -> (tensor<8xf32>)
      %1 = prims.neg(%0) : (tensor<8xf32>) -> tensor<8xf32>
      func.return %1 : tensor<8xf32>
    }}"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("native")
    (folder / "kernels.c").write_text(SOURCE)
    command = [compiler, "-shared", "-fPIC", "kernels.c", "-o", "kernels.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "kernels.so"))


def test_c_code_writes_the_result(library: ctypes.CDLL) -> None:
    mine = lamina.extend("native_kernels")
    mine.native_kernel("native.twice", library.twice, dtypes=("f32",))
    with mine:
        compiled = lamina.compile(program("native.twice"))
        np.testing.assert_array_equal(compiled(X), -2 * X)
        module = lamina.parse(program("native.twice"))
        np.testing.assert_array_equal(run_module(module, [X])[0], -2 * X)
    with pytest.raises(lamina.UnsupportedError, match=r"registered as 'native\.twice'"):
        lamina.compile(program("native.twice"))


def test_code_may_be_chosen_by_the_call(library: ctypes.CDLL) -> None:
    seen: list[Any] = []

    def code(call: Any) -> lamina.NativeCode:
        seen.append((call.options, call.inputs[0].dtype, call.results[0].shape))
        address = ctypes.cast(library.twice, ctypes.c_void_p).value
        return lamina.NativeCode(address or 0, keep=library)

    lamina.native_kernel("native.chosen", code, replace=True)
    compiled = lamina.compile(program("native.chosen", "{\\22n\\22: 3}"))
    np.testing.assert_array_equal(compiled(X), -2 * X)
    assert seen == [({"n": 3}, "f32", (8,))]
    with pytest.raises(lamina.InputError, match=r"'native\.chosen' is registered already"):
        lamina.native_kernel("native.chosen", code)


def test_a_status_ends_the_call(library: ctypes.CDLL) -> None:
    lamina.native_kernel("native.failing", library.failing, replace=True)
    with pytest.raises(lamina.ExecutionError, match=r"extern kernel failed: native\.failing"):
        lamina.compile(program("native.failing"))(X)


def test_what_is_no_code_and_options_that_nobody_reads(library: ctypes.CDLL) -> None:
    for wrong in (0, -1, True, "twice", 1.5):
        with pytest.raises(lamina.InputError, match="is no address of C code"):
            lamina.native_kernel("native.wrong", wrong)
    lamina.native_kernel("native.twice", library.twice, replace=True)
    with pytest.raises(lamina.UnsupportedError, match="C code is not told the options"):
        lamina.compile(program("native.twice", "{\\22n\\22: 3}"))


def test_a_custom_op_of_torch(library: ctypes.CDLL) -> None:
    torch = pytest.importorskip("torch")

    @torch.library.custom_op("native_kernels::both", mutates_args=())
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        raise AssertionError("C code is called instead")

    @both.register_fake
    def _(x: Any, y: Any) -> Any:
        return torch.empty_like(x), torch.empty_like(x)

    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            first, second = torch.ops.native_kernels.both(x, x * 3)
            return first * second

    mine = lamina.extend("native_torch")
    mine.native_kernel("torch.native_kernels.both.default", library.sum_and_difference)
    x = torch.arange(8.0)
    with mine:
        compiled = lamina.compile(torch.export.export(Net(), (x,)))
    torch.testing.assert_close(compiled(x), -8 * x * x)


def test_a_back_end_may_give_code(library: ctypes.CDLL) -> None:
    mine = lamina.extend("native_back_end")

    @mine.backend("native")
    class Native:
        def supports(self, op: Any) -> bool:
            return op.name == "prims.add"

        def compile(self, module: Any) -> lamina.NativeCode:
            return lamina.NativeCode.of(library.twice, "twice")

    text = """
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = aten.add.Tensor(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      func.return %0 : tensor<8xf32>
    }"""
    pipeline = lamina.Pipeline().after("verify-prims", "partition{backend=native}")
    with mine:
        compiled = lamina.compile(text, pipeline=pipeline)
    assert [kernel.name for kernel in compiled.kernels][-1] == "partition.native"
    np.testing.assert_array_equal(compiled(X), 2 * X)
