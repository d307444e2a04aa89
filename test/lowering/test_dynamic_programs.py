"""Programs that go on computing with tensors whose size depends on data, against torch.

Each runs with some, no and all elements chosen, compiled and under the interpreters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.one_in(3)

Program = tuple[Callable[..., Any], tuple[Any, ...]]

_GENERATOR = torch.Generator().manual_seed(3)


def _floats(*shape: int) -> Any:
    return torch.randn(shape, generator=_GENERATOR)


def _integers(*shape: int, high: int = 5) -> Any:
    return torch.randint(0, high, shape, generator=_GENERATOR)


X, ROWS, TABLE, V = _floats(6, 4), _floats(6, 3), _floats(10, 3), _floats(12)
NUMBERS, SMALL = _integers(9), _integers(6, 4, high=3)
PLACES = torch.tensor([4, -2])


def _limited(number: Any, most: int) -> int:
    size = number.item()
    torch._check(size >= 0)
    torch._check(size <= most)
    return size


def _bincount(i: Any) -> Any:
    counts = torch.bincount(i)
    torch._check(counts.shape[0] <= 40)
    return counts


def _repeated(v: Any, i: Any) -> Any:
    made = torch.repeat_interleave(v, i)
    torch._check(made.shape[0] <= 60)
    return made


def _put(x: Any) -> Any:
    x = x.clone()
    x[x > 0] *= 2
    return x


def _put_rows(x: Any, t: Any) -> Any:
    t = t.clone()
    t[torch.nonzero(x[:, 0] > 0).squeeze(1)] = 7
    return t


def _add_to_columns(x: Any) -> Any:
    x = x.clone()
    x[:, x[0] > 0] += 1
    return x


def _put_columns(x: Any) -> Any:
    x = x.reshape(2, 3, 4).clone()
    x[..., x[0, 0] > 0] = 7
    chosen = torch.nonzero(x[0, :, 0] < 1).squeeze(1)
    x[:, chosen] = x[:, chosen] * chosen[:, None]
    return x


def _add_apart(x: Any) -> Any:
    x = x.reshape(2, 3, 4).clone()
    chosen = torch.nonzero(x[:, 0, 0] < 1).squeeze(1)
    x[chosen, :, chosen] += chosen[:, None] + x[0, :, 0]
    return x


def _with_nans(x: Any) -> Any:
    return torch.where(x > 0.8, torch.nan, x)


def _cross_entropy(x: Any, s: Any) -> Any:
    chosen = torch.nonzero(x[:, 0] > 0).squeeze(1)
    loss = torch.nn.functional.cross_entropy
    target = s[chosen, 0]
    return loss(x[chosen], target), loss(x[chosen], target, reduction="none")


def _distance(x: Any) -> Any:
    chosen = torch.nonzero(x[:, 0] > 0).squeeze(1)
    return torch.nn.functional.smooth_l1_loss(x[chosen], (x * 3)[chosen])


PROGRAMS: dict[str, Program] = {
    # selection
    "nonzero": (lambda x: torch.nonzero(x > 0), (X,)),
    "nonzero of a number": (lambda x: torch.nonzero(x[0, 0] > 0), (X,)),
    "nonzero of three dims": (lambda x: torch.nonzero(x.reshape(2, 3, 4) > 0), (X,)),
    "argwhere": (lambda x: torch.argwhere(x > 0), (X,)),
    "where": (lambda x: torch.where(x > 0), (X,)),
    "masked_select, broadcast": (lambda x: torch.masked_select(x, x[:, :1] > 0), (X,)),
    "masked_select, larger mask": (lambda x: torch.masked_select(x[0], x > 0), (X,)),
    "mask of all dims": (lambda x: x[x > 0], (X,)),
    "mask of rows": (lambda x, r: x[r[:, 0] > 0], (X, ROWS)),
    "mask of columns": (lambda x: x[:, x[0] > 0], (X,)),
    "mask and index": (lambda x: x[x[:, 0] > 0, 1], (X,)),
    "mask of a mask": (lambda x: x[x > 0][x[x > 0] > 0.5], (X,)),
    "nonzero of dynamic": (lambda x: torch.nonzero(x[x > -0.5] > 0.3), (X,)),
    # pointwise
    "product by a number": (lambda x: x[x > 0] * 2 + 1, (X,)),
    "second names": (lambda x: x[x > 0].arctan().multiply(2).clip(0.1, 2).arctan2(x[x > 0]), (X,)),
    "log of what is left": (lambda x: torch.log(x[x > 0]), (X,)),
    "integer division": (lambda i: 7 // i[i > 0], (NUMBERS,)),
    "remainder": (lambda i: i[i > 0].remainder(i[i > 0]), (NUMBERS,)),
    "with a row": (lambda x: x[x[:, 0] > 0] + x[0], (X,)),
    "two masks alike": (lambda x: x[x > 0] + (x * x)[x > 0], (X,)),
    "where of dynamic": (lambda x: torch.where(x[x > 0] > 0.5, 1.0, x[x > 0]), (X,)),
    "to double": (lambda x: x[x > 0].double(), (X,)),
    "by the size": (lambda x: x[x > 0] / x[x > 0].shape[0], (X,)),
    "half floats": (lambda x: x.bfloat16()[x > 0].exp(), (X,)),
    # reductions
    "sum": (lambda x: x[x > 0].sum(), (X,)),
    "mean": (lambda x: torch.masked_select(x, x > 0).mean(), (X,)),
    "mean of rows": (lambda x: x[x[:, 0] > 0].mean(0), (X,)),
    "mean in half floats": (lambda x: x.bfloat16()[x > 0].mean(), (X,)),
    "var, std": (lambda x: (x[x > 0].var(), x[x > 0].std(unbiased=False)), (X,)),
    "var_mean of rows": (lambda x: torch.var_mean(x[x[:, 0] > -2], 0), (X,)),
    "amax, amin": (lambda x: (x[x < 0].amax(), x[x > 0].amin()), (X,)),
    "max with place": (lambda x: x[x[:, 0] < 0.5].max(0), (X,)),
    "argmax": (lambda x: x[x < 0].argmax(), (X,)),
    "any, all": (lambda x: ((x[x > 0] > 1).any(), (x[x > 0] > 0).all()), (X,)),
    "prod": (lambda x: x[x > 0].prod(), (X,)),
    "norm": (lambda x: x[x > 0].norm(), (X,)),
    "count": (lambda x: (x[x > 0] > 1).sum(), (X,)),
    "along static rows": (lambda x: x[x[:, 0] > 0].sum(1), (X,)),
    "squares": (lambda x: (x[x > 0] - (x * 2)[x > 0]).square().mean(), (X,)),
    # reading and writing
    "rows at places": (lambda x, t: t[torch.nonzero(x[:, 0] > 0).squeeze(1)] * 2, (X, TABLE)),
    "index_select": (lambda i, t: t.index_select(0, i[i > 1]), (NUMBERS, TABLE)),
    "embedding": (lambda i, t: torch.nn.functional.embedding(i[i > 1], t), (NUMBERS, TABLE)),
    "gather": (lambda v, i: v.gather(0, i[i > 1]), (V, NUMBERS)),
    "read of dynamic": (lambda x: x[x[:, 0] > -2][torch.tensor([0, -1])], (X,)),
    "put where": (_put, (X,)),
    "put rows": (_put_rows, (X, TABLE)),
    "index_put of dynamic": (lambda x: x.index_put((x > 0,), x[x > 0] * 3), (X,)),
    "index_put adds": (
        lambda i, v: v.index_put((i[i > 1],), torch.ones_like(i[i > 1], dtype=v.dtype), True),
        (NUMBERS, V),
    ),
    "index_add": (lambda i, v: v.index_add(0, i[i > 1], v[:9][i > 1]), (NUMBERS, V)),
    "scatter_add": (lambda i, v: v.scatter_add(0, i[i > 1], v[:9][i > 1]), (NUMBERS, V)),
    "masked_scatter": (lambda x: x.masked_scatter(x > 0, x[x > 0].flip(0)), (X,)),
    # views and joins
    "reshape of rows": (lambda x: x[x[:, 0] > 0].reshape(-1, 2, 2), (X,)),
    "flatten": (lambda x: x[x[:, 0] > 0].flatten(), (X,)),
    "flatten, then rows": (lambda x: x[x[:, 0] > 0].flatten().view(-1, 4), (X,)),
    "transposed": (lambda x: x[x[:, 0] > 0].T, (X,)),
    "unsqueeze, expand": (lambda x: x[x > 0].unsqueeze(1).expand(-1, 3), (X,)),
    "outer": (lambda x: x[x > 0][:, None] * x[x > 0][None, :], (X,)),
    "cat": (lambda x: torch.cat([x[x > 0], x[x <= 0]]), (X,)),
    "cat with static": (lambda x, v: torch.cat([v, x[x > 0], v]), (X, V)),
    "cat of columns": (lambda x: torch.cat([x[x[:, 0] > 0], x[x[:, 0] > 0]], 1), (X,)),
    "stack": (lambda x: torch.stack([x[x > 0], x[x > 0] * 2]), (X,)),
    "sort": (lambda x: x[x > 0].sort(stable=True), (X,)),
    "sort, descending": (lambda x: x[x[:, 0] > -2].sort(dim=0, descending=True, stable=True), (X,)),
    "cumsum": (lambda x: x[x > 0].cumsum(0), (X,)),
    "flip": (lambda x: x[x > 0].flip(0), (X,)),
    "first entry": (lambda x: x[x > 0][0], (X,)),
    "softmax": (lambda x: x[x > 0].softmax(0), (X,)),
    "softmax of rows": (lambda x: x[x[:, 0] > 0].softmax(1), (X,)),
    "layer_norm": (lambda x: torch.nn.functional.layer_norm(x[x[:, 0] > 0], (4,)), (X,)),
    # along known dimensions, losses
    "unbind": (lambda t: t[t[:, 0] > 0].unbind(1), (TABLE,)),
    "split": (lambda x: x[x[:, 0] > 0].split(2, 1), (X,)),
    "broadcast_tensors": (lambda x: torch.broadcast_tensors(x[x[:, 0] > 0], x[0]), (X,)),
    "padded rows": (lambda x: torch.nn.functional.pad(x[x[:, 0] > 0], (1, 2)), (X,)),
    "repeated rows": (lambda x: x[x[:, 0] > 0].repeat(2, 1, 3), (X,)),
    "cross entropy": (_cross_entropy, (X, SMALL)),
    "distance": (_distance, (X,)),
    # products
    "rows by a matrix": (lambda x: x[x[:, 0] > 0] @ x.T, (X,)),
    "summed over": (lambda x: x[x[:, 0] > 0].T @ x[x[:, 0] > 0], (X,)),
    "dot": (lambda x: torch.dot(x[x > 0], x[x > 0]), (X,)),
    "linear": (lambda x, t: torch.nn.functional.linear(t[t[:, 0] > 0], x[:3, :3]), (X, TABLE)),
    "batches": (
        lambda x: torch.bmm(x.view(6, 2, 2)[x[:, 0] > 0], x.view(6, 2, 2)[x[:, 0] > 0]),
        (X,),
    ),
    # uniqueness
    "unique": (lambda i: torch.unique(i, return_inverse=True, return_counts=True), (NUMBERS,)),
    "unique of floats": (lambda x: torch.unique(x.round()), (X,)),
    "unique of a matrix": (lambda s: torch.unique(s, return_inverse=True), (SMALL,)),
    "unique counts, then mean": (
        lambda i: torch.unique(i, return_counts=True)[1].float().mean(),
        (NUMBERS,),
    ),
    "unique rows": (
        lambda s: torch.unique(s, dim=0, return_inverse=True, return_counts=True),
        (SMALL,),
    ),
    "unique columns": (lambda s: torch.unique(s, dim=1), (SMALL,)),
    "unique_consecutive": (
        lambda i: torch.unique_consecutive(i, return_inverse=True, return_counts=True),
        (NUMBERS,),
    ),
    "nonzero of nothing": (lambda s: torch.nonzero(s[:0], as_tuple=True), (SMALL,)),
    "unique_consecutive rows": (lambda s: torch.unique_consecutive(s, dim=0), (SMALL,)),
    "unique_consecutive columns": (
        lambda s: torch.unique_consecutive(s, return_counts=True, dim=-1),
        (SMALL,),
    ),
    "unique of dynamic": (lambda i: torch.unique(i[i > 1]), (NUMBERS,)),
    # numbers
    "a branch on a size": (
        lambda x: torch.cond(x[x > 0].shape[0] > 3, lambda a: a * 2, lambda a: a + 1, (x,)),
        (X,),
    ),
    "a size": (lambda x: x[x > 0].shape[0], (X,)),
    "zeros of a size": (lambda x: torch.zeros(x[x > 0].shape[0], 2) + 1, (X,)),
    "range of a number": (lambda i: torch.arange(_limited(i[0], 20)) * 2, (NUMBERS,)),
    "part by a number": (lambda i, v: v[: _limited(i[0], 12)], (NUMBERS, V)),
    "bincount": (_bincount, (NUMBERS,)),
    "repeat_interleave": (_repeated, (V[:9], NUMBERS)),
    "repeat_interleave of known size": (
        lambda v: torch.repeat_interleave(v, torch.arange(12), output_size=66),
        (V,),
    ),
    "tensor_split": (lambda v, p: torch.tensor_split(v, p), (V, PLACES)),
    "boolean number": (lambda v: (v[0] > v[1]).item(), (V,)),
    # medians, vectors by vectors, writes behind whole dimensions
    "median": (lambda x: (x[x > 0].median(), x[x > -1].median()), (X,)),
    "median of integers": (
        lambda x: ((x[x > 0] * 9).long().median(), (x > 0).nonzero().median()),
        (X,),
    ),
    "medians of NaNs": (
        lambda x: (_with_nans(x)[x > -1].median(), _with_nans(x)[x > -1].nanmedian()),
        (X,),
    ),
    "medians over rows": (lambda x: x[x[:, 0] > -1].median(0), (X,)),
    "medians of rows": (
        lambda x: _with_nans(x)[x[:, 0] > -1].nanmedian(1, keepdim=True).values,
        (X,),
    ),
    "torch.outer": (lambda x, i: torch.outer(x[x > 0], i[i > 1]), (X, NUMBERS)),
    "add to columns": (_add_to_columns, (X,)),
    "put columns": (_put_columns, (X,)),
    "add at places apart": (_add_apart, (X,)),
}
"""Function and example inputs, by what they are about."""


class Module(torch.nn.Module):
    """A function as a module, for torch.export."""

    def __init__(self, function: Any) -> None:
        """Keeps the function."""
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        """Calls it."""
        return self.function(*args)


def _like(tensor: Any, number: int) -> Any:
    """Floats all alike, so that masks hold nowhere or everywhere; integers stay what they are."""
    return torch.full_like(tensor, number) if tensor.is_floating_point() else tensor


def _leaves(result: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(result)


def _assert_same(actual: Any, expected: Any) -> None:
    for one, other in zip(_leaves(actual), _leaves(expected), strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(
                torch.as_tensor(one), other, equal_nan=True, check_stride=False
            )
        else:
            assert one == other and type(one) is type(other)


def _run(function: Any, args: tuple[Any, ...], errors: tuple[type[Exception], ...]) -> Any:
    """The result, or None if it raises one of these errors."""
    try:
        return function(*[arg.clone() for arg in args])
    except errors:
        return None


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str) -> None:
    function, example = PROGRAMS[name]
    program = torch.export.export(Module(function), example, strict=False)
    compiled = lamina.compile(program, cache=False)
    for args in (example, *(tuple(_like(t, n) for t in example) for n in (0, 1))):
        expected = _run(function, args, (RuntimeError, IndexError))
        actual = _run(compiled, args, (ExecutionError,))
        _assert_same(actual, expected)


@pytest.mark.parametrize("name", [name for n, name in enumerate(PROGRAMS) if n % 4 == 0])
def test_interpreters_agree_before_and_after(name: str) -> None:
    from lamina.frontends.exported_program import import_exported_program

    function, example = PROGRAMS[name]
    program = torch.export.export(Module(function), example, strict=False)
    imported = import_exported_program(program)
    module = imported.module
    given = [tensor.numpy() for tensor in (*imported.constants.values(), *example)]
    expected = [
        np.asarray(leaf)
        for leaf in _leaves(function(*example))
        if getattr(leaf, "dtype", None) != torch.bfloat16
    ]
    layer = "aten"
    for below in ("aten", "functional", "prims", "loop"):
        lower(module, layer, below, Target.host())
        layer = below
        results = run_module(module, given)
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
