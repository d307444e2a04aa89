"""Language models of transformers at the lengths where their attention is long."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import lamina

transformers = pytest.importorskip("transformers")

COMMON = {"vocab_size": 128, "use_cache": False, "attn_implementation": "sdpa"}
LLAMA = {
    "hidden_size": 512,
    "intermediate_size": 512,
    "num_hidden_layers": 1,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 2048,
    **COMMON,
}


def gpt2() -> Any:
    config = transformers.GPT2Config(n_layer=1, n_embd=384, n_head=12, **COMMON)
    return transformers.GPT2LMHeadModel(config)


def llama() -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA))


def mistral() -> Any:
    return transformers.MistralForCausalLM(transformers.MistralConfig(sliding_window=512, **LLAMA))


@pytest.mark.parametrize(
    ("build", "length"),
    [
        (gpt2, 1024),
        (llama, 256),
        pytest.param(mistral, 1024, marks=pytest.mark.long),
        pytest.param(llama, 2048, marks=pytest.mark.long),
    ],
)
def test_language_model(build: Any, length: int) -> None:
    torch.manual_seed(0)
    model = build().eval()
    ids = torch.randint(128, (1, length))
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(model, (ids,), strict=False))
        wanted = model(ids).logits
    got = compiled(ids)
    got = got["logits"] if isinstance(got, dict) else getattr(got, "logits", got)
    got = got[0] if isinstance(got, tuple | list) else got
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
    if length >= 1024:  # by then more than all other values together
        assert compiled.memory.arena < 4 * length * length * 12
