"""A process that runs programs with open sizes between guard pages; see `test_guarded_sizes`."""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from guarded_windows import IMAGES, WINDOW_SUMS, window_sums
from torch import nn
from torch.export import Dim

import lamina
from lamina.codegen.target import Target
from lamina.runtime import buffers
from lamina.runtime.dispatch import native

_library = ctypes.CDLL(None)
_library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_held: dict[int, tuple[mmap.mmap, int]] = {}
_PAGE = mmap.PAGESIZE


def take(alignment: int, size: int) -> int:
    """Memory that ends where a page begins which may not be touched; all bits are set."""
    room = -(-max(size, 1) // _PAGE) * _PAGE
    memory = mmap.mmap(-1, room + 2 * _PAGE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.memset(base, 0xFF, room + 2 * _PAGE)
    for page in (base, base + _PAGE + room):
        assert _library.mprotect(page, _PAGE, 0) == 0
    address = (base + _PAGE + room - size) // min(alignment, _PAGE) * min(alignment, _PAGE)
    _held[address] = memory, base
    return address


def give(address: int | None) -> None:
    """Nobody may touch it from now on, nor give it back again."""
    if not address:
        return
    memory, base = _held.pop(address)
    assert _library.mprotect(base, len(memory), 0) == 0
    _gone.append(memory)


_gone: list[mmap.mmap] = []
_TAKE = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)(take)
_GIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(give)


class GuardedLibrary:
    """What `AlignedMemory` asks of the C library."""

    aligned_alloc = staticmethod(take)
    free = staticmethod(give)
    madvise = staticmethod(lambda *_: 0)


def guard(short: int) -> None:
    """Has all memory of ours guarded; blocks for results are `short` bytes short."""
    functions = native._functions

    def guarded() -> dict[str, int]:
        found = functions()
        for name, function in (("aligned_alloc", _TAKE), ("free", _GIVE)):
            found[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
        return found

    def layout(size: int) -> tuple[int, int, int, int]:
        whole = buffers.rounded(max(size, 1), buffers.ALIGNMENT) + buffers.HEADER_BYTES
        return whole - short, buffers.ALIGNMENT, 0, 0

    native._functions = guarded
    buffers.block_layout = layout
    buffers._library = GuardedLibrary  # pyright: ignore[reportAttributeAccessIssue]


def argument(value: torch.Tensor) -> torch.Tensor:
    """The same elements, between guard pages."""
    size = value.numel() * value.element_size()
    address = take(value.element_size(), size)
    held = (ctypes.c_char * max(size, 1)).from_address(address)
    made = torch.frombuffer(held, dtype=value.dtype, count=value.numel()) if size else value
    return made.view(value.shape).copy_(value)


class Heads(nn.Module):
    """Attention that keeps batches in front, behind a norm and in front of a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.packed, self.out = nn.LayerNorm(24), nn.Linear(24, 72), nn.Linear(24, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        packed = self.packed(self.norm(x)).view(batch, length, 3, 2, 12).permute(2, 0, 3, 1, 4)
        q, k, v = packed.unbind(0)
        made = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(made.transpose(1, 2).reshape(batch, length, 24))


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def _pointwise(x: torch.Tensor) -> Any:
    return torch.exp(x) * 2, (x > 0), x.sum()


def _moved(x: torch.Tensor) -> Any:
    return torch.cat([x, x.flip(1)], 1), x.transpose(0, 1).contiguous(), x[:, :1]


def _ranked(x: torch.Tensor) -> Any:
    return torch.sort(x, dim=1), torch.cumsum(x, 1), x.softmax(1), x.argmax(2)


def _narrow(x: torch.Tensor) -> Any:
    return (x.to(torch.bfloat16) @ torch.ones(24, 17, dtype=torch.bfloat16)).float()


def _bytes(x: torch.Tensor) -> Any:
    return (x > 0), x.to(torch.int8), (x > 0).any(1)


def _scores(x: torch.Tensor) -> Any:
    turned = x.transpose(1, 2).contiguous()
    scores = torch.bmm(x, turned)
    return (
        scores,
        torch.bmm(scores, x),
        torch.baddbmm(scores, x, turned),
        x.flatten(1) @ turned[0].view(-1, 1),
    )


PROGRAMS = (Heads().eval(), *map(Function, (_pointwise, _moved, _ranked, _narrow, _bytes, _scores)))


def _rows(x: torch.Tensor) -> Any:
    y = x.flatten(1)
    return y.softmax(-1), nn.functional.layer_norm(y, y.shape[1:]), y.argmax(1), y.mean(1)


def _tiles(x: torch.Tensor) -> Any:
    return x * 2 + 1, x[:, 0, 0] + 1, torch.cat([x, x], 1), x.permute(0, 2, 1) * 2


def _windows(x: torch.Tensor) -> Any:
    images = x.unflatten(1, (3, 8))
    pooled = nn.functional.max_pool2d(images, 3, 2, 1)
    return pooled, nn.functional.conv2d(images, torch.ones(4, 3, 3, 3)).relu()


def _looked_up(x: torch.Tensor) -> Any:
    places = (x[:, :, 0].abs() * 9).long().clamp(max=49)
    table = torch.arange(50.0 * 8).view(50, 8)
    return nn.functional.embedding(places, table).sum(1), x.flatten(1).gather(1, places)


def _columns(x: torch.Tensor) -> Any:
    return x.sum(0), x.flatten(1).amax(0), x.mean(), x.mean((1, 2)), x.logsumexp(0)


def _in_order(x: torch.Tensor) -> Any:
    y = x.flatten(1)
    return y.sort(1)[0], y.cumsum(0), y.topk(5)[0], torch.zeros_like(y).scatter_add(0, _first(y), y)


def _first(y: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(y, dtype=torch.long)


def _updated(x: torch.Tensor) -> Any:
    y = x.flatten(1)
    at = torch.ones_like(y[:, 0], dtype=torch.long).cumsum(0) - 1
    table = torch.zeros(60, 17).index_add(0, at % 60, y[:, :17])
    return y.index_add(0, at, y), y.index_copy(0, at, -y), y.index_fill(0, at, 2.0), table


def _weight(*shape: int) -> torch.Tensor:
    return torch.arange(float(torch.Size(shape).numel())).view(shape).sin()


def _products(x: torch.Tensor) -> Any:
    y = x.flatten(1)
    wide = nn.functional.gelu(y @ _weight(408, 70) + 1)
    normed = nn.functional.layer_norm(wide @ _weight(70, 408) + y, (408,))
    return wide, normed, (y @ _weight(408, 33)).softmax(1), y @ _weight(408, 1)


def _batches_of_products(x: torch.Tensor) -> Any:
    across = x.transpose(1, 2) @ _weight(24, 9)
    return x @ _weight(17, 40), across, x @ x.transpose(1, 2), _weight(5, 24) @ x


def _other_products(x: torch.Tensor) -> Any:
    y = x.flatten(1)
    whole = (y * 3).to(torch.int32)
    return y.double() @ _weight(408, 20).double(), whole @ _weight(408, 20).mul(5).to(torch.int32)


_OF_ROWS = (_rows, _tiles, _windows, _looked_up, _columns, _in_order, _updated)
_OF_PRODUCTS = (_products, _batches_of_products, _other_products)
BATCHED = (*map(Function, (*_OF_ROWS, *_OF_PRODUCTS)),)
"""Programs of a batch of 24 by 17: where but batches are open, arguments are passed as they are."""
BATCHES = (3, 1, 2, 4, 5, 7, 8, 15, 33, 64, 100, 255, 1023)
SOME_BATCHES = (3, 1, 8, 33, 1023)
"""Of fewer versions, whose compilation is what takes the time."""


class Embedded(nn.Module):
    """A norm of rows of a table that leaves the caches: rows to come are fetched ahead."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40000, 512)

    def forward(self, ids: torch.Tensor) -> Any:
        rows = self.table(ids)
        return nn.functional.layer_norm(rows, rows.shape[1:])


class Largest(nn.Module):
    """A row's largest element, of several rows at once, of a bound that leaves the caches."""

    def forward(self, x: torch.Tensor) -> Any:
        return x.argmax(1), x.amax(1)


class LongSum(nn.Module):
    """A sum over an open number of rows, each of its operands copied: there may be none."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.t() @ y


TERMS = (17, 0, 1, 200)


class ScaledRows(nn.Module):
    """Sums of rows that end within a vector, of a multiply-add whose factors stay in registers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 0.5 + 1).sum(1)


ROWS = (1, 2, 3, 4, 5, 7, 9, 63, 170, 1023, 1024)

SHAPES = ((3, 5), (1, 2), (4, 16), (2, 17), (16, 3), (5, 33), (3, 5), (17, 2), (3, 64))
"""Batches and lengths: small ones, those of bounds, one more, and larger than any before."""


def by_export(program: nn.Module) -> Callable[..., Any]:
    """The program exported with open sizes, in all versions there are."""
    dims = {0: Dim("batch", max=4096), 1: Dim("length", min=2, max=4096)}
    exported = torch.export.export(program, (torch.zeros(3, 5, 24),), dynamic_shapes=(dims,))
    return lamina.compile(exported)


def by_dynamo(program: nn.Module) -> Callable[..., Any]:
    """The program through `torch.compile` with symbolic sizes."""
    return torch.compile(program, backend="lamina", dynamic=True, fullgraph=True)


def near(program: nn.Module) -> float:
    """Relative: eager mode rounds what is bf16, which kernels need not."""
    return 2.0**-8 if getattr(program, "function", None) is _narrow else 1e-4


def judge(program: nn.Module, compiled: Callable[..., Any]) -> None:
    """Runs all shapes, contiguous and not, and compares with eager mode."""
    for batch, length in SHAPES:
        x = torch.randn(batch, length, 24)
        wanted = program(x)
        for given in (argument(x), argument(x.transpose(0, 2).contiguous()).transpose(0, 2)):
            torch.testing.assert_close(compiled(given), wanted, rtol=near(program), atol=1e-5)


def judge_batches(program: nn.Module, batches: Sequence[int]) -> None:
    """Exports a program with an open batch, and runs batches that fill their version and others."""
    dims = ({0: Dim("batch", min=1, max=4096)},)
    exported = torch.export.export(program, (torch.zeros(4, 24, 17),), dynamic_shapes=(dims))
    compiled = lamina.compile(exported, versions="padded")
    for batch in batches:
        x = torch.randn(batch, 24, 17)
        wanted = program(x)
        torch.testing.assert_close(compiled(argument(x)), wanted, rtol=1e-4, atol=1e-4)


def judge_rows() -> None:
    """Exports programs with an open number of rows, whose arguments end where a call's rows do."""
    dims = ({0: Dim("rows", min=1, max=1024)},)
    ids = [torch.randint(40000, (count,)) for count in ROWS]
    rows = [torch.randn(count, 1024) for count in ROWS]
    target = replace(Target.host(), l3_bytes=1 << 24)  # some hosts have room for the tables
    for program, calls in ((Embedded().eval(), ids), (Largest(), rows)):
        exported = torch.export.export(program, (calls[-1],), dynamic_shapes=dims)
        compiled = lamina.compile(exported, versions="padded", target=target)
        for given in calls:
            wanted = program(given)
            torch.testing.assert_close(compiled(argument(given)), wanted, rtol=1e-4, atol=1e-4)
        schedules = "".join(str(k.schedule) for k in compiled.sizes[-1].compiled.kernels)
        assert ("prefetch_rows" if calls is ids else "jam") in schedules


def judge_sums() -> None:
    """Exports a product whose sum has an open number of terms, and runs it with none, too."""
    terms = Dim("terms", max=256)
    given = torch.zeros(17, 512), torch.zeros(17, 512)
    exported = torch.export.export(LongSum(), given, dynamic_shapes=({0: terms}, {0: terms}))
    compiled = lamina.compile(exported, versions="padded")
    for count in TERMS:
        x, y = torch.randn(count, 512), torch.randn(count, 512)
        torch.testing.assert_close(compiled(x, y), x.t() @ y, rtol=1e-4, atol=1e-4)
    dims = ({0: Dim("rows", max=500), 1: Dim("columns", max=500)},)
    exported = torch.export.export(ScaledRows(), (torch.zeros(7, 7),), dynamic_shapes=dims)
    compiled = lamina.compile(exported, versions="padded")
    for count in (7, 7, 30):
        x = torch.randn(count, count)
        torch.testing.assert_close(compiled(argument(x)), ScaledRows()(x), rtol=1e-4, atol=1e-4)


def judge_groups() -> None:
    """Runs windows of images that have none, whose first one would be beyond them."""
    compiled = lamina.compile(WINDOW_SUMS, versions="padded")
    for height, width in IMAGES:
        x = torch.randn(height, width, 3)
        torch.testing.assert_close(compiled(argument(x)), window_sums(x), rtol=1e-4, atol=1e-4)
    assert "lamina.extents" in compiled.sizes[-1].compiled.ir("bufferized").partition("%size")[0]


def main(*arguments: str) -> None:
    """Each way in turn, and says so when all its programs ran.

    `--some` takes every third of programs, and some batches.
    """
    options = {given for given in arguments if given.startswith("--")}
    torch._dynamo.config.recompile_limit = 64  # strides are guarded, too
    guard(short=buffers.ALIGNMENT if "--short" in options else 0)
    for how in arguments:
        if how not in options:
            torch.manual_seed(0)
            with torch.no_grad():
                if "--some" in options:
                    judge_all(how, PROGRAMS[::3], SOME_BATCHES)
                else:
                    judge_all(how, PROGRAMS, BATCHES)
            assert not _failed, _failed
            print(how, "ran", flush=True)


def judge_all(how: str, programs: Sequence[nn.Module], batches: Sequence[int]) -> None:
    """Runs programs one way; those of rows and batches are their own."""
    own = {"rows": judge_rows, "sums": judge_sums, "groups": judge_groups}
    if how in own:
        return own[how]()
    if how == "batches":
        for program in BATCHED:
            judge_batches(program, batches)
        return None
    for program in programs:
        torch._dynamo.reset()
        compiled = by_dynamo(program) if how == "compile" else by_export(program)
        if how != "threads":
            judge(program, compiled)
            continue
        threads = [threading.Thread(target=_judge, args=(program, compiled)) for _ in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return None


_failed: list[BaseException] = []


def _judge(program: nn.Module, compiled: Callable[..., Any]) -> None:
    try:
        with torch.no_grad():
            judge(program, compiled)
    except BaseException as error:
        _failed.append(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
