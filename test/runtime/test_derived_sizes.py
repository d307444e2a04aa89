"""Results whose sizes follow from others: calls say these first, and take memory for no more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import lamina
from lamina.dialects.sizes import Formula
from lamina.runtime.dispatch.native import output_memory
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

pytestmark = pytest.mark.one_in(2)

SIZES = (
    (3, 20, 30),
    (1, 1, 1),
    (2, 0, 0),
    (0, 5, 7),
    (2, 0, 3),
    (5, 1, 0),
    (64, 128, 128),
    (4, 9, 2),
)
Tensors = tuple[torch.Tensor, ...]


class Function(nn.Module):
    """A function of two tensors as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return self.function(x, y)


def _repeated(x: torch.Tensor, times: int) -> torch.Tensor:
    """`repeat_interleave`, as torch.compile decomposes it."""
    return x[:, :, None].expand(-1, -1, times, -1).flatten(1, 2)


PROGRAMS: dict[str, tuple[Callable[..., Any], str]] = {
    "cat": (lambda x, y: torch.cat([x, y], 1), "arg3 + arg4"),
    "cat with itself": (lambda x, y: torch.cat([x, x * 2], 1), "arg3 * 2"),
    "pad": (lambda x, y: functional.pad(x, (0, 0, 1, 1)), "arg3 + 2"),
    "repeat": (lambda x, y: _repeated(x + 1, 2), "arg3 * 2"),
    "repeat thrice": (lambda x, y: torch.exp(_repeated(x, 3)), "arg3 * 3"),
    "rows": (
        lambda x, y: torch.cat([x.flatten(0, 1), y.flatten(0, 1)]),
        "arg2 * arg3 + arg2 * arg4",
    ),
    "two results": (lambda x, y: (torch.cat([y, x], 1), (x * 3, y.amax(2))), "arg4 + arg3"),
}


def _export(function: Callable[..., Any]) -> Any:
    given = (torch.randn(3, 20, 16), torch.randn(3, 30, 16))
    batch, one, other = Dim("batch", max=64), Dim("one", max=128), Dim("other", max=128)
    dims = ({0: batch, 1: one}, {0: batch, 1: other})
    return torch.export.export(Function(function), given, dynamic_shapes=dims)


def _compiled(name: str, versions: str = "padded") -> Any:
    return lamina.compile(_export(PROGRAMS[name][0]), versions=versions)


