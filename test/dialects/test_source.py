"""Reading text: whatever is wrong with it, the answer is an `InputError` that fits a screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.source import decode_source, nearest, parse_module

PROGRAMS = (
    """func.func @main(%a: tensor<2x3xf32> {lamina.name = "a"},
                %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = aten.add.Tensor(%a, %b, alpha = 2) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = aten.cat.default([%0, %a], dim = -1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %2 = aten.slice.Tensor(%1, dim = 1, start = 0, end = 3) : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %3 = aten._to_copy.default(%2, dtype = f64) : (tensor<2x3xf32>) -> tensor<2x3xf64>
  func.return %2 : tensor<2x3xf32>
}
""",
    """func.func @main(%a: tensor<4x8xf32>, %x: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %r = loop.generic (d0, d1, d2) in [4, 8, 8]
         reads(%a[d0, d2] : tensor<4x8xf32>, %x[d1, d2 - 1] pad 0.0 : f32 : tensor<8x8xf32>)
         writes([d0, d1] add : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x8xf32>
}
""",
    """func.func @main(%x: memref<64xf32>, %n: index) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    %v = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
    vector.store %v, %x[%i] : memref<64xf32>, vector<8xf32>
    scf.yield
  }
  func.return
}
""",
)
WORDS = """
% ( ) [ ] { } < > , : = -> - " ? x 0 -1 1e999 99999999999999999999 none true é / // @ \\ %a ^bb0
#map !t loc( f32 i1 d0 dense<1> tensor<?xf32> aten.relu.default loop.yield
"""
PIECES = st.sampled_from(WORDS.split())


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_valid_to_begin_with(program: str) -> None:
    module = parse_module(Context(), program)
    assert str(parse_module(Context(), str(module))) == str(module)


@given(
    program=st.sampled_from(PROGRAMS),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), PIECES | st.just("")), min_size=1, max_size=3
    ),
)
def test_edited_programs_parse_or_are_refused(
    program: str, edits: list[tuple[float, int, str]]
) -> None:
    text = program
    for place, removed, piece in edits:
        start = int(place * len(text))
        text = text[:start] + piece + text[start + removed :]
    try:
        parse_module(Context(), text, "edited.mlir")
    except InputError as error:
        message = str(error)
        assert message.startswith(("edited.mlir:", "error:")), message
        assert len(message.splitlines()) < 20


@given(data=st.binary(max_size=200))
def test_any_bytes_parse_or_are_refused(data: bytes) -> None:
    try:
        parse_module(Context(), data, "bytes.mlir")
    except InputError as error:
        assert str(error).startswith("bytes.mlir:")


def test_place_of_a_byte_that_is_no_text() -> None:
    with pytest.raises(InputError, match=r"^f\.mlir:2:3: error: not UTF-8 text \(byte 0xff\)"):
        decode_source(b"ab\ncd\xff", "f.mlir")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten.gelu", "aten.gelu.default"),
        ("aten.gleu.default", "aten.gelu.default"),
        ("nothing_like_it", None),
    ],
)
def test_nearest(name: str, expected: str | None) -> None:
    names = ["aten.add.Tensor", "aten.gelu.out", "aten.gelu.default"]
    assert next(iter(nearest(name, names)), None) == expected
