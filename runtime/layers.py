"""The layers of IR: their order, and at which of them a module stands."""

from collections.abc import Mapping, Sequence

from xdsl.context import Context as XdslContext
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import DiagnosticException

from lamina.codegen.target import Target
from lamina.dialects.compiling import compiling
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.extension_entries import EDGES
from lamina.dialects.extension_tables import extended
from lamina.dialects.loop import UNSTRUCTURED_OPS, GenericOp
from lamina.dialects.op_list import instances, list_ops
from lamina.dialects.source import describe_invalid, parse_module
from lamina.lowering.custom_pipeline import Pipeline, name_of
from lamina.lowering.pass_runner import Finished
from lamina.lowering.pass_specs import Pass
from lamina.lowering.pipeline import LAYERS as MODULE_LAYERS
from lamina.lowering.pipeline import SOURCE_LAYERS, pipeline, run_pipeline
from lamina.passes.contracts.contracts import allowed_ops, is_named
from lamina.passes.contracts.verify_program import verify_program

LAYERS: tuple[str, ...] = (*MODULE_LAYERS, "llvm", "asm")
"""What `Compiled.ir` can show, top first. All but the last two are xDSL modules."""

DEFAULT = Pipeline()
"""The compiler's passes as they are."""

_DIALECT_LAYERS = ("aten", "core_aten", "prims", "loop")


def parse(text: str | bytes, *, name: str = "<text>", context: Context | None = None) -> ModuleOp:
    """Parses and verifies textual IR of any layer.

    `name` is what messages call the text, for example a file's name. `context` has the dialects,
    all that Lamina and active extensions know by default. Gives an xDSL ModuleOp, whose ops have
    the places that they were read from. Raises InputError with the
    line, the column and the reason.

        module = lamina.parse(Path("model.mlir").read_text(), name="model.mlir")
    """
    if not isinstance(text, str | bytes):
        raise InputError(f"cannot parse a {type(text).__name__}: pass textual IR")
    if context is not None and not isinstance(context, XdslContext):
        raise InputError(f"context: it takes a lamina.Context, not a {type(context).__name__}")
    with compiling():
        module = parse_module(context or Context(), text, name, verify=False)
        verify_program(module)
    return module


def layer_of(module: ModuleOp) -> str:
    """The highest layer that an op of `module` belongs to; `aten` for a program without such ops.

    Source layers, of other compilers' dialects, come before the layers.

    Ops that `lamina.allow` names do not count; one that an active extension lowers counts as being
    of the layer from which it goes down.

    A program whose public functions take numbers stands at `aten`, whose numbers they are; its ops
    may be of any tensor layer.

    Kernels are functions from `fused` on; with `lamina.entry` they work on buffers, and are nests
    at `bufferized` and loops at `scheduled`.
    """
    all_ops = list_ops(module)
    functions = instances(all_ops, FuncOp)
    kernels = [function for function in functions if "lamina.kernel" in function.attributes]
    if any("lamina.entry" in function.attributes for function in functions):
        nests = (GenericOp, *UNSTRUCTURED_OPS)
        is_open = any(isinstance(op, nests) for kernel in kernels for op in kernel.body.walk())
        return "bufferized" if is_open else "scheduled"
    if kernels:
        return "fused"
    allowed = allowed_ops(module)
    # One op stands for all of its name and kinds of results, by which sources and layers are told.
    kinds = {(op.name, *[type(result.type) for result in op.results]): op for op in all_ops}
    ops = [o for o in kinds.values() if not isinstance(o, FuncOp) and not is_named(o, allowed)]
    for name, source in SOURCE_LAYERS.items():
        if any(source.marks(op) for op in ops):
            return name
    from lamina.passes.functionalize.number_arguments import takes_numbers  # tools start without

    if takes_numbers(module):
        return "aten"
    found = {_layer_of_op(op.name) for op in ops}
    return next((layer for layer in _DIALECT_LAYERS if layer in found), "aten")


def _layer_of_op(name: str) -> str:
    """The dialect of an op; of one that an active extension lowers, the layer where it ends."""
    entry = extended("lowering", name)
    if entry is None:
        return name.partition(".")[0]
    above = EDGES[entry.to]
    return "aten" if above == "functional" else above


def lower(
    module: ModuleOp,
    start: str,
    stop: str,
    target: Target,
    rounding: str = "kernel",
    *,
    enters: bool = True,
    schedules: Mapping[str, str] | None = None,
    passes: Pipeline = DEFAULT,
    finished: Finished | None = None,
) -> None:
    """Takes `module` from layer `start` down to layer `stop`, in place.

    With `enters` false it is known to hold to the contract of `start`, as passes just left it so.
    `schedules` are those of kernels by name, where `choose-schedule` is on the way; `passes` says
    how the compiler's passes differ; `finished` is told of kernels (see `run_pipeline`).
    Raises InputError for a program that does not hold to its layer's contract, UnsupportedError
    for one that cannot be taken further.
    """
    if start == stop and not enters:
        return
    specs = passes.applied(
        pipeline(start=start, stop=stop, target=target.spelled, rounding=rounding, enters=enters)
    )
    choosing = [n for n, spec in enumerate(specs) if name_of(spec) == "choose-schedule"]
    if schedules and choosing:
        from lamina.passes.schedule.given_schedules import verify_given
        from lamina.passes.schedule.schedule_texts import give_schedules

        _run(module, specs[: choosing[0]])
        give_schedules(module, schedules, Context())
        verify_given(module, schedules, target)
        specs = specs[choosing[0] :]
    _run(module, specs, finished)


def verify_scheduled(module: ModuleOp) -> None:
    """Raises InputError for a module that code generation does not take."""
    verify_program(module)
    _run(module, ("verify-scheduled",))


def _run(module: ModuleOp, specs: Sequence[Pass], finished: Finished | None = None) -> None:
    try:
        run_pipeline(module, specs, Context(), finished)
    except LaminaError:
        raise
    except DiagnosticException as error:
        raise InputError(describe_invalid(module, error)) from error


def render(
    module: ModuleOp,
    layer: str,
    target: Target,
    rounding: str = "kernel",
    schedules: Mapping[str, str] | None = None,
    passes: Pipeline = DEFAULT,
) -> str:
    """The text of `module`, which stays as it is, at `layer` (see `LAYERS`).

    Raises InputError for an unknown layer and for one above the layer of the module.
    """
    start = layer_of(module)
    if check_layer(layer) == start and layer in SOURCE_LAYERS:
        return str(module)
    joined = SOURCE_LAYERS[start].joins if start in SOURCE_LAYERS else start
    if layer in SOURCE_LAYERS or LAYERS.index(layer) < LAYERS.index(joined):
        raise InputError(f"the program came in at layer {start}; there is no {layer} above it")
    lowered = module.clone()
    stop = layer if layer in MODULE_LAYERS else "scheduled"
    lower(lowered, start, stop, target, rounding, schedules=schedules, passes=passes)
    if layer in MODULE_LAYERS:
        return str(lowered)
    from lamina.codegen.jit import emit_assembly, emit_llvm_ir

    return (emit_llvm_ir if layer == "llvm" else emit_assembly)(lowered, target)


def check_layer(layer: str) -> str:
    """`layer` itself; InputError for a name that is no layer."""
    if not isinstance(layer, str) or (layer not in LAYERS and layer not in SOURCE_LAYERS):
        known = ", ".join((*LAYERS, *SOURCE_LAYERS))
        raise InputError(f"unknown layer {layer!r}; the layers are: {known}")
    return layer
