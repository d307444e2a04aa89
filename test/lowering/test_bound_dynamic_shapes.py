"""Sizes that depend on data, from text: random masks, how results are cut, checks, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import ExecutionError, InputError, UnsupportedError
from lamina.lowering.bound_dynamic_shapes import BoundDynamicShapesPass, program
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower, parse

torch = pytest.importorskip("torch")


SELECTING = """
func.func @main(%x: tensor<7x5xf32>, %m: tensor<7x5xi1>, %r: tensor<7xi1>) ->
    (tensor<?x2xi64>, tensor<?xf32>, tensor<?x5xf32>, tensor<f32>, tensor<?xf32>,
     tensor<7x5xf32>) {
  %n = aten.nonzero.default(%m) : (tensor<7x5xi1>) -> tensor<?x2xi64>
  %s = aten.masked_select.default(%x, %m) : (tensor<7x5xf32>, tensor<7x5xi1>) -> tensor<?xf32>
  %rows = aten.index.Tensor(%x, [%r]) : (tensor<7x5xf32>, tensor<7xi1>) -> tensor<?x5xf32>
  %sum = aten.sum.default(%s) : (tensor<?xf32>) -> tensor<f32>
  %u, %i, %c = aten._unique2.default(%s)
      : (tensor<?xf32>) -> (tensor<?xf32>, tensor<0xi64>, tensor<0xi64>)
  %two = aten.mul.Scalar(%s, 2.0) : (tensor<?xf32>) -> tensor<?xf32>
  %put = aten.index_put.default(%x, [%m], %two)
      : (tensor<7x5xf32>, tensor<7x5xi1>, tensor<?xf32>) -> tensor<7x5xf32>
  func.return %n, %s, %rows, %sum, %u, %put
      : tensor<?x2xi64>, tensor<?xf32>, tensor<?x5xf32>, tensor<f32>, tensor<?xf32>,
        tensor<7x5xf32>
}
"""


@pytest.fixture(scope="module")
def selecting() -> Any:
    return lamina.compile(SELECTING, cache=False)


_BITS = st.lists(st.booleans(), min_size=35, max_size=35)


@settings(deadline=None)
@given(st.one_of(_BITS, st.just([False] * 35), st.just([True] * 35)), st.integers(0, 99))
def test_random_masks(selecting: Any, bits: list[bool], seed: int) -> None:
    x = np.random.default_rng(seed).integers(-3, 4, (7, 5)).astype(np.float32)
    mask, rows = np.reshape(bits, (7, 5)), np.array(bits[:7])
    t, m = torch.from_numpy(x), torch.from_numpy(mask)
    put = t.clone()
    put[m] = t[m] * 2
    expected = [m.nonzero(), t[m], t[torch.from_numpy(rows)], t[m].sum(), t[m].unique(), put]
    for one, other in zip(selecting(x, mask, rows), expected, strict=True):
        np.testing.assert_array_equal(one, other.numpy())


def _text(body: str, result: str, arguments: str = "%x: tensor<8xf32>, %m: tensor<8xi1>") -> str:
    select = (
        "%s = aten.masked_select.default(%x, %m) : (tensor<8xf32>, tensor<8xi1>) -> tensor<?xf32>"
    )
    end = f"func.return %r : {result}"
    return f"func.func @main({arguments}) -> {result} {{\n{select}\n{body}\n{end}\n}}"


def _mask(count: int) -> Any:
    return np.arange(8) < count


def test_results_are_views_or_copies() -> None:
    body = "%r = aten.neg.default(%s) : (tensor<?xf32>) -> tensor<?xf32>"
    program = lamina.compile(_text(body, "tensor<?xf32>"))
    x = np.arange(8, dtype=np.float32)
    for count, shares in ((8, True), (5, True), (3, False), (0, False)):
        result = program(x, _mask(count))
        assert result.shape == (count,)
        assert (not result.flags.owndata) == shares  # in the memory of eight elements
        np.testing.assert_array_equal(result, -x[:count])
    assert [slot.type_text for slot in program.outputs] == ["tensor<?xf32>"]


def test_results_stay_when_the_program_runs_again() -> None:
    body = "%r = aten.neg.default(%s) : (tensor<?xf32>) -> tensor<?xf32>"
    program = lamina.compile(_text(body, "tensor<?xf32>"))
    first = program(np.ones(8, np.float32), _mask(6))
    program(np.zeros(8, np.float32), _mask(6))
    np.testing.assert_array_equal(first, -np.ones(6))


def test_inner_sizes_are_cut_to_contiguous_arrays() -> None:
    body = """%u = aten.unsqueeze.default(%s, 0) : (tensor<?xf32>) -> tensor<1x?xf32>
  %r = aten.expand.default(%u, [3, -1]) : (tensor<1x?xf32>) -> tensor<3x?xf32>"""
    program = lamina.compile(_text(body, "tensor<3x?xf32>"))
    result = program(np.arange(8, dtype=np.float32), _mask(5))
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, np.tile(np.arange(5), (3, 1)))


@pytest.mark.parametrize("limits", ["", "{lamina.limits = array<i64: 65536>}"])
def test_bincount_has_a_bound_or_none(limits: str) -> None:
    text = f"""func.func @main(%x: tensor<4xi64>) -> tensor<?xi64> {{
  %r = aten.bincount.default(%x) {limits} : (tensor<4xi64>) -> tensor<?xi64>
  func.return %r : tensor<?xi64>
}}"""
    program = lamina.compile(text)
    assert len(program.stages) == (1 if limits else 2)
    np.testing.assert_array_equal(program(np.array([1, 3, 3, 0])), [1, 1, 0, 2])
    assert program(np.array([0, 0, 0, 65535])).shape == (65536,)
    for number in (65536, -1, 2**62) if limits else (-1, 2**62):
        with pytest.raises(ExecutionError):
            program(np.array([0, 0, 0, number]))


CHECKED = {
    "has no elements": "%r = aten.amax.default(%s) : (tensor<?xf32>) -> tensor<f32>",
    "index is out of range": "%r = aten.select.int(%s, 0, 4) : (tensor<?xf32>) -> tensor<f32>",
    "fewer than k = 3": (
        "%t, %i = aten.topk.default(%s, 3) : (tensor<?xf32>) -> (tensor<3xf32>, tensor<3xi64>)\n"
        "%r = aten.sum.default(%t) : (tensor<3xf32>) -> tensor<f32>"
    ),
    "the program's own words": (
        "%n = aten.sym_size.int(%s, 0) : (tensor<?xf32>) -> i64\n"
        "%one = arith.constant 1 : i64\n"
        "%c = arith.cmpi sge, %n, %one : i64\n"
        """aten._assert_scalar.default(%c, "the program's own words") : (i1) -> ()\n"""
        "%r = aten.sum.default(%s) : (tensor<?xf32>) -> tensor<f32>"
    ),
}


@pytest.mark.parametrize("message", CHECKED)
def test_checks_at_run_time(message: str) -> None:
    program = lamina.compile(_text(CHECKED[message], "tensor<f32>"))
    program(np.ones(8, np.float32), _mask(8))
    with pytest.raises(ExecutionError, match=message):
        program(np.ones(8, np.float32), _mask(0))


REFUSED = {
    "no upper bound": (
        "%t = aten._to_copy.default(%s, dtype = i64) : (tensor<?xf32>) -> tensor<?xi64>\n"
        "%r = aten.repeat_interleave.Tensor(%t) : (tensor<?xi64>) -> tensor<?xi64>",
        "tensor<?xi64>",
    ),
    "cannot compute on sizes that depend on data": (
        "%u = aten.unsqueeze.default(%s, 1) : (tensor<?xf32>) -> tensor<?x1xf32>\n"
        "%r = aten.renorm.default(%u, 2, 0, 1) : (tensor<?x1xf32>) -> tensor<?x1xf32>",
        "tensor<?x1xf32>",
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refusals_name_the_place_and_what_would_work(reason: str) -> None:
    body, result = REFUSED[reason]
    with pytest.raises(UnsupportedError, match=reason) as caught:
        BoundDynamicShapesPass().apply(Context(), parse(_text(body, result)))
    assert caught.value.location is not None
    assert caught.value.nearest


def test_arguments_without_a_bound_are_refused() -> None:
    module = lamina.parse(
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  func.return %x : tensor<?xf32>\n}"
    )
    with pytest.raises(UnsupportedError, match=r"the size arg0.shape\[0\] has no upper bound"):
        lower(module, "aten", "functional", Target.host())


def test_places_outside_the_elements_are_an_error() -> None:
    body = """%i = aten.full.default([1], 6, dtype = i64) : () -> tensor<1xi64>
  %r = aten.index.Tensor(%s, [%i]) : (tensor<?xf32>, tensor<1xi64>) -> tensor<1xf32>"""
    program = lamina.compile(_text(body, "tensor<1xf32>"))
    assert program(np.arange(8, dtype=np.float32), _mask(7)) == [6]
    with pytest.raises(ExecutionError, match="index"):
        program(np.arange(8, dtype=np.float32), _mask(6))


def test_text_runs_under_the_interpreter() -> None:
    module = parse(SELECTING)
    x = np.arange(35, dtype=np.float32).reshape(7, 5)
    results = run_module(module, [x, x > 20, np.zeros(7, bool)])
    np.testing.assert_array_equal(results[1], x[x > 20])
    assert results[2].shape == (0, 5)


REPEATED = """func.func @main(%r: tensor<3xi64>) -> tensor<?xi64> {{
  %n = aten.repeat_interleave.Tensor(%r) {{lamina.limits = {}}} : (tensor<3xi64>) -> tensor<?xi64>
  func.return %n : tensor<?xi64>
}}"""


def _nested(depth: int, value: str) -> str:
    if depth == 0:
        return f"%r0 = aten.neg.default({value}) : (tensor<4xf32>) -> tensor<4xf32>"
    return f"""%r{depth} = control.cond if(%p{depth}) with({value}, %p{depth})
    : (tensor<i1>, tensor<4xf32>, tensor<i1>) -> tensor<4xf32> then {{
^bb0(%a{depth}: tensor<4xf32>, %p{depth - 1}: tensor<i1>):
  {_nested(depth - 1, f"%a{depth}")}
  control.yield %r{depth - 1} : tensor<4xf32>
}} else {{
^bb0(%b{depth}: tensor<4xf32>, %q{depth}: tensor<i1>):
  control.yield %b{depth} : tensor<4xf32>
}}"""


def test_nested_regions_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 24
    module = parse(f"""func.func @main(%x: tensor<4xf32>, %p{depth}: tensor<i1>) -> tensor<4xf32> {{
  {_nested(depth, "%x")}
  func.return %r{depth} : tensor<4xf32>
}}""")
    count, seen = sum(1 for _ in module.walk()), list[Operation]()
    concerns = program._concerns  # pyright: ignore[reportPrivateUsage]

    def counted(op: Operation) -> bool:
        seen.append(op)
        assert len(seen) <= count
        return concerns(op)

    monkeypatch.setattr(program, "_concerns", counted)
    BoundDynamicShapesPass().apply(Context(), module)
    assert seen


@pytest.mark.parametrize(
    "limits", ["array<i64>", "array<i64: 9, 9>", "array<i32: 9>", "9 : i64", "[9]", '"9"']
)
def test_limits_of_other_forms_are_refused(limits: str) -> None:
    with pytest.raises(InputError, match=r"^p:2:3: error: .* lamina.limits = .*: it is array<i64"):
        BoundDynamicShapesPass().apply(Context(), parse(REPEATED.format(limits), name="p"))


def test_a_stated_limit_is_the_bound() -> None:
    module = parse(REPEATED.format("array<i64: 9>"))
    BoundDynamicShapesPass().apply(Context(), module)
    assert "tensor<9xi64>" in str(module)
