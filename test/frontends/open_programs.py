"""Programs with open sizes of all families, and what leads them down to loops."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import nn
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops import scan, while_loop
from torch.export import Dim
from torch.nn import functional
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import STAGES, run_pipeline

N, M = Dim("N", max=4096), Dim("M", max=4096)

Shape = tuple["int | Dim", ...]
Program = tuple[int, Callable[..., Any], Sequence[Shape]]
"""The least that sizes are, what is computed, and the shapes of its arguments."""


def _bags(w: torch.Tensor, x: torch.Tensor, y: torch.Tensor, mode: str) -> torch.Tensor:
    """As many bags as y has elements, which share out as many indices as x has."""
    indices = (x * 0).to(torch.int64) + torch.arange(x.shape[0]) % 6
    offsets = torch.arange(y.shape[0]) * x.shape[0] // y.shape[0]
    return functional.embedding_bag(indices, w, offsets, mode=mode)


def _rounds(x: torch.Tensor) -> torch.Tensor:
    """Branches within a loop."""

    def step(i: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        made = torch.cond(
            a[0, 0] > 0, lambda a: a - a.mean(0), lambda a: a.flip(0) * a.shape[1], (a,)
        )
        return i + 1, made

    start = torch.zeros((), dtype=torch.int64), x
    return while_loop(lambda i, a: i < 3, step, start)[1]


def _recurrent(x: torch.Tensor, *weights: torch.Tensor) -> tuple[torch.Tensor, ...]:
    state = torch.zeros(1, x.shape[1], 4)
    return torch.lstm(x, (state, state), list(weights), True, 1, 0.0, False, False, False)


PROGRAMS: dict[str, Program] = {
    "broadcasts": (0, lambda x, y: functional.gelu(x + y), [(N, M), (M,)]),
    "softmax": (0, lambda x: functional.softmax(x, -1), [(N, M)]),
    "means": (0, lambda x: (x.mean(1), x.mean(0)), [(N, M)]),
    "variances": (0, lambda x: (x.var(0), x.std()), [(N, M)]),
    "largest": (1, lambda x: (x.amax(1), x.argmax(1)), [(N, M)]),
    "product": (0, lambda x, y: x @ y, [(N, M), (M, 6)]),
    "products": (1, lambda x: x @ x.transpose(1, 2), [(N, M, 7)]),
    "pairs of features": (
        3,
        lambda x, y: (
            torch.cat([x[:, None], y], 1)
            .bmm(torch.cat([x[:, None], y], 1).mT)[:, torch.arange(3), torch.arange(3) - 3]
            .relu()
        ),
        [(N, 5), (N, M, 5)],
    ),
    "layer norm": (0, lambda x: functional.layer_norm(x, (8,)), [(N, M, 8)]),
    "group norm": (0, lambda x: functional.group_norm(x, 2), [(N, 4, M)]),
    "norm in training": (
        3,
        lambda x: functional.batch_norm(x, None, None, training=True),
        [(N, 3, M)],
    ),
    "attention": (1, functional.scaled_dot_product_attention, [(N, 2, M, 8)] * 3),
    "joined": (0, lambda x, y: torch.cat([x, y], 1), [(N, M), (N, 3)]),
    "flipped and turned": (0, lambda x: x.flip(1).t().contiguous(), [(N, M)]),
    "rolled": (2, lambda x: x.roll(1, 0), [(N, 7)]),
    "heads": (
        0,
        lambda x: x.view(*x.shape[:2], 2, 4).transpose(1, 2).contiguous().flatten(2),
        [(N, M, 8)],
    ),
    "repeated": (0, lambda x: x.repeat(2, 3), [(N, M)]),
    "triangle": (0, lambda x: x.tril() + torch.arange(x.shape[1]), [(N, M)]),
    "made": (0, lambda x: torch.zeros(x.shape[0], 3) + x.shape[0], [(N, 7)]),
    "windows": (3, lambda x: functional.max_pool2d(x, 3, 2, 1), [(1, 2, N, M)]),
    "windows inside": (4, lambda x: functional.avg_pool2d(x, 2), [(1, 2, N, M)]),
    "convolution": (
        3,
        lambda x, w: functional.conv2d(x, w, padding=1),
        [(2, 3, N, M), (4, 3, 3, 3)],
    ),
    "running": (0, lambda x: (x.cumsum(0), x.cumprod(1)), [(N, M)]),
    "running extremes": (1, lambda x: (*x.cummax(1), x.logcumsumexp(0)), [(N, M)]),
    "sorted": (0, lambda x: (x.sort(1)[0], x.argsort(0, descending=True)), [(N, M)]),
    "largest three": (3, lambda x: x.topk(3, 1), [(N, M)]),
    "all by size": (1, lambda x: x.topk(x.shape[0], 0)[0], [(N, M)]),
    "medians": (1, lambda x: (x.median(1)[0], x.median()), [(N, M)]),
    "second": (3, lambda x: x.kthvalue(2, 1)[0], [(N, M)]),
    "scattered": (
        0,
        lambda x, y: x.scatter_reduce(1, (y.abs() * 0).to(torch.int64), y, "amax"),
        [(N, M), (N, M)],
    ),
    "added rows": (
        1,
        lambda x, y: x.index_add(0, torch.arange(y.shape[0]) // 2, y),
        [(N, M), (N, M)],
    ),
    "put": (
        1,
        lambda x, y: x.index_put((torch.arange(y.shape[0]),), y, accumulate=True),
        [(N, M), (N, M)],
    ),
    "replaced": (1, lambda x, y: x.select_scatter(y, 0, 0), [(N, M), (M,)]),
    "bags": (1, lambda w, x, y: _bags(w, x, y, "sum"), [(6, M), (N,), (M,)]),
    "bags of means": (1, lambda w, x, y: _bags(w, x, y, "mean"), [(6, 8), (N,), (M,)]),
    "bags of maxima": (1, lambda w, x, y: _bags(w, x, y, "max"), [(6, 8), (N,), (M,)]),
    "segments": (
        1,
        lambda x: torch.segment_reduce(x, "max", offsets=torch.arange(x.shape[0] + 1)),
        [(N, M)],
    ),
    "places": (1, lambda x, y: torch.searchsorted(x.sort()[0], y, right=True), [(M,), (N, M)]),
    "looked up": (
        1,
        lambda w, x: functional.embedding((x > 0).to(torch.int64) * (w.shape[0] - 1), w),
        [(N, M), (M,)],
    ),
    "spectra": (1, lambda x: torch.fft.rfft2(x).abs(), [(N, 8, 6)]),
    "spectra of columns": (1, lambda x: torch.fft.rfft(x, dim=1).abs(), [(N, 8, M)]),
    "back from spectra": (1, lambda x: torch.fft.irfft(torch.complex(x, x)), [(N, 5)]),
    "solved": (
        0,
        lambda x, y: torch.linalg.solve(x @ x.mT + torch.eye(4), y),
        [(N, 4, 4), (N, 4, M)],
    ),
    "parts": (0, lambda x: torch.complex(x, x * 2) * 1j, [(N, M)]),
    "branches": (
        1,
        lambda x: torch.cond(
            x.sum() > 0,
            lambda x: torch.cat([x.softmax(0), x / x.shape[1]]).sort(1)[0],
            lambda x: torch.zeros(2 * x.shape[0], x.shape[1]).cumsum(0),
            (x,),
        ),
        [(N, M)],
    ),
    "spectra in branches": (
        1,
        lambda x: torch.cond(
            x.sum() > 0, lambda x: (torch.fft.fft(x) * 2j).abs(), lambda x: x * 2, (x,)
        ),
        [(N, 8)],
    ),
    "rounds": (1, lambda x: _rounds(x), [(N, M)]),
    "steps": (1, lambda x: scan(lambda c, v: (c + v, c.cumsum(0) * v), x[0], x), [(N, M)]),
    "mapped": (1, lambda x: map_rows(lambda v: v.sort()[0] * v.shape[0], x), [(N, M)]),
    "of complex numbers": (
        0,
        lambda x: torch.view_as_real(torch.view_as_complex(x) * 2j),
        [(N, M, 2)],
    ),
    "recurrent": (1, lambda x, *w: _recurrent(x, *w), [(5, N, 3), (16, 3), (16, 4), (16,), (16,)]),
    "transposed convolution": (
        1,
        lambda x, w: functional.conv_transpose2d(x, w, stride=2),
        [(2, 4, N, M), (4, 3, 3, 3)],
    ),
    "places of extremes": (1, lambda x: (x.argmax(1), x.argmin()), [(N, M)]),
    "first row": (1, lambda x: x[0], [(N, 7)]),
    "in steps": (5, lambda x, w: functional.conv2d(x, w, stride=2), [(1, 3, N, M), (4, 3, 3, 3)]),
}

_LOOP = next(stage.passes for stage in STAGES if stage.layer == "loop")
_CONVERTED = _LOOP.index("convert-prims-to-loop") + 1
PASSES: Sequence[Sequence[str]] = (
    ("functionalize", "verify-functional"),
    ("widen-half-floats", "convert-aten-to-core-aten", "verify-core-aten"),
    ("convert-core-aten-to-prims", "verify-prims"),
    (*_LOOP[:_CONVERTED], "verify-loop"),
    _LOOP[_CONVERTED:],
)
"""What leads to each layer, at which the program is run."""

SIZES = ((5, 7), (3, 3), (8, 5), (1, 1), (2, 1), (0, 4), (4, 0), (33, 18))


class _Module(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def arguments(shapes: Sequence[Shape], n: int, m: int) -> list[torch.Tensor]:
    """Tensors for these sizes, the same in each call."""
    torch.manual_seed(n * 100 + m)
    numbers = {N: n, M: m}
    return [torch.randn([e if isinstance(e, int) else numbers[e] for e in s]) for s in shapes]


@cache
def expected(name: str, n: int, m: int) -> tuple[torch.Tensor, ...]:
    """What a program of the table makes of `arguments` of these sizes in eager mode.

    Asked once for all layers: loops and branches are compiled in eager mode, too.
    """
    _, function, shapes = PROGRAMS[name]
    made = function(*arguments(shapes, n, m))
    return tuple(made) if isinstance(made, tuple | list) else (made,)


@cache
def _lowered(name: str, layers: int) -> ModuleOp:
    if not layers:
        return imported(*PROGRAMS[name])
    module = _lowered(name, layers - 1).clone()
    run_pipeline(module, PASSES[layers - 1], Context())
    return module


def lowered(name: str, layers: int = len(PASSES)) -> ModuleOp:
    """A copy of a program of the table behind the first of `PASSES`: 0 is `aten`, 5 is `loop`."""
    return _lowered(name, layers).clone()


def imported(least: int, function: Callable[..., Any], shapes: Sequence[Shape]) -> ModuleOp:
    """What torch.export makes of a program, at `aten`."""
    names = {N: Dim("N", min=least, max=4096), M: Dim("M", min=least, max=4096)}
    dims = [{d: names[e] for d, e in enumerate(s) if not isinstance(e, int)} for s in shapes]
    given = tuple(arguments(shapes, 5, 7))
    exported = torch.export.export(_Module(function), given, dynamic_shapes=(tuple(dims),))
    text = str(import_exported_program(exported).module)
    return lamina.parse(text.replace("in [0, 4096]", f"in [{least}, 4096]"))
