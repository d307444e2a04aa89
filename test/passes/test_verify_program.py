"""Programs that are not well formed are refused wherever they come in, by the same words."""

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.source import parse_module
from lamina.tools import lamina_opt, lamina_run

NEST = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %c = arith.constant 2.0 : f32
  %r = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {{
  ^bb0(%p: f32):
    %v = arith.mulf %p, {operand} : f32
    %w = arith.mulf %p, %p : f32
    loop.yield %v : f32
  }}
  func.return %r : tensor<4xf32>
}}
"""
FAULTS = {
    "%c": "operand 1 %c is defined where this op cannot see it",
    "%w": "operand 1 %w is used before arith.mulf defines it",
}


@pytest.mark.parametrize("operand", FAULTS)
def test_of_bodies(operand: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = NEST.format(operand=operand)
    module = parse_module(Context(), text)
    for take in (lamina.parse, lamina.compile, lambda _: lamina.compile(module)):
        with pytest.raises(InputError, match=FAULTS[operand]):
            take(text)
    file = tmp_path / "program.mlir"
    file.write_text(text)
    for tool in (lamina_opt, lamina_run):
        assert tool.main([str(file)]) == 1
        assert FAULTS[operand] in capsys.readouterr().err


SCHEDULED = """
func.func @main(%x: memref<4xf32>, %out: memref<4xf32> {{lamina.kind = "output"}},
    %arena: memref<0xi8> {{lamina.kind = "arena"}}) attributes {{lamina.entry}} {{
  func.call @kernel_0(%x, %out) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}}
func.func private @kernel_0(%x: memref<4xf32>, %out: memref<4xf32>) attributes {{lamina.kernel}} {{
  %i = arith.constant 0 : index
  %v = memref.load %x[%i] : memref<4xf32>
  memref.store {stored}, %out[%i] : memref<4xf32>
  %w = arith.mulf %v, %v : f32
  func.return
}}
"""


def test_of_explicit_loops() -> None:
    lamina.compile(parse_module(Context(), SCHEDULED.format(stored="%v")))
    text = SCHEDULED.format(stored="%w")
    module = parse_module(Context(), text)
    for take in (lamina.parse, lamina.compile, lambda _: lamina.compile(module)):
        with pytest.raises(InputError, match=r"operand 0 %w is used before arith\.mulf"):
            take(text)


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1])
def test_indices_have_64_bits(number: int) -> None:
    text = SCHEDULED.format(stored="%v").replace("constant 0 : index", f"constant {number} : index")
    assert str(number) in text
    with pytest.raises(InputError, match=rf"{number} is no index: those have 64 bits"):
        lamina.compile(text)


KERNEL = """
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = func.call @kernel_0(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}
func.func private @kernel_0(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j) in [8, 8] reads(%x[i, j] : tensor<8x8xf32>)
      writes([i, j] store : tensor<8x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [8, 8] reads(%s[j, i] : tensor<8x8xf32>)
      writes([i, j] store : tensor<8x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %r : tensor<8x8xf32>
}
"""


def test_of_kernels_that_are_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = parse_module(Context(), KERNEL)
    message = r"it touches other rows \(d0\) of what a nest in front of it touches"
    for take in (lamina.parse, lamina.compile, lambda _: lamina.compile(module)):
        with pytest.raises(InputError, match=message):
            take(KERNEL)
    file = tmp_path / "program.mlir"
    file.write_text(KERNEL)
    for tool in (lamina_opt, lamina_run):
        assert tool.main([str(file)]) == 1
        assert "it touches other rows (d0)" in capsys.readouterr().err


GROUPS = """
func.func @main(%x: tensor<4x{read}xf32>) -> tensor<4x{read}xf32> {{
  %k = loop.kernel(%y = %x : tensor<4x{read}xf32>) -> (tensor<4x{read}xf32>) {{
    %s = loop.generic (g, i) in [4, {made}] reads(%y[g, i] : tensor<4x{read}xf32>)
        writes([(g * {made}) + i] store : tensor<{all}xf32>)
        attributes {{lamina.nest = #loop.nest<rows = [d0]>}} {{
    ^bb0(%p: f32):
      loop.yield %p : f32
    }}
    %r = loop.generic (g, i) in [4, {read}] reads(%s[(g * {made}) + i{moved}] : tensor<{all}xf32>)
        writes([g, i] store : tensor<4x{read}xf32>)
        attributes {{lamina.nest = #loop.nest<rows = [d0]>}} {{
    ^bb0(%p: f32):
      loop.yield %p : f32
    }}
    loop.return %r : tensor<4x{read}xf32>
  }}
  func.return %k : tensor<4x{read}xf32>
}}
"""


def test_rows_may_share_an_axis_with_other_dimensions() -> None:
    text = GROUPS.format(made=3, read=3, moved="", all=12)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert np.array_equal(lamina.compile(text)(x), x)
    inner = GROUPS.format(made=3, read=2, moved=" + 1", all=12).replace("%y[g, i]", "%y[g, 0]")
    made = lamina.compile(inner)(x[:, :2].copy())
    assert np.array_equal(made, x[:, :1].repeat(2, 1))


@pytest.mark.parametrize(("read", "moved"), [(3, " + -1"), (2, " + 2"), (2, " + -1")])
def test_a_row_that_ends_in_another_is_refused(read: int, moved: str) -> None:
    text = GROUPS.format(made=3, read=read, moved=moved, all=12)
    padded = text.replace(f"{moved}] :", f"{moved}] pad 0.0 : f32 :")
    padded = padded.replace("%y[g, i]", "%y[g, 0]")
    with pytest.raises(InputError, match=r"it touches other rows \(d0\)"):
        lamina.parse(padded)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("%r, %r", "result 1 of a kernel is another result, too"),
        ("%r, %x", "result 1 of a kernel is an argument"),
    ],
)
def test_results_that_no_nest_writes(returned: str, message: str) -> None:
    kind = "tensor<8x8xf32>"
    text = KERNEL.replace("[j, i]", "[i, j]").replace(
        f"-> {kind} attr", f"-> ({kind}, {kind}) attr"
    )
    text = text.replace(
        f"  func.return %r : {kind}\n}}\n", f"  func.return {returned} : {kind}, {kind}\n}}\n"
    )
    first, _, rest = text.partition("func.func private")
    first = first.replace(
        f"%r = func.call @kernel_0(%x) : ({kind}) -> {kind}",
        f"%r, %s = func.call @kernel_0(%x) : ({kind}) -> ({kind}, {kind})",
    )
    first = first.replace(f"func.return {returned} : {kind}, {kind}", f"func.return %r : {kind}")
    with pytest.raises(InputError, match=message):
        lamina.parse(first + "func.func private" + rest)
