"""Which ops give views: writes after reshapes, conversions and lazy views, against eager mode."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest

import lamina
from lamina.passes.functionalize.aliases import CONTIGUITY_KEEPING as KEEPING

torch: Any = pytest.importorskip("torch")

LAST = torch.channels_last
ALL = torch.contiguous_format


class _Program(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        y = self.function(x)
        y.add_(1)
        return x + 0, y


class _Reversed(_Program):
    """Writes what is seen, and not the view."""

    def forward(self, x: Any) -> Any:
        y = self.function(x)
        x.add_(1)
        return x + 0, y + 0


class _Both(torch.nn.Module):
    """Either form, each of an argument of its own: one compilation."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forms = torch.nn.ModuleList([_Program(function), _Reversed(function)])

    def forward(self, x: Any, y: Any) -> Any:
        return *self.forms[0](x), *self.forms[1](y)


SEEN: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x.contiguous(),
    "contiguous of rows": lambda x: x[1:].contiguous(),
    "contiguous of columns": lambda x: x[..., 1:].contiguous(),
    "contiguous of a transpose": lambda x: x.mT.contiguous(),
    "contiguous of a transposed dim of 1": lambda x: x[:, :1].transpose(0, 1)[0].contiguous(),
    "to channels last": lambda x: x.contiguous(memory_format=LAST),
    "to channels last and back": lambda x: x.contiguous(memory_format=LAST).contiguous(),
    "conversion to channels last": lambda x: x.to(memory_format=LAST),
    "conversion to the same": lambda x: x.to(x.dtype, memory_format=ALL),
    "channels last already": lambda x: x.permute(0, 3, 1, 2).contiguous(memory_format=LAST),
    "clone": lambda x: x.clone(memory_format=LAST).flatten(),
    "every other one, ravelled": lambda x: x.view(-1)[::2].ravel(),
    "every other one, reshaped": lambda x: x.view(-1)[::2].reshape(-1),
    "flat transpose": lambda x: x.transpose(0, 1).flatten(),
    "flat columns": lambda x: x[:, :2].reshape(2, -1),
    "flat columns as rows": lambda x: x[:, :2].flatten(2),
    "flat permutation": lambda x: x.permute(2, 3, 0, 1).reshape(8, -1),
    "expanded": lambda x: x[:1].expand(5, 3, 2, 4).reshape(15, 8).clone(),
    "diagonal": lambda x: x.movedim(0, -1).diagonal(0, 0, 1),
}

LAZY: dict[str, Callable[[Any], Any]] = {
    "conj": lambda z: z.conj(),
    "conj twice": lambda z: z.conj().conj(),
    "imag of conj": lambda z: z.conj().imag,
    "real of conj": lambda z: z.conj().real[0],
    "adjoint": lambda z: z.mH,
    "transposed conj": lambda z: z.conj().t()[1:],
    "resolved conj": lambda z: z.conj().resolve_conj(),
    "resolved": lambda z: z.resolve_conj().resolve_neg(),
    "resolved imag": lambda z: z.conj().imag.resolve_neg(),
    "resolved adjoint": lambda z: z.mH.resolve_conj(),
    "resolved conj twice": lambda z: z.conj().conj().resolve_conj(),
}


def _values(dtype: Any) -> Any:
    shape = (3, 4) if dtype.is_complex else (2, 3, 2, 4)
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


@pytest.mark.parametrize("name", [*SEEN, *LAZY])
def test_writes_are_seen_as_in_eager_mode(name: str) -> None:
    module = _Both(SEEN.get(name) or LAZY[name])
    values = _values(torch.float32 if name in SEEN else torch.complex64)
    given, kept, traced = ((values.clone(), values * 2) for _ in range(3))
    expected = module(*kept)
    exported = torch.export.export(module, traced, strict=False)
    found = lamina.compile(exported, cache=False)(*given)
    for one, other in zip((*found, *given), (*expected, *kept), strict=True):
        torch.testing.assert_close(one, other.resolve_conj().resolve_neg(), check_stride=False)


def _is_row_major(tensor: Any) -> bool:
    return tensor.layout is torch.strided and tensor.is_contiguous()


def test_results_of_contiguous_operands_are_contiguous() -> None:
    """What the table says of ops, asked of torch with some samples of its database of ops.

    In a thread of its own, whose stack is short: torch looks through it for each sample.
    """
    with ThreadPoolExecutor(1) as thread:
        seen = thread.submit(_contiguous_of_contiguous).result()
    # Samples that nobody took are generators under `no_grad`: they end here, since what they do
    # then would become part of a graph that is traced.
    gc.collect()
    assert len(seen) > 60, sorted(KEEPING - seen)


def _contiguous_of_contiguous() -> set[str]:
    """Names of the ops that were seen to make nothing else."""
    from torch.testing._internal.common_methods_invocations import op_db

    seen: set[str] = set()
    for info in op_db:
        packet = info.aten_name or info.name
        name = next((n for n in (packet, info.name.rpartition(".")[2]) if n in KEEPING), None)
        if name is None or not info.supports_dtype(torch.float32, "cpu"):
            continue
        for sample in islice(info.sample_inputs("cpu", torch.float32), 8):
            leaves = torch.utils._pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
            tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
            if torch.channels_last in leaves or not all(map(_is_row_major, tensors)):
                continue
            made = info(sample.input, *sample.args, **sample.kwargs)
            for result in torch.utils._pytree.tree_leaves(made):
                if isinstance(result, torch.Tensor) and result.layout is torch.strided:
                    assert result.is_contiguous(), (info.name, sample)
                    seen.add(name)
    return seen


class _Loss(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        loss = torch.nn.functional.l1_loss(x, y, reduction="none")
        same, seen = torch.positive(x), torch.broadcast_tensors(x, y)[1]
        x.mul_(2)
        seen.add_(1)
        same.add_(1)
        return loss, same + y, seen + 0


def test_broadcasts_are_views() -> None:
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    compiled = lamina.compile(torch.export.export(_Loss(), (x.clone(), y.clone())))
    given, wanted = (x.clone(), y.clone()), (x.clone(), y.clone())
    for made, expected in zip(compiled(*given), _Loss()(*wanted), strict=True):
        torch.testing.assert_close(made, expected)
    for made, expected in zip(given, wanted, strict=True):
        torch.testing.assert_close(made, expected)