def _given(batch: int, one: int, other: int) -> Tensors:
    return torch.randn(batch, one, 16), torch.randn(batch, other, 16)


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str) -> None:
    compiled, (function, formula) = _compiled(name), PROGRAMS[name]
    for sizes in SIZES:
        given = _given(*sizes)
        apart = [torch.stack([x, x], -1)[..., 0] for x in given]
        for arguments in (given, given, apart):
            torch.testing.assert_close(compiled(*arguments), function(*given))
    assert len(compiled.sizes) == 1
    assert f"lamina.derived = #lamina.formula<{formula}>" in compiled.sizes[0].compiled.ir(
        "bufferized"
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_arrays(name: str) -> None:
    compiled, (function, _) = _compiled(name), PROGRAMS[name]
    for sizes in SIZES:
        given = _given(*sizes)
        made, wanted = compiled(*(x.numpy() for x in given)), function(*given)
        for one, other in zip(_flat(made), _flat(wanted), strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-5)


def _flat(results: Any) -> list[Any]:
    return [x for r in results for x in _flat(r)] if isinstance(results, tuple) else [results]


IMAGES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str]] = {
    "in steps of two": (
        lambda x: functional.conv2d(x, torch.ones(5, 3, 3, 3), stride=2, padding=1),
        "(arg2 + 1) divsi 2",
    ),
    "of twice the size": (lambda x: functional.interpolate(x, scale_factor=2.0), "arg2 * 2"),
    "with a border": (lambda x: functional.pad(x, (1, 1, 2, 2), value=3.0), "arg2 + 4"),
    "without a border": (lambda x: x[:, :, 1:-1, 1:-1].exp(), "max(arg2 - 1 - 1, 0)"),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str) -> None:
    function, formula = IMAGES[name]

    class Images(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    dims = {0: Dim("batch", max=8), 2: Dim("height", min=8, max=64), 3: Dim("width", min=8, max=64)}
    program = torch.export.export(Images(), (torch.randn(2, 3, 20, 30),), dynamic_shapes=(dims,))
    compiled = lamina.compile(program, versions="padded")
    for batch, height, width in ((2, 20, 30), (8, 64, 64), (1, 8, 9), (3, 9, 8), (0, 11, 12)):
        x = torch.randn(batch, 3, height, width)
        for given in (x, x, x.transpose(2, 3).contiguous().transpose(2, 3)):
            torch.testing.assert_close(compiled(given), function(x), rtol=1e-5, atol=1e-5)
    assert f"lamina.derived = #lamina.formula<{formula}>" in compiled.sizes[0].compiled.ir(
        "bufferized"
    )


@pytest.mark.parametrize("name", ["cat", "cat with itself", "pad", "repeat", "rows"])
def test_results_are_not_copied(name: str) -> None:
    """A block of the pool for each result, of about its bytes: the version is for 64x128x16."""
    compiled = _compiled(name)
    given = _given(3, 20, 30)
    compiled(*given)
    before = output_memory()
    held = [compiled(*given) for _ in range(20)]
    after = output_memory()
    made = after.block_bytes - after.kept_bytes - (before.block_bytes - before.kept_bytes)
    own = 4 * held[0].numel()
    assert 20 * own <= made <= 20 * (2 * own + 512)
    assert after.blocks_made - before.blocks_made <= 20


def test_a_saved_program_says_them_too(tmp_path: Path) -> None:
    compiled, (function, _) = _compiled("cat"), PROGRAMS["cat"]
    compiled(*_given(3, 20, 30))
    file = tmp_path / "cat.lamina"
    compiled.save(file)
    loaded = lamina.load(file)
    for sizes in SIZES:
        given = _given(*sizes)
        torch.testing.assert_close(loaded(*given), function(*given))
    slots = loaded.sizes[0].compiled.program.main.slots
    steps = (("argument", 3), ("argument", 4), ("add", 0))
    assert [slot.derived for slot in slots if slot.kind == "size"][1] == steps


def test_two_threads() -> None:
    compiled, (function, _) = _compiled("cat"), PROGRAMS["cat"]
    compiled(*_given(3, 20, 30))
    wrong: list[tuple[int, int]] = []

    def work(first: int) -> None:
        for length in range(first, 128, 5):
            given = _given(1 + length % 7, length, 127 - length)
            if not torch.equal(compiled(*given), function(*given)):
                wrong.append((first, length))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_sizes_out_of_their_ranges() -> None:
    compiled = _compiled("cat")
    x, y = _given(3, 20, 30)
    with pytest.raises(lamina.ArgumentError, match=r"dimension 1 of argument 'y' is 129"):
        compiled(x, torch.randn(3, 129, 16))
    with pytest.raises(lamina.ArgumentError, match=r"dimension 0 of argument 'y' is 4"):
        compiled(x, torch.randn(4, 30, 16))
    torch.testing.assert_close(compiled(x, y), torch.cat([x, y], 1))


def test_every_layer_means_the_same() -> None:
    text = """
func.func @main(%x: tensor<?x?x3xf32> {lamina.dims = [#lamina.size<a in [0, 8]>, #lamina.size<b in [0, 16]>]})
    -> (tensor<?x?x3xf32> {lamina.dims = [#lamina.size<a>, #lamina.size<2 * b>]}) {
  %0 = aten.cat.default([%x, %x], 1) : (tensor<?x?x3xf32>, tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  %1 = aten.exp.default(%0) : (tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  func.return %1 : tensor<?x?x3xf32>
}"""  # noqa: E501 - an argument on one line
    module = parse(text)
    compiled = lamina.compile(text, versions="padded")
    for sizes in ((3, 5), (8, 16), (1, 1), (0, 4), (4, 0)):
        x = np.random.default_rng(0).standard_normal((*sizes, 3)).astype(np.float32)
        (wanted,) = run_module(module.clone(), [x])
        np.testing.assert_allclose(compiled(x), wanted, rtol=1e-5)


def test_formulas_wrap_around_as_numbers_of_programs_do() -> None:
    most = (1 << 63) - 1
    one = Formula.argument(0)
    assert (one + 1).at({0: most}) == -most - 1
    assert (one * 2).at({0: most}) == -2
    assert ((one - 3) // 2 + 1).at({0: 2}) == 0
    assert (Formula.joined("divsi", one - 3, Formula.number(2)) + 1).at({0: 2}) == 1
    assert (one + one) == one * 2
    with pytest.raises(ValueError, match="-2 is no positive number"):
        _ = one // -2
