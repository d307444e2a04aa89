"""Arguments whose sizes follow from several others: sums and products of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ArgumentError
from lamina.runtime.sized import SizedCompiled

CACHE = """
func.func @main(%past: tensor<?x8xf32> {lamina.dims = [#lamina.size<past in [0, 300]>]},
                %new: tensor<?x8xf32> {lamina.dims = [#lamina.size<new in [0, 300]>]},
                %mask: tensor<?x1xf32> {lamina.dims = [#lamina.size<past + new>]},
                %wide: tensor<?xf32> {lamina.dims = [#lamina.size<2 * past + new + 1>]})
    -> (tensor<?x8xf32>, tensor<8xf32>, tensor<?xf32>) {
  %0 = aten.cat.default([%past, %new]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = aten.mul.Tensor(%0, %mask) : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %2 = aten.sum.dim_IntList(%1, dim = [0]) : (tensor<?x8xf32>) -> tensor<8xf32>
  %3 = aten.neg.default(%wide) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %1, %2, %3 : tensor<?x8xf32>, tensor<8xf32>, tensor<?xf32>
}
"""

ROWS = """
func.func @main(%x: tensor<?x?x4xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<length>]},
                %y: tensor<?x4xf32> {lamina.dims = [#lamina.size<batch * length>]})
    -> tensor<?x4xf32> {
  %b = aten.sym_size.int(%x, 0) : (tensor<?x?x4xf32>) -> i64
  %n = aten.sym_size.int(%x, 1) : (tensor<?x?x4xf32>) -> i64
  %all = arith.muli %b, %n : i64
  %0 = aten.reshape.default(%x, [%all, 4]) : (tensor<?x?x4xf32>, i64) -> tensor<?x4xf32>
  %1 = aten.add.Tensor(%0, %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}
"""

PAIRS = ((3, 2), (0, 0), (1, 0), (0, 1), (1, 1), (255, 1), (256, 7), (7, 257), (300, 300))


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def cache(past: int, new: int) -> tuple[np.ndarray, ...]:
    return random(past, 8), random(new, 8), random(past + new, 1), random(2 * past + new + 1)


def check_cache(compiled: Any, past: int, new: int) -> None:
    kept, more, mask, wide = cache(past, new)
    rows = np.concatenate([kept, more]) * mask
    for found, wanted in zip(
        compiled(kept, more, mask, wide), (rows, rows.sum(0), -wide), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
def test_sums(policy: str) -> None:
    compiled = lamina.compile(CACHE, versions=policy)
    for past, new in PAIRS:
        check_cache(compiled, past, new)
    if policy != "exact":
        assert len(compiled.sizes) <= 4 + (policy == "auto")


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
def test_products(policy: str) -> None:
    compiled = lamina.compile(ROWS, versions=policy)
    for batch, length in ((3, 2), (0, 0), (0, 5), (1, 1), (1, 9), (5, 1), (9, 256), (33, 17)):
        x, y = random(batch, length, 4), random(batch * length, 4)
        np.testing.assert_allclose(compiled(x, y), x.reshape(-1, 4) + y, rtol=1e-6)
    if policy != "exact":
        assert len(compiled.sizes) <= 1 + (policy == "auto")


def test_one_of_the_sizes_may_be_single() -> None:
    head, _, tail = CACHE.partition(" {\n")
    stated = head + ' attributes {lamina.padding = {past = "rows", new = "exact"}} {\n' + tail
    compiled = lamina.compile(stated, versions="auto")
    for past, new in ((3, 2), (4, 2), (9, 2), (9, 0), (256, 2), (0, 2)):
        check_cache(compiled, past, new)
    assert [str(version.of) for version in compiled.sizes] == [
        "past = 3, new = 2",
        "past <= 300, new = 2",
        "past <= 300, new = 0",
    ]


@pytest.mark.parametrize("text", [CACHE, ROWS], ids=["sums", "products"])
def test_native_code_takes_calls_and_nothing_else(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = lamina.compile(text, versions="padded")

    def arguments(one: int, two: int) -> tuple[np.ndarray, ...]:
        if text is CACHE:
            return cache(one, two)
        return random(one, two, 4), random(one * two, 4)

    compiled(*arguments(3, 4))

    class SlowError(Exception):
        pass

    def slow(*_: Any) -> None:
        raise SlowError

    monkeypatch.setattr(SizedCompiled, "_called", slow)
    for sizes in ((3, 4), (5, 1), (0, 9), (1, 0)):
        compiled(*arguments(*sizes))
    right, wrong = arguments(3, 4), arguments(3, 5)
    with pytest.raises(SlowError):
        compiled(*right[:-1], wrong[-1])


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            ((3, 8), (2, 8), (6, 1), (9,)),
            r"dimension 0 of argument 'arg2' is 6; it is new \+ past, which is 5, and dimension 0 "
            r"of argument 'arg1' makes 'new' 2, and dimension 0 of argument 'arg0' makes 'past' 3",
        ),
        (
            ((301, 8), (2, 8), (303, 1), (605,)),
            r"dimension 0 of argument 'arg0' is 301: 'past' is in \[0, 300\]",
        ),
    ],
)
def test_calls_that_contradict_themselves(
    policy: str, shapes: tuple[tuple[int, ...], ...], message: str
) -> None:
    compiled = lamina.compile(CACHE, versions=policy)
    check_cache(compiled, 3, 2)
    with pytest.raises(ArgumentError, match=message):
        compiled(*(random(*shape) for shape in shapes))


def test_a_sum_tells_a_size_that_nothing_else_has() -> None:
    compiled = lamina.compile("""
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<a in [2, 9]>]},
                %y: tensor<?xf32> {lamina.dims = [#lamina.size<a + 2 * b>]}) -> tensor<?xf32> {
  %0 = aten.neg.default(%y) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}""")
    for a, b in ((2, 3), (5, 0), (9, 400)):
        y = random(a + 2 * b)
        np.testing.assert_array_equal(compiled(random(a), y), -y)
    wrong = (
        (6, r"is 6: no integer makes it a \+ 2 \* b, and .* 'arg0' makes 'a' 3"),
        (1, r"is 1: it is a \+ 2 \* b, .* makes 'a' 3, 'b' is -1 then, and not in \[0, \?\]"),
    )
    for size, message in wrong:
        with pytest.raises(ArgumentError, match=f"dimension 0 of argument 'arg1' {message}"):
            compiled(random(3), random(size))


def test_saved_versions_have_the_relations(tmp_path: Path) -> None:
    file = tmp_path / "cache.lamina"
    lamina.compile(CACHE, versions="padded").save(file, sizes=[{"past": 9, "new": 3}])
    loaded = lamina.load(file)
    check_cache(loaded, 200, 56)
    with pytest.raises(ArgumentError, match="which is 256"):
        loaded(*cache(200, 56)[:2], *cache(200, 57)[2:])


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("3", r"'n' is in \[0, \?\], an integer, and cannot be '3'"),
        (2.5, r"'n' is in \[0, \?\], an integer, and cannot be 2.5"),
        (2**63, r"'n' cannot be 9223372036854775808: no size is above 2\^59"),
    ],
)
def test_sizes_that_no_version_has(size: Any, message: str) -> None:
    compiled = lamina.compile("""
    func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
      %0 = aten.relu.default(%x) : (tensor<?xf32>) -> tensor<?xf32>
      func.return %0 : tensor<?xf32>
    }""")
    with pytest.raises(lamina.InputError, match=message):
        compiled.version(n=size)
