"""The table of benchmark kernels: each row is one function in two spellings."""

import numpy
import pytest
import torch

from bench.kernel_table import KERNELS, Kernel

_LARGEST = 4 << 20
_SMALL = [k for k in KERNELS if k.numpy and sum(t.nbytes for t in k.inputs()) < _LARGEST]


def test_there_are_at_least_forty_with_different_names() -> None:
    assert len({kernel.name for kernel in KERNELS}) == len(KERNELS) >= 40


@pytest.mark.parametrize("kernel", _SMALL, ids=lambda kernel: kernel.name)
def test_both_spellings_mean_the_same(kernel: Kernel) -> None:
    inputs = kernel.inputs()
    expected = kernel.torch(*inputs)
    actual = kernel.array(numpy, *(tensor.numpy() for tensor in inputs))
    if isinstance(expected, torch.Tensor):
        expected, actual = (expected,), (actual,)
    for theirs, ours in zip(expected, actual, strict=True):
        torch.testing.assert_close(torch.from_numpy(numpy.array(ours)), theirs)
