"""Options and modes of `torch.compile(f, backend="lamina")`, and arguments that it refuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lamina.codegen.target import Target
from lamina.dialects.errors import ArgumentError, UnsupportedError
from lamina.frontends.dynamo_call import WEIGHT_MODES
from lamina.lowering.custom_pipeline import Pipeline
from lamina.lowering.pipeline import ROUNDINGS
from lamina.runtime.compile import as_target
from lamina.runtime.layers import DEFAULT
from lamina.runtime.lowering_options import LoweringOptions
from lamina.runtime.size_versions import VERSION_POLICIES

MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
"""torch's modes, which all mean the same here: costs choose schedules, and nothing is timed."""

_OPTIONS = ("weights", "target", "cache", "rounding", "pipeline", "versions")


@dataclass(frozen=True)
class DynamoOptions:
    """How weights are read, the target, whether to cache, how to lower, and what of sizes."""

    weights: str
    target: Target
    cache: bool
    lowering: LoweringOptions
    versions: str


def read_options(mode: str | None, options: Mapping[str, Any] | None) -> DynamoOptions:
    """The options of a call of torch.compile. Raises ArgumentError for what there is not."""
    chosen = dict(options or {})
    if mode not in MODES:
        known = ", ".join(str(name) for name in MODES if name is not None)
        raise ArgumentError(f"mode '{mode}': one of {known}, which all mean the same here")
    unknown = [name for name in chosen if name not in _OPTIONS]
    if unknown:
        raise ArgumentError(f"option '{unknown[0]}': there are {', '.join(_OPTIONS)}")
    weights = chosen.get("weights", WEIGHT_MODES[0])
    if weights not in WEIGHT_MODES:
        raise ArgumentError(f"weights={weights!r}: one of {', '.join(WEIGHT_MODES)}")
    rounding = chosen.get("rounding", ROUNDINGS[0])
    if rounding not in ROUNDINGS:
        raise ArgumentError(f"rounding={rounding!r}: one of {', '.join(ROUNDINGS)}")
    passes = chosen.get("pipeline", DEFAULT)
    if not isinstance(passes, Pipeline):
        raise ArgumentError(f"pipeline={passes!r}: it takes a lamina.Pipeline")
    versions = chosen.get("versions", VERSION_POLICIES[0])
    if versions not in VERSION_POLICIES:
        raise ArgumentError(f"versions={versions!r}: one of {', '.join(VERSION_POLICIES)}")
    return DynamoOptions(
        weights,
        as_target(chosen.get("target")),
        bool(chosen.get("cache", True)),
        LoweringOptions(rounding, passes=passes),
        versions,
    )


def refuse_layouts(example_inputs: Sequence[Any]) -> None:
    """UnsupportedError for nested tensors, and others that are not dense."""
    for example in example_inputs:
        if not isinstance(example, torch.Tensor):
            continue
        if example.is_nested:
            reason = "a nested tensor is passed or made"
            near = "torch.nested.to_padded_tensor(x, 0.0) and a mask"
        elif example.layout is not torch.strided:
            reason = f"a tensor of layout {example.layout} is passed or made"
            near = "x.to_dense()"
        else:
            continue
        raise UnsupportedError("torch.compile(backend='lamina')", reason, nearest=near)
