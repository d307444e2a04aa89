"""The layers of IR: their order, and at which of them a module stands."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.source import parse_module

LAYERS: tuple[str, ...] = (
    "aten",
    "functional",
    "core_aten",
    "prims",
    "loop",
    "fused",
    "scheduled",
    "llvm",
    "asm",
)
"""What `Compiled.ir` can show, top first. All but the last two are xDSL modules."""

_DIALECT_LAYERS = ("aten", "core_aten", "prims", "loop")


def parse(text: str | bytes, *, name: str = "<text>", context: Context | None = None) -> ModuleOp:
    """Parses and verifies textual IR of any layer.

    `name` is what messages call the text, for example a file's name. Raises InputError with the
    line, the column and the reason.
    """
    return parse_module(context or Context(), text, name)


def layer_of(module: ModuleOp) -> str:
    """The highest layer that an op of `module` belongs to; `aten` for a program without such ops.

    Functions with `lamina.entry` are scheduled, kernels are fused.
    """
    found: set[str] = set()
    for op in module.walk():
        if isinstance(op, FuncOp):
            if "lamina.entry" in op.attributes:
                return "scheduled"
            if "lamina.kernel" in op.attributes:
                return "fused"
        elif op.name == "loop.kernel":
            found.add("fused")
        else:
            found.add(op.name.partition(".")[0])
    for layer in _DIALECT_LAYERS:
        if layer in found and not (layer == "loop" and "fused" in found):
            return layer
    return "fused" if "fused" in found else "aten"


def check_layer(layer: str) -> str:
    """`layer` itself; InputError for a name that is no layer."""
    if layer not in LAYERS:
        raise InputError(f"unknown layer '{layer}'; the layers are: {', '.join(LAYERS)}")
    return layer
