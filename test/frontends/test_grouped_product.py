"""Products of groups by a matrix each, and a mixture of experts of transformers."""

from typing import Any

import pytest
import torch
from torch import Tensor

import lamina

SHAPES = {
    "groups of rows": ((8, 16), (3, 16, 24)),
    "groups of columns": ((3, 4, 16), (16, 8)),
    "groups of terms": ((16, 8), (8, 24)),
    "batches": ((3, 4, 16), (3, 16, 24)),
}


@pytest.mark.parametrize("ends", [[2, 2, 8], [0, 8, 8], [3, 5, 8]])
@pytest.mark.parametrize("name", SHAPES)
def test_as_eager(name: str, ends: list[int]) -> None:
    """In bf16: torch traces no other dtype."""
    torch.manual_seed(0)
    x, y = (torch.randn(shape).bfloat16() for shape in SHAPES[name])
    places = None if name == "batches" else torch.tensor(ends, dtype=torch.int32)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return torch._grouped_mm(x, y, offs=places)

    torch._dynamo.reset()
    with torch.no_grad():
        actual = torch.compile(run, backend="lamina", fullgraph=True)(x, y)
        torch.testing.assert_close(actual, run(x, y))


def test_mixture_of_experts() -> None:
    transformers: Any = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.MixtralConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
        use_cache=False,
    )
    model = transformers.MixtralForCausalLM(config).eval()
    tokens = torch.randint(0, 64, (2, 9))
    with torch.no_grad():
        expected = model(tokens).logits
        program = torch.export.export(model, (tokens,), strict=False)
        actual = lamina.compile(program)(tokens)
    torch.testing.assert_close(actual.logits, expected, rtol=1e-4, atol=1e-5)
