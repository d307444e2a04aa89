"""Functions of a program may be called as they like, also as functions that code calls."""

import numpy as np
import pytest

import lamina
from lamina.codegen.llvm_emitter.symbols import function_symbol

PROGRAM = """
func.func @main(%x: tensor<9xf64>) -> tensor<9xf64> {
  %0 = func.call @"NAME"(%x) : (tensor<9xf64>) -> tensor<9xf64>
  func.return %0 : tensor<9xf64>
}
func.func private @"NAME"(%x: tensor<9xf64>) -> tensor<9xf64> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [9] reads(%x[i] : tensor<9xf64>) writes([i] store : tensor<9xf64>) {
  ^bb0(%v: f64):
    %two = arith.constant 2.0 : f64
    %r = loop.special "fmod"(%v, %two) : f64
    loop.yield %r : f64
  }
  func.return %0 : tensor<9xf64>
}
"""


@pytest.mark.parametrize(
    "name", ["fmod", "memset", "sched_yield", "a b", "é", "1", "lamina_main", "llvm.sqrt.f32"]
)
def test_any_name_is_compiled(name: str) -> None:
    x = np.linspace(-9, 9, 9)
    compiled = lamina.compile(PROGRAM.replace("NAME", name), cache=False)
    np.testing.assert_array_equal(compiled(x), np.fmod(x, 2))


def test_names_stay_apart() -> None:
    names = ["fmod", "a b", "a$20b", "a.20b", "é", "kernel_0", "", "function.fmod", "setup"]
    assert len({function_symbol(name) for name in names}) == len(names)
    assert function_symbol("f.kernel_12") == "f.kernel_12"
