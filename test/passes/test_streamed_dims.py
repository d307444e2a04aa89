"""Kernels that walk a dimension in blocks give what they gave, interpreted and compiled."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

import lamina
from lamina.passes.fusion.stream_dims import StreamDimsPass
from lamina.runtime.interpreters.run import run_module

ROWS, KEYS = 20, 133
PROGRAM = f"""
func.func @main(%q: tensor<{ROWS}x16xf32> {{lamina.name = "q"}}, %k: tensor<5x16x32xf32> {{lamina.name = "k"}}, %v: tensor<1x{KEYS}x32xf32> {{lamina.name = "v"}}) -> tensor<{ROWS}x32xf32> {{
  %r = func.call @softmax(%q, %k, %v) : (tensor<{ROWS}x16xf32>, tensor<5x16x32xf32>, tensor<1x{KEYS}x32xf32>) -> tensor<{ROWS}x32xf32>
  func.return %r : tensor<{ROWS}x32xf32>
}}
func.func private @softmax(%q: tensor<{ROWS}x16xf32>, %k: tensor<5x16x32xf32>, %v: tensor<1x{KEYS}x32xf32>) -> tensor<{ROWS}x32xf32> attributes {{lamina.kernel}} {{
  %s = loop.generic (i, j, f) in [{ROWS}, {KEYS}, 16] reads(%q[i, f] : tensor<{ROWS}x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<5x16x32xf32>) writes([i, j] add : tensor<{ROWS}x{KEYS}xf32>) attributes {{lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>}} {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }}
  %m = loop.generic (i, j) in [{ROWS}, {KEYS}] reads(%s[i, j] : tensor<{ROWS}x{KEYS}xf32>) writes([i] max : tensor<{ROWS}xf32>) attributes {{lamina.nest = #loop.nest<rows = [d0]>}} {{
  ^bb0(%x: f32):
MASK
    loop.yield %y : f32
  }}
  %e = loop.generic (i, j) in [{ROWS}, {KEYS}] reads(%s[i, j] : tensor<{ROWS}x{KEYS}xf32>, %m[i] : tensor<{ROWS}xf32>) writes([i, j] store : tensor<{ROWS}x{KEYS}xf32>) attributes {{lamina.nest = #loop.nest<rows = [d0]>}} {{
  ^bb0(%x: f32, %l: f32):
MASK
    %z = arith.subf %y, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }}
  %t = loop.generic (i, j) in [{ROWS}, {KEYS}] reads(%e[i, j] : tensor<{ROWS}x{KEYS}xf32>) writes([i] add : tensor<{ROWS}xf32>) attributes {{lamina.nest = #loop.nest<rows = [d0]>}} {{
  ^bb0(%x: f32):
    loop.yield %x : f32
  }}
  %o = loop.generic (i, f, j) in [{ROWS}, 32, {KEYS}] reads(%e[i, j] : tensor<{ROWS}x{KEYS}xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x{KEYS}x32xf32>) writes([i, f] add : tensor<{ROWS}x32xf32>) attributes {{lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>}} {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }}
  %p = loop.generic (i, f) in [{ROWS}, 32] reads(%o[i, f] : tensor<{ROWS}x32xf32>, %t[i] : tensor<{ROWS}xf32>) writes([i, f] store : tensor<{ROWS}x32xf32>) attributes {{lamina.nest = #loop.nest<rows = [d0]>}} {{
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }}
  func.return %p : tensor<{ROWS}x32xf32>
}}
"""  # noqa: E501 - lines of IR
MASKS = {
    "none": "    %zero = arith.constant 0.0 : f32\n    %y = arith.subf %x, %zero : f32",
    "late": """    %j = loop.index 1 : index
    %i = loop.index 0 : index
    %eight = arith.constant 8 : index
    %scaled = arith.muli %i, %eight : index
    %before = arith.constant -9 : index
    %last = arith.addi %scaled, %before : index
    %c = arith.cmpi sle, %j, %last : index
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32""",
}


def arguments() -> list[np.ndarray]:
    made = np.random.default_rng(3)
    shapes = [(ROWS, 16), (5, 16, 32), (1, KEYS, 32)]
    q, k, v = (made.standard_normal(shape, np.float32) for shape in shapes)
    q[3], q[4, 2], k[1, 5, 7], v[0, 40, 3] = -inf, inf, -200, nan
    return [q, k, v]


@pytest.mark.parametrize("mask", MASKS)
def test_in_blocks(mask: str) -> None:
    text, given = PROGRAM.replace("MASK", MASKS[mask]), arguments()
    (wanted,) = run_module(lamina.parse(text), given)
    assert not np.isnan(wanted).all()
    module = lamina.parse(text)
    StreamDimsPass(block=32).apply(lamina.Context(), module)
    assert "lamina.stream" in str(module)
    (found,) = run_module(module, given)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    compiled = lamina.compile(module, cache=False)
    np.testing.assert_allclose(compiled(*given), wanted, rtol=1e-5, atol=1e-6)
    (found,) = run_module(lamina.parse(compiled.ir("scheduled")), given)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_bounds_and_blocks() -> None:
    from lamina.passes.fusion.bound_dims import BoundDimsPass

    text, given = PROGRAM.replace("MASK", MASKS["late"]), arguments()
    (wanted,) = run_module(lamina.parse(text), given)
    module = lamina.parse(text)
    StreamDimsPass(block=32).apply(lamina.Context(), module)
    BoundDimsPass().apply(lamina.Context(), module)
    assert "lamina.stream" in str(module)
    assert "lamina.bounds" in str(module)
    (found,) = run_module(module, given)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    compiled = lamina.compile(module, cache=False)
    np.testing.assert_allclose(compiled(*given), wanted, rtol=1e-5, atol=1e-6)
    (found,) = run_module(lamina.parse(compiled.ir("scheduled")), given)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_what_follows_scores_of_a_block_is_computed_of_their_tiles() -> None:
    half = f"""
  %h = loop.generic (i, j) in [{ROWS}, {KEYS}] reads(%s[i, j] : tensor<{ROWS}x{KEYS}xf32>)
      writes([i, j] store : tensor<{ROWS}x{KEYS}xf32>)
      attributes {{lamina.nest = #loop.nest<rows = [d0]>}} {{
  ^bb0(%x: f32):
    %half = arith.constant 0.5 : f32
    %y = arith.mulf %x, %half : f32
    loop.yield %y : f32
  }}
"""
    scores, rest = PROGRAM.replace("MASK", MASKS["none"]).split("  %m =")
    text = f"{scores}{half}  %m ={rest.replace('%s[i, j]', '%h[i, j]')}"
    given = arguments()
    (wanted,) = run_module(lamina.parse(text), given)
    module = lamina.parse(text)
    StreamDimsPass(block=32).apply(lamina.Context(), module)
    assert str(module).count("lamina.stream") == 6
    kernel = lamina.compile(module, cache=False).kernels[-1]
    first, _, _, *others = (kernel.schedule or "").split("#loop.schedule<")[1:]
    head = (kernel.schedule or "").partition("#loop.schedule<")[0]
    nests = [first, "compute_with>, ", "vectorize = d1 x 8>, ", *others]
    schedules = {kernel.name: "#loop.schedule<".join([head, *nests])}
    made = lamina.compile(module, schedules=schedules, cache=False)
    assert "#loop.schedule<compute_with>, #loop.schedule<vectorize" in made.kernels.schedules()
    np.testing.assert_allclose(made(*given), wanted, rtol=1e-5, atol=1e-6)
