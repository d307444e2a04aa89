"""The layers of IR: their order, and at which of them a module stands."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import DiagnosticException

from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.source import describe_invalid, parse_module
from lamina.lowering.pipeline import LAYERS as MODULE_LAYERS
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.passes.contracts.verify_program import verify_program

LAYERS: tuple[str, ...] = (*MODULE_LAYERS, "llvm", "asm")
"""What `Compiled.ir` can show, top first. All but the last two are xDSL modules."""

_DIALECT_LAYERS = ("aten", "core_aten", "prims", "loop")


def parse(text: str | bytes, *, name: str = "<text>", context: Context | None = None) -> ModuleOp:
    """Parses and verifies textual IR of any layer.

    `name` is what messages call the text, for example a file's name. Raises InputError with the
    line, the column and the reason.
    """
    module = parse_module(context or Context(), text, name, verify=False)
    verify_program(module)
    return module


def layer_of(module: ModuleOp) -> str:
    """The highest layer that an op of `module` belongs to; `aten` for a program without such ops.

    Functions with `lamina.entry` are scheduled, those with `lamina.kernel` are fused.
    """
    found: set[str] = set()
    for op in module.walk():
        if not isinstance(op, FuncOp):
            found.add(op.name.partition(".")[0])
        elif "lamina.entry" in op.attributes:
            return "scheduled"
        elif "lamina.kernel" in op.attributes:
            return "fused"
    return next((layer for layer in _DIALECT_LAYERS if layer in found), "aten")


def lower(
    module: ModuleOp,
    start: str,
    stop: str,
    target: Target,
    rounding: str = "kernel",
    *,
    enters: bool = True,
) -> None:
    """Takes `module` from layer `start` down to layer `stop`, in place.

    With `enters` false it is known to hold to the contract of `start`, as passes just left it so.
    Raises InputError for a program that does not hold to its layer's contract, UnsupportedError
    for one that cannot be taken further.
    """
    if start == stop and not enters:
        return
    _run(
        module,
        pipeline(start=start, stop=stop, target=target.spelled, rounding=rounding, enters=enters),
    )


def verify_scheduled(module: ModuleOp) -> None:
    """Raises InputError for a module that code generation does not take."""
    verify_program(module)
    _run(module, ("verify-scheduled",))


def _run(module: ModuleOp, specs: Sequence[str]) -> None:
    try:
        run_pipeline(module, specs, Context())
    except LaminaError:
        raise
    except DiagnosticException as error:
        raise InputError(describe_invalid(module, error)) from error


def render(module: ModuleOp, layer: str, target: Target, rounding: str = "kernel") -> str:
    """The text of `module`, which stays as it is, at `layer` (see `LAYERS`).

    Raises InputError for an unknown layer and for one above the layer of the module.
    """
    start = layer_of(module)
    if LAYERS.index(check_layer(layer)) < LAYERS.index(start):
        raise InputError(f"the program came in at layer {start}; there is no {layer} above it")
    lowered = module.clone()
    lower(lowered, start, layer if layer in MODULE_LAYERS else "scheduled", target, rounding)
    if layer in MODULE_LAYERS:
        return str(lowered)
    from lamina.codegen.jit import emit_assembly, emit_llvm_ir

    return (emit_llvm_ir if layer == "llvm" else emit_assembly)(lowered, target)


def check_layer(layer: str) -> str:
    """`layer` itself; InputError for a name that is no layer."""
    if layer not in LAYERS:
        raise InputError(f"unknown layer '{layer}'; the layers are: {', '.join(LAYERS)}")
    return layer
