"""What the contracts of the tensor layers share: which ops may stand there, how values are used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from lamina.dialects.extension_tables import extended, goes_down
from lamina.dialects.loop.slices import MOST_ELEMENTS
from lamina.dialects.op_list import list_ops
from lamina.dialects.source_layers import DIM
from lamina.passes.contracts.argument_sizes import has_open_sizes
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.contracts.stages import (
    STAGED_LAYERS,
    is_stage_call,
    stages_of,
    verify_stages,
)
from lamina.passes.contracts.verify_program import verify_between_ops
from lamina.passes.refusal import invalid, unsupported

SURROUNDINGS = ("builtin", "func", "arith", "control")
"""What holds programs together, branches and loops, and computes with sizes, at every layer."""

NESTS = "loop"
"""A dialect whose ops may stand at every tensor layer, on tensors: they go down as they are. What
their bodies hold is for the contract of their own layer to say."""

FOREIGN = "prims.extern"
"""A call of a kernel that is no op of any layer: it stands from `aten` on as it is."""

ALLOW = "lamina.allow"
"""Attribute of a module: names of ops that contracts of tensor layers let stand, as an array of
strings; `mine.*` is a whole dialect. A conversion with the option `keep` adds what it keeps."""

_INLINED = "the ops of the function in the place of its call, where inline-calls puts them"
_OWN_KERNELS = "prims.extern, or loop.extern, for own kernels"


def verify_layer(
    module: ModuleOp,
    layer: str,
    dialects: Collection[str],
    check: Callable[[Operation], None] = lambda op: None,
    allow: Iterable[str] = (),
) -> None:
    """Every op is of one of `dialects` (or func, builtin) and passes `check`; values dominate.

    Ops that `allow` or the attribute `ALLOW` of the module names may stand there, too, and those
    that an active extension lowers further down. No tensor has more than `MOST_ELEMENTS`.

    Raises `InputError` naming the first op that breaks the contract of `layer`.
    """
    module.verify()
    ops = list_ops(module)
    verify_between_ops(module, ops)
    name = layer.replace("-", "_")
    verify_entries(module, name)
    verify_stages(module)
    _verify_sizes(module)
    verify_addressable(ops)
    patterns = (*allow, *allowed_ops(module))
    has_stages = name in STAGED_LAYERS and bool(stages_of(module))
    for op in ops:
        if not (has_stages and isinstance(op, func.CallOp) and is_stage_call(module, op)):
            _refuse_calls(op)
        dialect = op.name.partition(".")[0]
        if dialect in dialects:
            check(op)
        elif dialect == NESTS:
            _refuse_buffers(op)
        elif not (_stands_anywhere(op, dialect, name) or is_named(op, patterns)):
            allowed = ", ".join([*dialects, *SURROUNDINGS, NESTS])
            reason = f"not allowed at the {layer} layer, only: {allowed}{_owner(op)}"
            raise invalid(op, reason)


def _owner(op: Operation) -> str:
    """What a refusal adds for an op that an extension brings and does not lower."""
    entry = extended("op", op.name) or extended("dialect", op.name.partition(".")[0])
    if entry is None or extended("lowering", op.name) is not None:
        return ""
    return f"; {entry} brings it without a lowering (Extension.lowers)"


def _verify_sizes(module: ModuleOp) -> None:
    """Sizes that are not known agree wherever the program needs them to."""
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and function.body.blocks and has_open_sizes(function):
            from lamina.passes.contracts.symbolic_shapes import infer_shapes

            infer_shapes(function)


def stands_at(op: Operation, layer: str) -> bool:
    """Whether an op may stand at a layer that conversions reach: by its dialect, or as an active
    extension lowers it further down."""
    dialect = op.name.partition(".")[0]
    return dialect in (layer, NESTS) or _stands_anywhere(op, dialect, layer)


def _stands_anywhere(op: Operation, dialect: str, layer: str) -> bool:
    return (
        dialect in SURROUNDINGS
        or op.name in (FOREIGN, DIM)
        or _is_in_nest(op)
        or goes_down(op.name, layer)
    )


def _is_in_nest(op: Operation) -> bool:
    holder = op.parent_op()
    return holder is not None and holder.name.startswith(f"{NESTS}.")


def _refuse_buffers(op: Operation) -> None:
    for value in (*op.operands, *op.results):
        if isinstance(value.type, MemRefType):
            raise invalid(op, f"works on {value.type}; at tensor layers nests are on tensors")


def is_named(op: Operation, patterns: Sequence[str]) -> bool:
    """Whether an op is one of these; `mine.*` is a whole dialect."""
    return any(fnmatchcase(op.name, pattern) for pattern in patterns)


def allowed_ops(module: ModuleOp) -> list[str]:
    """What the attribute `ALLOW` names. Raises InputError if it is no array of strings."""
    given = module.attributes.get(ALLOW)
    if given is None:
        return []
    names = list(given) if isinstance(given, ArrayAttr) else [given]
    if not all(isinstance(name, StringAttr) for name in names):
        raise invalid(module, f'{ALLOW} is {given}, not names of ops as in ["mine.*"]')
    return [name.data for name in names if isinstance(name, StringAttr)]


def allow_ops(module: ModuleOp, names: Iterable[str]) -> None:
    """Lets contracts of tensor layers pass ops of these names."""
    merged = dict.fromkeys([*allowed_ops(module), *names])
    if merged:
        module.attributes[ALLOW] = ArrayAttr([StringAttr(name) for name in merged])


def verify_addressable(ops: Iterable[Operation]) -> None:
    """Refuse tensors and buffers whose bytes an i64 does not count."""
    seen: set[int] = set()  # by identity: few types are made, and hashing one takes long
    for op in ops:
        for value in (*op.results, *(_arguments(op) if op.regions else ())):
            kind = value.type
            if id(kind) not in seen:
                if isinstance(kind, TensorType | MemRefType):
                    _check_addressable(op, kind)
                seen.add(id(kind))


def _arguments(op: Operation) -> Iterator[SSAValue]:
    return (argument for region in op.regions for block in region.blocks for argument in block.args)


def _check_addressable(op: Operation, kind: TensorType | MemRefType) -> None:
    if DYNAMIC_INDEX in kind.get_shape():
        return
    if prod(max(extent, 1) for extent in kind.get_shape()) > MOST_ELEMENTS:
        raise invalid(op, f"{kind} has more elements than memory can hold, 2^59")


def _refuse_calls(op: Operation) -> None:
    """Functions of the program's own are for kernels and regions, further down."""
    if isinstance(op, func.CallOp):
        callee = op.callee.string_value()
        called = SymbolTable.lookup_symbol(op, op.callee)
        if isinstance(called, func.FuncOp) and not called.body.blocks:
            raise unsupported(op, f"calls @{callee}, which has no body", _OWN_KERNELS)
        raise unsupported(op, f"calls @{callee}; programs are one function", _INLINED)
    if isinstance(op, func.FuncOp) and not op.body.blocks:
        name = op.sym_name.data
        raise unsupported(op, f"@{name} is declared without a body", _OWN_KERNELS)


def refuse_open_sizes(op: Operation) -> None:
    """No result of the op has a dimension that only the data tell."""
    for result in op.results:
        if isinstance(result.type, TensorType) and DYNAMIC_INDEX in result.type.get_shape():
            raise invalid(op, f"gives {result.type}; run bound-dynamic-shapes first")


def refuse_mutation(op: Operation) -> None:
    """No argument of the op is written."""
    schema = getattr(op, "schema", None)
    if schema is None:
        return
    for argument in schema.args:
        if argument.mutated:
            raise invalid(op, f"mutates its argument {argument.name}; run functionalize first")
