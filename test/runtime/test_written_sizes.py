"""Programs that write to arguments of open sizes, whose versions have padded copies of them."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ArgumentError, ExecutionError


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("policy", ["auto", "padded", "exact"])
def test_what_is_written_is_written(policy: str) -> None:
    text = """
    func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]},
                    %sum: tensor<1xf32>) -> tensor<?xf32> {
      %s = aten.sum.dim_IntList(%x, [0], true) : (tensor<?xf32>) -> tensor<1xf32>
      %t = aten.add_.Tensor(%sum, %s) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
      %y = aten.add_.Scalar(%x, 1) : (tensor<?xf32>) -> tensor<?xf32>
      func.return %y : tensor<?xf32>
    }"""
    compiled = lamina.compile(text, versions=policy)
    for size in (3, 5, 9, 64, 3, 5):
        x, total = random(size), np.ones(1, np.float32)
        before = x.copy()
        compiled(x, total)
        np.testing.assert_allclose(total, 1 + before.sum(), rtol=1e-5)
        np.testing.assert_allclose(x, before + 1)
    assert len(compiled.sizes) == {"auto": 2, "padded": 1, "exact": 4}[policy]


def test_strided_arguments_are_written() -> None:
    compiled = lamina.compile(
        """
    func.func @main(
        %x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>, #lamina.size<m>]}) {
      %y = aten.mul_.Scalar(%x, 2) : (tensor<?x?xf32>) -> tensor<?x?xf32>
      func.return
    }""",
        versions="padded",
    )
    for size in (3, 9):
        whole = random(size, 10)
        before, x = whole.copy(), whole[:, 1:4]
        compiled(x)
        before[:, 1:4] *= 2
        np.testing.assert_allclose(whole, before)
    assert len(compiled.sizes) == 1


def test_what_is_written_has_the_size_of_its_argument() -> None:
    """Rows that data choose are as many as there are."""
    compiled = lamina.compile(
        """
    func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]}) {
      %m = aten.gt.Scalar(%x, 0) : (tensor<?xf32>) -> tensor<?xi1>
      %s = aten.masked_select.default(%x, %m) : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
      %y = aten.copy_.default(%x, %s) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      func.return
    }""",
        versions="padded",
    )
    x = np.arange(1, 6, dtype=np.float32)
    compiled(x)
    np.testing.assert_array_equal(x, np.arange(1, 6))
    with pytest.raises(ExecutionError):
        compiled(np.arange(5, dtype=np.float32))


TWO = """
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]},
                %z: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %y = aten.add_.Scalar(%x, 1) : (tensor<?xf32>) -> tensor<?xf32>
  %w = aten.mul.Scalar(%z, 2) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %w : tensor<?xf32>
}"""


@pytest.mark.parametrize("policy", ["padded", "exact"])
def test_arguments_that_share_what_is_written_are_refused(policy: str) -> None:
    """Padded copies share no memory, the arguments do."""
    compiled = lamina.compile(TWO, versions=policy)
    whole = random(70)
    for size in (3, 3, 64):
        with pytest.raises(ArgumentError, match="share memory, and the program writes to"):
            compiled(whole[:size], whole[1 : size + 1])
        before = whole.copy()
        made = compiled(whole[:size:2], whole[1 : size + 1 : 2][: len(whole[:size:2])])
        np.testing.assert_allclose(made, before[1 : size + 1 : 2] * 2)
        np.testing.assert_allclose(whole[:size:2], before[:size:2] + 1)


@pytest.mark.parametrize("policy", ["padded", "exact"])
def test_what_cannot_be_written_is_refused(policy: str) -> None:
    compiled = lamina.compile(TWO, versions=policy)
    still = random(5)
    still.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ArgumentError, match="read-only"):
            compiled(still, random(5))
        with pytest.raises(ArgumentError, match="some of its elements share memory"):
            compiled(np.lib.stride_tricks.as_strided(random(2), (5,), (0,)), random(5))
