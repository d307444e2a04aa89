"""The interpreter of `aten` and `core_aten`: one NumPy function for each overload name.

The functions are in `aten_ops/`, by family. An `aten` overload that has none is run through its
decomposition to `core_aten`, and a `core_aten` overload that has none through its lowering to
`prims`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.interpreter import Interpreter, InterpreterFunctions, OpImplResult, PythonValues
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from lamina.dialects.context import Context
from lamina.dialects.errors import LaminaError, UnsupportedError
from lamina.dialects.extension_tables import extended
from lamina.lowering.conversion import Conversion
from lamina.passes.numerics.widen_half_floats import WidenHalfFloatsPass
from lamina.runtime.interpreters.aten_ops.registry import FUNCTIONS, Call
from lamina.runtime.interpreters.providers import register_functions
from lamina.runtime.interpreters.specialize import depends_on_data, specialized
from lamina.runtime.interpreters.values import as_type

FAMILIES = (
    "convolution",
    "creation",
    "data_dependent",
    "indexing",
    "linear",
    "normalization",
    "pointwise",
    "pooling",
    "reduction",
    "view",
)

RunFunction = Callable[[Interpreter, Any, PythonValues], PythonValues]


class TableFunctions(InterpreterFunctions):
    """Interpreter functions made for op classes at run time instead of by decorated methods."""

    def __init__(self, table: dict[type[Operation], RunFunction]) -> None:
        self.table = table

    def _impls(self) -> Iterable[tuple[type[Operation], Any]]:  # pyright: ignore
        return [(op_class, _implementation(run)) for op_class, run in self.table.items()]

    def _cast_impls(self) -> Iterable[Any]:  # pyright: ignore
        return ()

    def _attr_impls(self) -> Iterable[Any]:
        return ()

    def _ext_impls(self) -> Iterable[Any]:  # pyright: ignore
        return ()

    def _callable_impls(self) -> Iterable[Any]:  # pyright: ignore
        return ()


def _implementation(run: RunFunction) -> Any:
    def implementation(
        functions: InterpreterFunctions, interpreter: Interpreter, op: Operation, args: PythonValues
    ) -> OpImplResult:
        try:
            return OpImplResult(run(interpreter, op, args), None)
        except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
            types = [str(operand.type) for operand in op.operands]
            raise UnsupportedError(op.name, f"interpreter: {error}", types=types) from error

    return implementation


def load_functions() -> dict[str, Callable[[Call], Any]]:
    """The whole table, by overload name."""
    for family in FAMILIES:
        import_module(f"lamina.runtime.interpreters.aten_ops.{family}")
    return FUNCTIONS


def functions(op_classes: Collection[type[Operation]]) -> InterpreterFunctions:
    """Implementations for these `aten` and `core_aten` op classes."""
    table = load_functions()
    made: dict[type[Operation], RunFunction] = {}
    for op_class in op_classes:
        assert not op_class.has_trait(IsTerminator)
        function = table.get(op_class.name.partition(".")[2])
        made[op_class] = _at_run_time(decomposed if function is None else _with(function))
    return TableFunctions(made)


def _at_run_time(run: RunFunction) -> RunFunction:
    """Runs an op whose types leave sizes open, or that takes numbers, as one of the sizes met."""

    def on_sizes(interpreter: Interpreter, op: Any, args: PythonValues) -> PythonValues:
        if not depends_on_data(op):
            return run(interpreter, op, args)
        made, given = specialized(op, args)
        results = run(interpreter, made, given)
        return tuple(
            None if value is None else as_type(value, result.type)
            for value, result in zip(results, op.results, strict=True)
        )

    return on_sizes


def _with(function: Callable[[Call], Any]) -> RunFunction:
    def run(interpreter: Interpreter, op: Any, args: PythonValues) -> PythonValues:
        returned = function(Call(op, args))
        results = returned if isinstance(returned, (tuple, list)) else (returned,)
        return tuple(
            as_type(value, result.type) for value, result in zip(results, op.results, strict=False)
        )

    return run


def decomposed(interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
    """Run `op` as what it is lowered to: in core_aten, or in prims if it is of core_aten.

    Half floats are computed with in f32, and rounded once, as passes have it in front of lowering.
    """
    conversion = _lowering_of(op.name)
    block = Block(arg_types=[operand.type for operand in op.operands])
    copy = op.clone(dict(zip(op.operands, block.args, strict=True)))
    copy.operands = tuple(block.args)
    block.add_op(copy)
    # Lowerings may leave out results without uses.
    used = [own.first_use is not None for own in op.results]
    end = func.ReturnOp(*(r for r, on in zip(copy.results, used, strict=True) if on))
    block.add_op(end)
    if _is_widened(block):
        end.detach()
        values = _run_all(interpreter, block, args)
        results = iter(end.operands)
        return tuple(values[next(results)] if on else None for on in used)
    try:
        replacements = conversion.apply(copy)
    except UnsupportedError as error:
        raise LaminaError(f"{error}\n  (interpreted by its decomposition)") from error
    end.detach()
    values = _run_all(interpreter, block, args)
    return tuple(None if value is None else values[value] for value in replacements)


def _is_widened(block: Block) -> bool:
    """Whether the one op of a function's body now computes in f32, between conversions."""
    count = len(block.ops)
    end = block.last_op
    assert isinstance(end, func.ReturnOp)
    kind = FunctionType.from_lists(block.arg_types, [value.type for value in end.operands])
    function = func.FuncOp("op", kind, Region(block))
    WidenHalfFloatsPass().apply(Context(), ModuleOp([function]))
    return len(block.ops) > count


def _run_all(interpreter: Interpreter, block: Block, args: PythonValues) -> dict[SSAValue, Any]:
    """The values of a block, whose arguments are `args`."""
    helper = Interpreter(interpreter.module)
    register_functions(helper, {type(made) for op in block.ops for made in op.walk()})
    values: dict[SSAValue, Any] = dict(zip(block.args, args, strict=True))
    for made in block.ops:
        results = helper.run_op(made, tuple(values[operand] for operand in made.operands))
        values.update(zip(made.results, results, strict=True))
    return values


_LAYER_BELOW = {"aten": "core_aten", "core_aten": "prims", "prims": "loop"}


def _lowering_of(name: str) -> Conversion:
    """The conversion that lowers an op: to the layer that an extension says, or to the next."""
    entry = extended("lowering", name)
    to = _LAYER_BELOW[name.partition(".")[0]] if entry is None else entry.to
    if to == "core_aten":
        from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS as CONVERSION
    elif to == "prims":
        from lamina.lowering.core_aten_to_prims.table import LOWERINGS as CONVERSION
    else:
        from lamina.lowering.prims_to_loop.table import LOWERINGS as CONVERSION
    return CONVERSION
