"""The networks that `bench.models` times: public configurations with random weights.

Batch norms scale by 1, and their statistics come from one forward pass in training mode, so that
activations are as large as those of a trained network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from bench.densenet import densenet_121
from bench.unet import unet_block

Inputs = tuple[torch.Tensor, ...]
Made = tuple[torch.nn.Module, Inputs]

TOKENS, CACHED = 128, 256
"""Tokens of a text, and places in the cache of a decoder that makes one token a call."""


@dataclass(frozen=True)
class Model:
    """A network by name. `make(batch)` gives it in eval mode and f32, and the inputs of a call.

    `dtype` is what weights and images are rounded to. `decodes`: a call reads each weight once and
    makes a token, so that the bandwidth of memory bounds it.
    """

    name: str
    make: Callable[[int], Made]
    batch: int = 1
    dtype: torch.dtype = torch.float32
    decodes: bool = False

    @property
    def title(self) -> str:
        """What is measured, in words."""
        kind = str(self.dtype).removeprefix("torch.").replace("bfloat", "bf").replace("float", "f")
        return f"{self.name}, batch {self.batch}, {kind}"


class _First(torch.nn.Module):
    """A model that gives the first of its results: logits, a last hidden state, or all steps."""

    def __init__(self, model: torch.nn.Module, **fixed: Any) -> None:
        super().__init__()
        self.model = model
        self.fixed = fixed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of token ids, an image or steps."""
        return self.model(x, **self.fixed)[0]


class _Step(torch.nn.Module):
    """A step of decoding by the recipe of transformers for torch.export, its cache in buffers."""

    def __init__(self, recipe: Any) -> None:
        super().__init__()
        self.recipe = recipe

    def forward(self, ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """Logits, [1, 1, vocabulary], of the token `ids`, [1, 1], at `position`, [1]."""
        return self.recipe(input_ids=ids, cache_position=position)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> _Step:
        """A change of dtype, which the cache's own references to the buffers take part in."""
        super()._apply(fn, recurse)
        for i, layer in enumerate(self.recipe.static_cache.layers):
            layer.keys = self.recipe.get_buffer(f"key_cache_{i}")
            layer.values = self.recipe.get_buffer(f"value_cache_{i}")
        return self


def _texts(name: str, config: str, **changed: Any) -> Callable[[int], Made]:
    def make(batch: int) -> Made:
        import transformers

        chosen = getattr(transformers, config)(**changed)
        model = getattr(transformers, name)(chosen)
        ids = torch.randint(1000, 30000, (batch, TOKENS))
        return _First(model, return_dict=False).eval(), (ids,)

    return make


def _images(prefix: str, **changed: Any) -> Callable[[int], Made]:
    def make(batch: int) -> Made:
        import transformers

        config = getattr(transformers, f"{prefix}Config")(num_labels=1000, **changed)
        network = getattr(transformers, f"{prefix}ForImageClassification")(config)
        return _on_image(_First(network, return_dict=False), batch)

    return make


def _on_image(model: torch.nn.Module, batch: int) -> Made:
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_parameters()  # EfficientNet begins with weights near 0: subnormal activations
        norm.momentum = 1.0
    if norms:
        with torch.no_grad():
            model.train()(torch.randn(4, 3, 224, 224))
    return model.eval(), (torch.randn(batch, 3, 224, 224),)


def _unet(batch: int) -> Made:
    model, image = unet_block()
    return model, (image.expand(batch, *image.shape[1:]).contiguous(),)


def _lstm(batch: int) -> Made:
    model = _First(torch.nn.LSTM(512, 512, 2, batch_first=True))
    return model.eval(), (torch.randn(batch, 100, 512),)


_SMOLLM: dict[str, Any] = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
"""SmolLM-135M: a Llama of 30 layers whose queries share keys and values by threes."""


def _decoder(batch: int) -> Made:
    import transformers
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**_SMOLLM)).eval()
    model.generation_config.cache_implementation = "static"
    recipe = TorchExportableModuleWithStaticCache(model, batch, CACHED, torch.device("cpu"))
    ids = torch.randint(1000, 30000, (batch, 1))
    return _Step(recipe).eval(), (ids, torch.tensor([TOKENS]))


_SINGLE = (
    Model("resnet-50", _images("ResNet")),
    Model("mobilenet-v2", _images("MobileNetV2", tf_padding=False)),
    Model("convnext-tiny", _images("ConvNext")),
    Model("regnet-y-040", _images("RegNet")),
    Model(
        "efficientnet-b0",
        _images(
            "EfficientNet",
            width_coefficient=1.0,
            depth_coefficient=1.0,
            hidden_dim=1280,
            image_size=224,
        ),
    ),
    Model("vit-base", _images("ViT")),
    Model("swin-tiny", _images("Swin")),
    Model("densenet-121", lambda batch: _on_image(densenet_121(), batch)),
    Model("bert-base", _texts("BertModel", "BertConfig")),
    Model("gpt-2", _texts("GPT2LMHeadModel", "GPT2Config", use_cache=False)),
    Model("smollm", _texts("LlamaForCausalLM", "LlamaConfig", use_cache=False, **_SMOLLM)),
    Model("unet-block", _unet),
    Model("lstm", _lstm),
    Model("smollm-decode", _decoder, decodes=True),
)
_IN_BATCHES = ("resnet-50", "mobilenet-v2", "vit-base")
_IN_BF16 = ("bert-base", "resnet-50")


def _table() -> dict[str, Model]:
    models = {model.name: model for model in _SINGLE}
    for name in _IN_BATCHES:
        models[f"{name}-batch-8"] = replace(models[name], name=f"{name}-batch-8", batch=8)
    for name in _IN_BF16:
        row = replace(models[name], name=f"{name}-bf16", dtype=torch.bfloat16)
        models[row.name] = row
    return models


MODELS = _table()
"""All rows, by name."""


def build(model: Model) -> Made:
    """The network and the inputs of a call, in f32, the same in each process."""
    torch.manual_seed(0)
    return model.make(model.batch)


def rounded(made: Made, dtype: torch.dtype) -> Made:
    """The network (itself) and inputs with numbers of `dtype`; token ids stay."""
    network, inputs = made
    kept = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    return network.to(dtype), kept
