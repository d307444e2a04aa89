"""Programs go down with open sizes: at each layer they mean what torch says, whatever sizes are."""

import numpy as np
import pytest
from open_programs import PASSES, PROGRAMS, SIZES, arguments, expected, lowered
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.lowering.pipeline import run_pipeline
from lamina.runtime.interpreters import run_module

RANDOM = """
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]})
    -> (tensor<?x?xf32>, tensor<?x3xf32>) {
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %0 = aten.rand_like.default(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = aten.randn.default([%n, 3]) : (i64) -> tensor<?x3xf32>
  func.return %0, %1 : tensor<?x?xf32>, tensor<?x3xf32>
}
"""


def test_random_numbers_are_the_same_at_each_layer() -> None:
    module = lamina.parse(RANDOM)
    given = [np.zeros(shape, np.float32) for shape in SIZES]
    wanted = [run_module(module, [x], seed=3) for x in given]
    for passes in PASSES:
        run_pipeline(module, passes, Context())
        for x, (uniform, normal) in zip(given, wanted, strict=True):
            found = run_module(lamina.parse(str(module)), [x], seed=3)
            np.testing.assert_allclose(found[0], uniform, rtol=1e-6)
            np.testing.assert_allclose(found[1], normal, rtol=1e-5, atol=1e-6)


def _check(module: ModuleOp, name: str) -> None:
    least, _, shapes = PROGRAMS[name]
    for n, m in SIZES:
        if min(n, m) < least:
            continue
        given = arguments(shapes, n, m)
        found = run_module(module, [tensor.numpy() for tensor in given])
        for one, other in zip(found, expected(name, n, m), strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_each_layer_means_what_torch_says(name: str) -> None:
    for layers in range(1, len(PASSES) + 1):
        _check(lamina.parse(str(lowered(name, layers))), name)  # and the text means the same


@pytest.mark.parametrize(
    "name",
    [
        "softmax",
        "joined",
        "in steps",
        "sorted",
        "added rows",
        "bags",
        "looked up",
        "spectra",
        "solved",
        "branches",
        "rounds",
        "mapped",
    ],
)
def test_loops_with_open_sizes_are_compiled(name: str) -> None:
    compiled = lamina.compile(str(lowered(name)))
    for n, m in ((5, 7), (6, 5), (8, 5), (5, 7)):
        given = arguments(PROGRAMS[name][2], n, m)
        found = compiled(*[tensor.numpy() for tensor in given])
        found = found if isinstance(found, tuple | list) else (found,)
        for one, other in zip(found, expected(name, n, m), strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)
