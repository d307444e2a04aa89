"""Trying single ops: how far down one gets, on its own, by the compiler's own passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.context import Context
from lamina.dialects.errors import LaminaError, UnsupportedError
from lamina.dialects.schema.grammar import ELEMENT_NAMES, Arg, Kind
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.program import missing
from lamina.lowering.bound_dynamic_shapes.table import bounding_of
from lamina.lowering.bound_dynamic_shapes.values import is_dynamic, is_number
from lamina.lowering.pipeline import STAGES, pipeline, run_pipeline
from lamina.passes.contracts.argument_sizes import some_sizes
from lamina.passes.contracts.stages import stages_of
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.runtime.entry import function_named
from lamina.runtime.layers import layer_of
from lamina.runtime.staged import stage_programs
from lamina.tools.op_examples import Like, given_arguments, given_results

DTYPES = ("f32", "f64", "bf16", "f16", "i64", "i32", "i1", "complex<f32>")
"""The element types that are tried."""

SHAPES = ((2, 3), (3, 3), (4,), (2, 2, 3), (1, 2, 6, 6), (1, 2, 6), (1, 2, 4, 4, 4), ())
"""Shapes of all tensors of an example, in the order in which they are tried."""

_POSITIONS = frozenset({"index", "indices", "target", "offsets", "batch1_index"})
_TRUTHS = frozenset({"mask", "condition"})
_SIMPLE = 2
"""Calls of fewer arguments are not tried before they are taken, nor fewer results one by one."""
_STOP = "loop"
"""Tried down to this layer; below it stand only ops that every kernel is made of."""


_LAYERS = [stage.layer for stage in STAGES]


@dataclass(frozen=True)
class Trial:
    """What became of an op: the deepest layer that it reached, and what stopped it."""

    reached: str
    error: LaminaError | None = None
    only_first: bool = False
    """Whether `error` stops the results behind the first only."""

    @property
    def reason(self) -> str:
        """What stopped it, on one line; empty if nothing did."""
        if isinstance(self.error, UnsupportedError):
            return f"{self.error.op}: {self.error.reason}"
        return str(self.error).split("\n")[0] if self.error else ""

    @property
    def nearest(self) -> str | None:
        """What to use instead, if the compiler knows."""
        return self.error.nearest if isinstance(self.error, UnsupportedError) else None


def try_example(op: Operation) -> Trial:
    """As `try_op`, with all results, and with the first alone if that goes further."""
    whole = try_op(op, op.results)
    if whole.error is None or len(op.results) < _SIMPLE:
        return whole
    alone = try_op(op, op.results[:1])
    return Trial(alone.reached, whole.error, True) if alone.error is None else whole


def try_op(op: Operation, results: Sequence[SSAValue]) -> Trial:
    """Lowers a copy of `op`, its operands being arguments and `results` used, as far as it gets."""
    if any(is_dynamic(v.type) or is_number(v.type) for v in op.operands):
        # Sizes that depend on data have no bound where a program begins.
        error = None if bounding_of(op) is not None else missing(op)
        return Trial("functional" if error is None else "aten", error)
    program, dialect = _program(op, results), op.name.partition(".")[0]
    return _try_module(program, dialect if dialect in _LAYERS else layer_of(program))


def _program(op: Operation, returned: Sequence[SSAValue]) -> ModuleOp:
    """A module that takes the operands of `op` and returns some results of a copy of it."""
    arguments = list(dict.fromkeys(op.operands))
    block = Block(arg_types=[value.type for value in arguments])
    mapping: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    copy = op.clone(mapping)
    copy.location = op.location
    block.add_op(copy)
    results = [mapping[result] for result in returned]
    block.add_op(ReturnOp(*results))
    function = FuncOp(
        "main",
        FunctionType.from_lists(list(block.arg_types), [result.type for result in results]),
        Region(block),
        arg_attrs=ArrayAttr(_attributes("input", f"a{n}") for n in range(len(arguments))),
        res_attrs=ArrayAttr(_attributes("output") for _ in results),
    )
    return ModuleOp([function])


def _attributes(kind: str, name: str | None = None) -> DictionaryAttr:
    entries: dict[str, Attribute] = {"lamina.kind": StringAttr(kind)}
    if name is not None:
        entries["lamina.name"] = StringAttr(name)
    return DictionaryAttr(entries)


def _try_module(module: ModuleOp, start: str) -> Trial:
    if start not in _LAYERS:
        return Trial(start)
    context, reached = Context(), start
    below = _LAYERS[_LAYERS.index(start) + 1 : _LAYERS.index(_STOP) + 1]
    for layer in below:
        try:
            run_pipeline(module, pipeline(start=reached, stop=layer), context)
        except LaminaError as error:
            return Trial(reached, error)
        except Exception as error:  # a bug of ours at one op must not hide what stops others
            text = f"internal error: {type(error).__name__}: {error}"
            return Trial(reached, LaminaError(text))
        reached = layer
        if reached == "functional" and stages_of(module):
            return _try_stages(module)
    return Trial(reached)


def _try_stages(module: ModuleOp) -> Trial:
    """The stage that goes least far, each with some sizes that it may have."""
    found: list[Trial] = []
    for program in stage_programs(module):
        main = function_named(program, "main")
        assert main is not None
        try:
            bind_sizes(program, some_sizes(main))
        except LaminaError as error:
            found.append(Trial("functional", error))
        else:
            found.append(_try_module(program, "aten"))
    return min(found, key=lambda trial: _LAYERS.index(trial.reached))


def example(kind: type[SchemaOp], dtype: str) -> SchemaOp | None:
    """A small call of an op on tensors of `dtype`, or None if no simple one is valid.

    A call that our passes stumble over is taken only if there is no better one: its tensors may
    not fit each other in a way that the op's own verifier does not see.
    """
    first: SchemaOp | None = None
    for shape in SHAPES:
        for built in _calls(kind, shape, ELEMENT_NAMES[dtype]):
            first = first or built
            if len(kind.schema.args) < _SIMPLE or not _stumbles(built):
                return built
            if given_arguments(kind.schema.overload_name):
                return built
    return first


def _stumbles(op: SchemaOp) -> bool:
    error = try_op(op, op.results).error
    return error is not None and "internal error" in str(error)


def _calls(kind: type[SchemaOp], shape: tuple[int, ...], element: Attribute) -> Iterator[SchemaOp]:
    block = Block()
    given: dict[str, Any] = {}
    table = given_arguments(kind.schema.overload_name)
    for arg in kind.schema.args:
        if arg.name in table:
            given[arg.name] = _from_table(table[arg.name], arg, block, element)
            continue
        if not arg.required:
            continue
        value = None if arg.type.optional else _argument(arg, block, shape, element)
        if value is None and not arg.type.optional:
            return
        given[arg.name] = value
    try:
        made: Any = kind
        results = given_results(kind.schema.overload_name)
        types = None if results is None else [_type_of(like, element) for like in results]
        op = made(**given, result_types=types)
        op.verify()
        block.add_op(op)
    except (ValueError, TypeError, KeyError, IndexError, LaminaError, VerifyException):
        return
    yield op


def _from_table(value: Any, arg: Arg, block: Block, element: Attribute) -> Any:
    """A value of the table of examples; its tensors become arguments of the block."""
    if isinstance(value, list):
        return [_from_table(entry, arg, block, element) for entry in value]  # pyright: ignore
    if isinstance(value, Like):
        return block.insert_arg(_type_of(value, element), len(block.args))
    return value


def _type_of(like: Like, element: Attribute) -> TensorType:
    return TensorType(ELEMENT_NAMES[like.element] if like.element else element, like.shape)


def _argument(arg: Arg, block: Block, shape: tuple[int, ...], element: Attribute) -> Any:
    spatial = max(len(shape) - 2, 1)
    match arg.type.kind:
        case Kind.TENSOR:
            of = i64 if arg.name in _POSITIONS else i1 if arg.name in _TRUTHS else element
            value = block.insert_arg(TensorType(of, shape), len(block.args))
            return [value] if arg.type.is_list else value
        case Kind.INT | Kind.SYMINT:
            if arg.type.is_list:
                return [0] if arg.name in ("dim", "dims") else [2] * spatial
            return 0 if "dim" in arg.name or arg.name in ("index", "start") else 1
        case Kind.FLOAT:
            return 0.5
        case Kind.SCALAR:
            return [1] if arg.type.is_list else 1
        case Kind.BOOL:
            return [True] * (arg.type.size or 1) if arg.type.is_list else False
        case Kind.DTYPE:
            return element
        case _:
            return None
