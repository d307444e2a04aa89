"""The ledger says of every two kernels in a row, and of every hand-over, why they are two."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

import lamina  # noqa: E402
from lamina.dialects.context import Context  # noqa: E402
from lamina.dialects.loop import KernelOp  # noqa: E402
from lamina.frontends.exported_program import import_exported_program  # noqa: E402
from lamina.lowering.pipeline import pipeline, run_pipeline  # noqa: E402
from lamina.passes.fusion.fusion_reasons import explain_rest, numbers_of, reasons_of  # noqa: E402

functional = torch.nn.functional
aten = torch.ops.aten
Case = tuple[Callable[..., object], tuple[object, ...]]


def _attention(x: object, query: object, key: object, value: object) -> object:
    heads = [(x @ w).view(2, 32, 4, 16).transpose(1, 2) for w in (query, key, value)]  # pyright: ignore
    made = functional.scaled_dot_product_attention(*heads)
    return x + made.transpose(1, 2).reshape(2, 32, 64)  # pyright: ignore


def _cross_entropy(x: object, target: object) -> object:
    logs = aten._log_softmax(x, 1, False)
    loss, weight = aten.nll_loss_forward(logs, target, None, 1, -100)
    made = aten.nll_loss_backward(loss, logs, target, None, 1, -100, weight)
    return loss, aten._log_softmax_backward_data(made, logs, 1, torch.float32)


CASES: dict[str, Case] = {
    "softmax_twice": (
        lambda x: torch.softmax(torch.softmax(x, -1), 0),
        (torch.randn(200, 300),),
    ),
    "cross_entropy": (_cross_entropy, (torch.randn(200, 300), torch.randint(300, (200,)))),
    "group_norm": (
        lambda x, w: functional.group_norm(x, 4, w, w).relu().sum((2, 3)),
        (torch.randn(3, 8, 9, 9), torch.randn(8)),
    ),
    "perceptron": (
        lambda x, a, b, c: functional.gelu(x @ a + b) @ c,
        (torch.randn(64, 32), torch.randn(32, 48), torch.randn(48), torch.randn(48, 40)),
    ),
    "attention": (_attention, (torch.randn(2, 32, 64), *(torch.randn(64, 64) for _ in range(3)))),
    "products_in_a_row": (
        lambda a, b, c: torch.cat([a @ b, a @ c]),
        (torch.randn(64, 32), torch.randn(32, 48), torch.randn(32, 48)),
    ),
    "sorted": (
        lambda x: torch.sort(x.exp(), -1)[0].cumsum(0).sum(-1),
        (torch.randn(40, 50),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_pair_has_a_reason(name: str) -> None:
    function, arguments = CASES[name]

    class Program(torch.nn.Module):
        def forward(self, *arguments: object) -> object:
            return function(*arguments)

    program = torch.export.export(Program(), arguments)
    module = import_exported_program(program).module
    specs = [s for s in pipeline(stop="fused") if not s.startswith(("outline-k", "inline-r"))]
    run_pipeline(module, specs, Context())
    for main in module.body.block.ops:
        block = main.regions[0].block
        explain_rest(block)
        kernels = [op for op in block.ops if isinstance(op, KernelOp)]
        pairs = set(pairwise(kernels))
        pairs |= {(m, k) for k in kernels for v in k.inputs if isinstance(m := v.owner, KernelOp)}
        for one, other in pairs:
            about = {n for n, _ in reasons_of(other)} & set(numbers_of(one))
            about |= {n for n, _ in reasons_of(one)} & set(numbers_of(other))
            assert about, f"{one}\n{other}"
    compiled = lamina.compile(program, cache=False)
    ledger = compiled.measure(*arguments, repeats=2)
    assert all(k.roofline_us >= 0 and k.measured_us is not None for k in ledger)
    assert len(ledger) == 1 or any(k.not_fused for k in ledger)


def test_reasons_go_when_kernels_are_merged() -> None:
    x = torch.randn(200, 300)

    class Program(torch.nn.Module):
        def forward(self, x: object) -> object:
            return torch.softmax(x, -1), x.sum(0)  # pyright: ignore

    compiled = lamina.compile(torch.export.export(Program(), (x,)), cache=False)
    assert len(compiled.kernels) == 1
    assert compiled.kernels.explain() == "every op that could be was fused"
