"""The backend of `torch.compile(f, backend="lamina")`, for inference.

Dynamo captures the graphs, AOTAutograd makes functional ATen graphs of them, and each is compiled
as a whole; what cannot be compiled is an error, never run by torch instead. torch finds this module
through the package's entry point, so nobody has to import lamina.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.schemas import OutputType
from torch._guards import TracingContext

from lamina.codegen.target import Target
from lamina.dialects.errors import ArgumentError, UnsupportedError
from lamina.frontends.dynamo_call import WEIGHT_MODES, DynamoCall
from lamina.frontends.dynamo_decompositions import DECOMPOSITIONS
from lamina.frontends.dynamo_graph import import_dynamo_graph
from lamina.frontends.dynamo_overlaps import refuse_overlaps
from lamina.lowering.pipeline import ROUNDINGS
from lamina.runtime.compile import as_target, collector_paused, native_program

_OPTIONS = ("weights", "target", "cache", "rounding")


def lamina_backend(
    graph_module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compiles a graph that Dynamo captured; what `torch.compile(backend="lamina")` calls.

    Options, as in `torch.compile(f, backend="lamina", options={"weights": "frozen"})`:

    - `weights`: "passed" (default) reads all parameters and buffers in each call. "checked" packs
      them once, and again when a version counter or an address says that one has changed: faster,
      but writes through `.data` or a NumPy view move no counter and go unseen. "frozen" packs at
      the first call and ignores later changes.
    - `target`, `cache`, `rounding`: as in `lamina.compile`; the target must be able to run here.

    Every size is static: another shape is another graph. Raises UnsupportedError for graphs that
    need gradients, for ops that cannot be compiled and for ops that read some of what they write,
    ArgumentError for unknown options; Dynamo hands either on as `BackendCompilerFailed`.
    """
    weights, target, cache, rounding = _read_options(mode, options)
    _make_static(example_inputs)
    refuse_overlaps(graph_module)

    def compile_inference(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        _refuse_lazy(inputs)
        return _compile_graph(graph, weights, target, cache, rounding)

    backend: Any = aot_autograd(
        fw_compiler=_refuse_training,
        inference_compiler=compile_inference,
        decompositions=dict(DECOMPOSITIONS),
        keep_inference_input_mutations=True,
    )
    return backend(graph_module, example_inputs)


def _read_options(
    mode: str | None, options: Mapping[str, Any] | None
) -> tuple[str, Target, bool, str]:
    chosen = dict(options or {})
    if mode not in (None, "default"):
        raise ArgumentError(f"mode '{mode}': the lamina backend has no modes; see its options")
    unknown = [name for name in chosen if name not in _OPTIONS]
    if unknown:
        raise ArgumentError(f"option '{unknown[0]}': there are {', '.join(_OPTIONS)}")
    weights = chosen.get("weights", "passed")
    if weights not in WEIGHT_MODES:
        raise ArgumentError(f"weights={weights!r}: one of {', '.join(WEIGHT_MODES)}")
    rounding = chosen.get("rounding", ROUNDINGS[0])
    if rounding not in ROUNDINGS:
        raise ArgumentError(f"rounding={rounding!r}: one of {', '.join(ROUNDINGS)}")
    return weights, as_target(chosen.get("target")), bool(chosen.get("cache", True)), rounding


def _make_static(example_inputs: Sequence[Any]) -> None:
    """Fixes symbolic sizes to what they are now, which becomes a guard of the compiled code.

    Dynamo tries a symbolic size when it sees a second one; here the second is compiled like the
    first.
    """
    for example in example_inputs:
        if isinstance(example, torch.SymInt):
            operator.index(example)
        elif isinstance(example, torch.Tensor):
            for size in (*example.shape, *example.stride(), example.storage_offset()):
                operator.index(size)


def _refuse_lazy(example_inputs: Sequence[Any]) -> None:
    """Dynamo guards the lazy bits of tensors, so that calls need not look at them."""
    for example in example_inputs:
        if isinstance(example, torch.Tensor) and (example.is_conj() or example.is_neg()):
            raise UnsupportedError(
                "torch.compile(backend='lamina')",
                "an input is a lazily conjugated or negated view",
                nearest="call it with x.resolve_conj() or x.resolve_neg()",
            )


def _refuse_training(graph: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    raise UnsupportedError(
        "torch.compile(backend='lamina')",
        "the graph records gradients; training is not supported",
        nearest="call it under torch.no_grad() or torch.inference_mode()",
    )


def _compile_graph(
    graph: fx.GraphModule, weights: str, target: Target, cache: bool, rounding: str
) -> Callable[[list[Any]], list[Any]]:
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    static = set(metadata.static_input_indices) if metadata is not None else set()
    bindable = static if weights != "passed" else set[int]()
    with collector_paused():
        imported = import_dynamo_graph(graph, bindable, _regenerated(graph, metadata))
        program = native_program(imported.module, target, cache=cache, rounding=rounding)
    if program.code is None:
        raise ArgumentError(f"target {target.name}: code for it cannot run on this machine")
    return DynamoCall(imported, program, check=weights == "checked")


def _regenerated(graph: fx.GraphModule, metadata: Any) -> set[int]:
    """Positions of the results that AOTAutograd makes anew of the inputs that they are views of."""
    if metadata is None:
        return set()
    results: Any = graph.graph.output_node().args[0]
    first = len(results) - len(metadata.output_info) - metadata.num_intermediate_bases
    return {
        first + position
        for position, info in enumerate(metadata.output_info)
        if info.output_type in (OutputType.alias_of_input, OutputType.is_input)
    }
