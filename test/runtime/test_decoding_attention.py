"""Attention of one query over a cache of open length, to which its key and value are joined: loops
end at the keys that count, and nothing reads the room behind them."""

from __future__ import annotations

from typing import Any

import pytest

import lamina

torch = pytest.importorskip("torch", reason="front end needs torch")

BOUND = 96


class Step(torch.nn.Module):
    """One step of a decoder: its result, and the caches that it leaves."""

    def forward(self, q: Any, k: Any, v: Any, keys: Any, values: Any) -> Any:
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        result = torch.nn.functional.scaled_dot_product_attention(q, keys, values)
        return result, keys, values


def _inputs(length: int) -> tuple[Any, ...]:
    torch.manual_seed(length)
    return tuple(torch.randn(1, 4, n, 32) for n in (1, 1, 1, length, length))


@pytest.fixture(scope="module")
def compiled() -> Any:
    length = torch.export.Dim("length", min=0, max=BOUND)
    dims = ({}, {}, {}, {2: length}, {2: length})
    program = torch.export.export(Step(), _inputs(20), dynamic_shapes=dims)
    return lamina.compile(program, versions="padded", cache=False)


@pytest.mark.parametrize("length", [0, 1, 2, 15, 16, 17, 63, BOUND])
def test_steps_of_any_length(compiled: Any, length: int) -> None:
    inputs = _inputs(length)
    for found, wanted in zip(compiled(*inputs), Step()(*inputs), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_infinite_elements_behind_a_shorter_cache(compiled: Any) -> None:
    """What a longer call left in memory is not added to a shorter one's sums."""
    compiled(*(torch.full_like(x, float("inf")) for x in _inputs(BOUND)))
    inputs = _inputs(3)
    for found, wanted in zip(compiled(*inputs), Step()(*inputs), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_loops_end_at_the_keys_that_count(compiled: Any) -> None:
    compiled(*_inputs(5))
    text = compiled.ir("bufferized")
    attention = text[text.index("math.exp") - 2500 :]
    assert "lamina.ends" in attention
    assert "lamina.bounds" not in text


def test_zeros_are_stored_without_a_read_of_what_nobody_wrote(compiled: Any) -> None:
    """The kernel that joins values reads its own result where a mask is true, and says so."""
    compiled(*_inputs(5))
    text = compiled.ir("bufferized")
    joining = [part for part in text.split("func.func private") if '"prims.take"' in part]
    assert any("lamina.masks" in part for part in joining if '"prims.where"' in part)
