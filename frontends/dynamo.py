"""The backend of `torch.compile(f, backend="lamina")`, for inference.

Dynamo captures the graphs, AOTAutograd makes functional ATen graphs of them, and each is compiled
as a whole; what cannot be compiled is an error, never run by torch instead. torch finds this module
through the package's entry point, so nobody has to import lamina.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import SkipFrame, exceptions_allowed_to_be_fallback
from torch._functorch._aot_autograd.schemas import OutputAliasInfo, OutputType
from torch._guards import TracingContext
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from lamina.dialects.compiling import compiling
from lamina.dialects.errors import ArgumentError, UnsupportedError
from lamina.dialects.extension_tables import kept_scopes
from lamina.dialects.logs import topic
from lamina.frontends.dynamo_argument_views import ArgumentViews, argument_views
from lamina.frontends.dynamo_call import DynamoCall, OpenArguments
from lamina.frontends.dynamo_decompositions import DECOMPOSITIONS
from lamina.frontends.dynamo_expands import expands_as_views
from lamina.frontends.dynamo_graph import DynamoGraph, import_dynamo_graph
from lamina.frontends.dynamo_options import DynamoOptions, read_options, refuse_layouts
from lamina.frontends.dynamo_overlaps import refuse_overlaps
from lamina.frontends.dynamo_scalars import scalars_stay
from lamina.frontends.dynamo_shared_weights import SharedWeights
from lamina.frontends.dynamo_sizes import (
    OpenGraph,
    SizedDynamoCall,
    has_sizes_of_data,
    open_arguments,
    refuse_other_sizes,
    symbols_of,
    with_numbers,
)
from lamina.frontends.dynamo_staged import ListStructure, StagedDynamoCall
from lamina.frontends.dynamo_weights import Call
from lamina.frontends.kept_composites import composites_kept
from lamina.frontends.recurrent_composites import kept_whole
from lamina.frontends.torch_seeds import TORCH_SEEDS
from lamina.lowering.choose_padding import LikelyBounds, Padding
from lamina.passes.contracts.declared import Declared, arguments_of
from lamina.passes.contracts.size_hints import set_hints
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.runtime.call_sizes import CallSizes
from lamina.runtime.compile import (
    compile_module,
    native_program,
    open_unbound_arguments,
)
from lamina.runtime.compiled import Compiled
from lamina.runtime.entry import argument_slots, function_named
from lamina.runtime.program import Program
from lamina.runtime.size_versions import VARYING
from lamina.runtime.sized import padded_program, padding_of_program
from lamina.runtime.staged import staged_program


def lamina_backend(
    graph_module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compiles a graph that Dynamo captured; what `torch.compile(backend="lamina")` calls.

    Options, as in `torch.compile(f, backend="lamina", options={"weights": "frozen"})`:

    - `weights`: "checked" (default) packs parameters and buffers once for each module, and again
      when one has changed: is another tensor, at another address, has another version counter, or
      another number at a place of which each call reads one in each tensor. Writes that move no
      counter, through `.data` or a NumPy view, are seen if they change that number, as writes to
      all of a tensor do. "passed" reads all weights in each call. "frozen" keeps what each
      module had at its first call: packed, or as a copy.
    - `target`, `cache`, `rounding`, `pipeline`, `versions`: as in `lamina.compile`; the target
      must be able to run here.

    All of torch's modes are taken, and mean the same: costs choose schedules, nothing is timed.

    Symbolic sizes stay: other sizes are other versions of the graph, not other graphs. Raises
    UnsupportedError for graphs that need gradients, for ops that cannot be compiled and for ops
    that read some of what they write, ArgumentError for unknown options; Dynamo hands either on as
    `BackendCompilerFailed`.
    """
    chosen = read_options(mode, options)
    policy = VARYING if chosen.versions == "auto" else chosen.versions  # symbols are there to vary
    refuse_layouts(example_inputs)

    def compile_inference(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        _refuse_lazy(inputs)
        compiler = _GraphCompiler(chosen)
        views = compiler.views(graph)
        if not symbols_of(graph):
            call = with_numbers(compiler.static(graph), graph)
        elif has_sizes_of_data(graph):
            call = compiler.open(graph, policy)
        else:
            call = SizedDynamoCall(graph, compiler.static, compiler.importing, policy)
        return call if views is None else views.beside(call)

    backend: Any = aot_autograd(
        fw_compiler=_refuse_training,
        inference_compiler=compile_inference,
        decompositions=dict(DECOMPOSITIONS),
        keep_inference_input_mutations=True,
    )
    try:
        refuse_overlaps(graph_module)
        expands_as_views(graph_module)
        with kept_whole(graph_module), composites_kept(), scalars_stay():
            return backend(graph_module, example_inputs)
    except (*exceptions_allowed_to_be_fallback, SkipFrame) as error:
        # Dynamo would take these for a wish to have the frame run by torch.
        raise UnsupportedError(
            "torch.compile(backend='lamina')",
            f"{type(error).__name__}: {(str(error) or 'no more is said').splitlines()[0]}",
            location=_place_of(error),
            nearest="a graph break, torch._dynamo.graph_break(), around it",
        ) from error


def _place_of(error: BaseException) -> str | None:
    """The source line of the op at which torch stopped, from the notes of fx."""
    found = re.findall(r'File "([^"]+)", line (\d+)', str(error))
    return ":".join(found[-1]) if found else None


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


def _is_asked(info: OutputAliasInfo) -> bool:
    """Whether AOTAutograd does not make a view anew by the ops that made it."""
    if info.output_type is not OutputType.alias_of_input:
        return False
    views = info.view_meta_sequence
    return views is None or any(meta.has_symbolic_inputs for meta in views.sequence)


class _GraphCompiler:
    """Compiles graphs that differ in their sizes only, now or when calls bring others."""

    def __init__(self, options: DynamoOptions) -> None:
        context = TracingContext.try_get()
        self._metadata: Any = context.fw_metadata if context is not None else None
        known = self._metadata.static_input_indices if self._metadata is not None else ()
        self._bindable = set[int]() if options.weights == "passed" else set[int](known)
        self._options = options
        self._shared = SharedWeights()
        self.static = kept_scopes(self._static)
        self.importing = kept_scopes(self._importing)
        self.open = kept_scopes(self._open)

    def regenerated(self, graph: fx.GraphModule) -> dict[int, OutputAliasInfo]:
        """What AOTAutograd knows, by position, of results that it makes anew of inputs, as views of
        them."""
        if self._metadata is None:
            return {}
        results: Any = graph.graph.output_node().args[0]
        infos = self._metadata.output_info
        first = len(results) - len(infos) - self._metadata.num_intermediate_bases
        return {
            first + position: info
            for position, info in enumerate(infos)
            if info.output_type in (OutputType.alias_of_input, OutputType.is_input)
        }

    def views(self, graph: fx.GraphModule) -> ArgumentViews | None:
        """Those of these results of which it asks the compiled ones for strides and where they
        begin."""
        regenerated = self.regenerated(graph)
        asked = [place for place, info in regenerated.items() if _is_asked(info)]
        return argument_views(graph, asked)

    def _static(self, graph: fx.GraphModule) -> DynamoCall | StagedDynamoCall:
        with compiling():
            imported = self._imported(graph)
            if staged_program(imported.module, self._options.lowering.passes) is not None:
                return self._program_call(imported, self._options.versions)
            return self._call(imported)

    def _open(self, graph: fx.GraphModule, policy: str) -> StagedDynamoCall:
        """A call of a graph that has symbolic sizes, and others that depend on data."""
        with compiling():
            return self._program_call(self._imported(graph), policy)

    def _program_call(self, imported: DynamoGraph, policy: str) -> StagedDynamoCall:
        chosen = self._options

        def compile_with(weights: Mapping[str, torch.Tensor]) -> Compiled:
            with compiling():
                return compile_module(
                    imported.module.clone(),
                    target=chosen.target,
                    constants={**imported.constants, **weights},
                    structure=ListStructure(imported.outputs),
                    cache=chosen.cache,
                    rounding=chosen.lowering.rounding,
                    seeds=TORCH_SEEDS,
                    pipeline=chosen.lowering.passes,
                    versions=policy,
                )

        return StagedDynamoCall(imported, compile_with, frozen=chosen.weights == "frozen")

    def _importing(self, graph: fx.GraphModule, aliases: Mapping[str, str]) -> OpenGraph:
        with compiling():
            return _ImportedOpenGraph(graph, self._imported(graph, aliases), self._call)

    def _imported(
        self, graph: fx.GraphModule, aliases: Mapping[str, str] | None = None
    ) -> DynamoGraph:
        topic("torch").info("a graph of %d nodes", len(graph.graph.nodes))
        regenerated = self.regenerated(graph)
        return import_dynamo_graph(graph, self._bindable, regenerated, aliases or {})

    def _call(self, imported: DynamoGraph, opened: OpenArguments | None = None) -> DynamoCall:
        program = self._program(imported.module)
        if program.code is None:
            name = self._options.target.name
            raise ArgumentError(f"target {name}: code for it cannot run on this machine")

        def reading() -> Program:
            opened = imported.module.clone()
            main = function_named(opened, "main")
            assert main is not None
            kept = {slot.name: None for slot in argument_slots(main) if slot.kind == "constant"}
            open_unbound_arguments(main, argument_slots(main), kept)
            with compiling():
                return self._program(opened)

        frozen = self._options.weights == "frozen"
        return DynamoCall(
            imported,
            program,
            frozen=frozen,
            reading=kept_scopes(reading),
            opened=opened,
            shared=self._shared,
        )

    def _program(self, module: ModuleOp) -> Program:
        chosen = self._options
        return native_program(module, chosen.target, cache=chosen.cache, options=chosen.lowering)


class _ImportedOpenGraph:
    """A graph with open sizes, and how it is compiled for sizes up to bounds."""

    def __init__(
        self,
        graph: fx.GraphModule,
        imported: DynamoGraph,
        call: Callable[[DynamoGraph, OpenArguments], Call],
    ) -> None:
        self._count = sum(node.op == "placeholder" for node in graph.graph.nodes)
        self._imported, self._call = imported, call
        self._compile = kept_scopes(self._compile_here)

    def padding(self, hints: Mapping[str, int], likely: LikelyBounds) -> Padding:
        module = self._imported.module.clone()
        main = function_named(module, "main")
        assert main is not None
        refuse_other_sizes(CallSizes(main, _inputs(main)), hints)
        set_hints(main, {name: hints[name] for name in CallSizes(main).names if name in hints})
        with compiling():
            return padding_of_program(module, likely)

    def padded(self, bounds: Mapping[str, int], numbers: Collection[str], padding: Padding) -> Call:
        with compiling():
            return self._compile(bounds, numbers, padding)

    def _compile_here(
        self, bounds: Mapping[str, int], numbers: Collection[str], padding: Padding
    ) -> Call:
        module, places = self._imported.module.clone(), list(self._imported.inputs)
        main = function_named(module, "main")
        assert main is not None
        known = CallSizes(main).names
        bind_sizes(module, {name: bounds[name] for name in numbers if name in known})
        sizes = CallSizes(main, _inputs(main))
        bounded = {text: bounds[text] for text in sizes.names}
        module = padded_program(module, bounded, padding=padding)
        inputs = [*places, *range(self._count, self._count + len(sizes.names))]
        graph = replace(self._imported, module=module, inputs=inputs)
        return self._call(graph, open_arguments(sizes, places, bounds))


def _inputs(main: FuncOp) -> list[Declared]:
    return [declared for declared in arguments_of(main) if declared.kind == "input"]
