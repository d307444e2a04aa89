"""Loops that a program has written out, compiled as scans, beside eager mode."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

import lamina

pytestmark = pytest.mark.one_in(3)

STEPS = 20


class Recurrent(torch.nn.Module):
    """Two cells over each other, a head, and something of single steps."""

    def __init__(self, cell: type[torch.nn.RNNCellBase]) -> None:
        super().__init__()
        self.cells = torch.nn.ModuleList([cell(6, 9), cell(9, 5)])
        self.head = torch.nn.Linear(5, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        states: list[object] = [None, None]
        made = []
        for t in range(x.shape[1]):
            value = x[:, t]
            for number, cell in enumerate(self.cells):
                states[number] = cell(value, states[number])
                state = states[number]
                value = state[0] if isinstance(state, tuple) else state
            made.append(self.head(value))
        return torch.stack(made, 1), made[3] - made[7], value


class Backwards(torch.nn.Module):
    """From the end, rows kept as matrices, results in the order of time."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h, made = torch.zeros_like(x[:1]), []
        for t in reversed(range(x.shape[0])):
            h = torch.tanh(x[t : t + 1] + h @ w)
            made.append(h)
        return torch.cat(made[::-1]), torch.cat(made, 1)


class Split(torch.nn.Module):
    """Elements by `unbind` in front, sums that are carried beside a state."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        total, most, made = torch.zeros_like(x[..., 0]), x[..., 0], []
        for row in x.unbind(-1):
            total = total * 0.9 + row
            most = torch.maximum(most, row)
            made.append(total / (1 + most.abs()))
        return torch.stack(made), total, most


class Iterated(torch.nn.Module):
    """Newton's steps: nothing but the state changes."""

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        x = torch.eye(a.shape[-1], dtype=a.dtype) / a.norm()
        for _ in range(STEPS):
            x = x @ (2 * torch.eye(a.shape[-1], dtype=a.dtype) - a @ x)
        return x


class Refined(torch.nn.Module):
    """A flow of places that a few long steps refine, as RAFT's do: samples, a window, gates."""

    STEPS, WAVES = 6, 24

    def __init__(self) -> None:
        super().__init__()
        self.window = torch.nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, image: torch.Tensor, flow: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = []
        for _ in range(self.STEPS):
            seen = F.grid_sample(image, flow.permute(0, 2, 3, 1), align_corners=True)
            hidden = torch.tanh(self.window(torch.cat([seen, flow], 1)))
            for wave in range(self.WAVES):
                hidden = hidden + 0.1 * torch.sin(hidden + wave)
            flow = flow + torch.sigmoid(hidden[:, :2]) * hidden[:, 2:] / 8
            made.append(F.interpolate(flow, scale_factor=2.0, mode="bilinear"))
        return tuple(made)


def _compiled(
    module: torch.nn.Module, *given: torch.Tensor, apart: bool = False
) -> lamina.Compiled:
    exported = torch.export.export(module.eval(), given)
    return lamina.compile(exported.run_decompositions() if apart else exported, cache=False)


def _check(module: torch.nn.Module, *given: torch.Tensor, apart: bool = False) -> None:
    compiled = _compiled(module, *given, apart=apart)
    assert compiled.ir("functional").count("control.scan") == 1
    with torch.no_grad():
        wanted = module(*given)
    torch.testing.assert_close(compiled(*given), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("apart", [False, True], ids=["as exported", "decomposed"])
@pytest.mark.parametrize("cell", [torch.nn.RNNCell, torch.nn.GRUCell, torch.nn.LSTMCell])
def test_cells(cell: type[torch.nn.RNNCellBase], apart: bool) -> None:
    torch.manual_seed(0)
    _check(Recurrent(cell), torch.randn(3, STEPS, 6), apart=apart)


@pytest.mark.parametrize("module", [torch.nn.GRU, torch.nn.LSTM])
def test_layers_that_torch_has_taken_apart(module: type[torch.nn.RNNBase]) -> None:
    torch.manual_seed(0)
    layer, x = module(6, 9, bidirectional=True).eval(), torch.randn(STEPS, 3, 6)
    compiled = _compiled(layer, x, apart=True)
    assert len(compiled.kernels) < STEPS
    torch.testing.assert_close(compiled(x)[0], layer(x)[0], rtol=1e-4, atol=1e-5)


def test_backwards() -> None:
    torch.manual_seed(0)
    _check(Backwards(), torch.randn(STEPS, 7), torch.randn(7, 7) / 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32], ids=str)
def test_elements_taken_in_front(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = (10 * torch.randn(4, 5, STEPS + 1)).to(dtype)
    _check(Split(), x)
    _check(Split(), x.transpose(0, 1))


def test_iterations() -> None:
    torch.manual_seed(0)
    a = torch.randn(4, 4, dtype=torch.float64)
    _check(Iterated(), a @ a.T + torch.eye(4, dtype=torch.float64))


def test_few_long_steps() -> None:
    torch.manual_seed(0)
    _check(Refined(), torch.randn(1, 2, 9, 7), torch.rand(1, 2, 9, 7) - 0.5)


def _decay(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    h = torch.zeros_like(x[0])
    for t in range(x.shape[0]):
        h = F.silu(x[t] + h @ w)
    return h


def test_half_floats_and_torch_compile() -> None:
    torch.manual_seed(0)
    w = torch.randn(8, 8).bfloat16() / 4
    x = torch.randn(30, 5, 8).bfloat16()
    found = torch.compile(_decay, backend="lamina")(x, w)
    exact, eager = _decay(x.double(), w.double()), _decay(x, w)
    assert (found - exact).abs().max() <= (eager - exact).abs().max()  # it rounds once a step


def test_a_program_of_many_steps_is_small() -> None:
    compiled = _compiled(Backwards(), torch.randn(100, 7), torch.randn(7, 7))
    assert len(compiled.kernels) < 10


def test_steps_may_be_left_as_they_are() -> None:
    x, w = torch.randn(STEPS, 7), torch.randn(7, 7)
    exported = torch.export.export(Backwards(), (x, w))
    written_out = lamina.compile(
        exported, pipeline=lamina.Pipeline().drop("roll-loops"), cache=False
    )
    assert "control.scan" not in written_out.ir("functional")
    for one, other in zip(written_out(x, w), _compiled(Backwards(), x, w)(x, w), strict=True):
        torch.testing.assert_close(one, other)
