"""Row-wise models become one kernel, which reads its input and writes its output once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

import lamina  # noqa: E402

ROWS, COLUMNS = 64, 512
FLOATS = 4


class Module(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
        return self.function(*arguments)


CASES = {
    "softmax": (lambda x: torch.softmax(x, -1), 0),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), 0),
    "layer_norm": (lambda x, w, b: torch.nn.functional.layer_norm(x, (COLUMNS,), w, b), 2),
    "rms_norm": (lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_one_pass_over_memory(name: str) -> None:
    function, vectors = CASES[name]
    arguments = (torch.randn(ROWS, COLUMNS), *(torch.randn(COLUMNS) for _ in range(vectors)))
    compiled = lamina.compile(torch.export.export(Module(function), arguments), cache=False)
    assert len(compiled.kernels) == 1, compiled.kernels
    (kernel,) = compiled.kernels
    assert kernel.calls == 1
    assert kernel.bytes == FLOATS * (2 * ROWS * COLUMNS + vectors * COLUMNS)
    torch.testing.assert_close(compiled(*arguments), function(*arguments))


def test_a_product_stays_apart_from_one_that_reads_it_by_columns() -> None:
    """The other way round: what cannot share rows is two kernels, and the reason is kept."""
    x = torch.randn(ROWS, COLUMNS)
    module = Module(lambda x: torch.softmax(torch.softmax(x, -1), 0))
    compiled = lamina.compile(torch.export.export(module, (x,)), cache=False)
    assert len(compiled.kernels) == 2, compiled.kernels
    assert any(kernel.not_fused for kernel in compiled.kernels)
