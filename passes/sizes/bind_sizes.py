"""`bind-sizes{sizes="batch=4"}`: a program for one value of some of the sizes of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from lamina.dialects import aten
from lamina.dialects.control import RegionOp
from lamina.dialects.errors import InputError
from lamina.dialects.loop import ExternOp, GenericOp, ReshapeOp, SortOp
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.open_nests import bind_nest, is_open
from lamina.dialects.loop.segments import set_last_segment
from lamina.dialects.records import record
from lamina.dialects.schema.inference import infer_result_types
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import Extent, Size, SizeAttr, SizeName, quotients, size_text
from lamina.passes.contracts.argument_sizes import (
    DIMS,
    has_open_sizes,
    open_dims_of,
    refuse_unknown_names,
    shape_of,
    size_names,
)
from lamina.passes.contracts.declared import Declared, arguments_of, results_of
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.contracts.loop_shapes import SIZED_OPS
from lamina.passes.contracts.size_hints import hints_of, set_hints
from lamina.passes.contracts.size_numbers import number_of
from lamina.passes.contracts.size_padding import padding_of, set_padding
from lamina.passes.contracts.symbolic_shapes import EXTERN, SymbolicShapes, infer_shapes
from lamina.passes.refusal import invalid, unsupported


@record
class BindSizesPass(ModulePass):
    """Give sizes of arguments numbers, in every type and list of sizes that follows from them.

    `sizes` are texts as `batch=4`. Sizes that are not named stay open.
    """

    name = "bind-sizes"

    sizes: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_entries(op, "fused")
        bind_sizes(op, dict(map(named_number, self.sizes)))


def named_number(text: str) -> tuple[str, int]:
    """What `NAME=NUMBER` says. Raises InputError for other texts."""
    name, _, number = text.partition("=")
    if not name or not number.isdecimal():
        raise InputError(f"{text}: a size is given as NAME=NUMBER")
    return name, int(number)


def bind_sizes(module: ModuleOp, given: Mapping[str, int]) -> None:
    """Makes of each function the one for these values of sizes, in place.

    Raises InputError for a name that no function has and a value out of its range, and
    UnsupportedError for ops of the loop layer through which sizes are not followed.
    """
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]
    known: set[str] = set()
    for function in filter(has_open_sizes, functions):
        names = size_names(arguments_of(function))
        known |= names.keys()
        values = {names[name]: value for name, value in given.items() if name in names}
        for name, value in values.items():
            if not name.range.holds(value):
                raise InputError(f"size '{name.text}' is in {name.range}, and cannot be {value}")
        if values:
            # Nests say what is divided; of ops, what no polynomial says is computed of numbers.
            with quotients() if _has_open_nests(function) else nullcontext():
                _Binding(function, values).apply()
    refuse_unknown_names(given, known)


def _has_open_nests(function: FuncOp) -> bool:
    return any(map(is_open, function.walk()))


class _Binding:
    def __init__(self, function: FuncOp, values: Mapping[SizeName, int]) -> None:
        self.function, self.values = function, values
        self.known: SymbolicShapes = infer_shapes(function)
        self.constants: dict[SSAValue, int] = {}

    def apply(self) -> None:
        arguments, results = arguments_of(self.function), results_of(self.function)
        names = size_names(arguments)
        bound = {name.text for name in self.values}
        ways = padding_of(self.function)
        set_padding(self.function, {n: way for n, way in ways.items() if n not in bound})
        hints = hints_of(self.function)
        set_hints(self.function, {n: hint for n, hint in hints.items() if n not in bound})
        block = self.function.body.block
        for value in block.args:
            self._bind_type(value)
            self._bind_number(value)
        self._bind_block(block)
        self.function.update_function_type()
        for key, declared in (("arg_attrs", arguments), ("res_attrs", results)):
            kept = [self._attributes(one, names) for one in declared]
            if self.function.properties.pop(key, None) is not None and any(e.data for e in kept):
                self.function.properties[key] = ArrayAttr(kept)

    def _bind_block(self, block: Block) -> None:
        for op in list(block.ops):
            self._refuse(op)
            self._bind(op)
        for op in reversed(list(block.ops)):
            if op.results and op.results[0] in self.constants and not op.results[0].uses:
                Rewriter.erase_op(op)

    def _bind_regions(self, op: RegionOp) -> None:
        for block in op.blocks:
            for argument in block.args:
                self._bind_type(argument)
                self._bind_number(argument)
            self._bind_block(block)

    def _keep_yields(self, op: RegionOp) -> None:
        """What one region gives may be of known sizes, and what another gives not."""
        for block, types in zip(op.blocks, op.region_results(), strict=True):
            end = block.last_op
            assert end is not None
            for place, kind in enumerate(types or ()):
                value = end.operands[place]
                if value.type != kind:
                    made = aten.op("clone.default")(value, result_types=[kind])
                    made.location = op.location
                    Rewriter.insert_op(made, InsertPoint.before(end))
                    end.operands[place] = made.results[0]

    def _refuse(self, op: Operation) -> None:
        if isinstance(op, (SchemaOp, RegionOp, *SIZED_OPS)) or not self._is_open(op):
            return
        if op.regions or op.name.startswith("loop."):
            raise unsupported(op, "sizes of arguments are not followed through it")

    def _is_open(self, op: Operation) -> bool:
        return any(
            isinstance(value.type, TensorType) and not value.type.has_static_shape()
            for value in (*op.operands, *op.results)
        )

    def _number(self, extent: Extent) -> Extent:
        return extent.at(self.values) if isinstance(extent, Size) else extent

    def _bind_type(self, value: SSAValue) -> None:
        if not isinstance(value.type, TensorType):
            return
        numbers = [self._number(extent) for extent in self.known.shape(value)]
        shape = [extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in numbers]
        if shape != list(value.type.get_shape()):
            kind = TensorType(value.type.element_type, shape, value.type.encoding)
            value = Rewriter.replace_value_with_new_type(value, kind)
        self.known.shapes[value] = tuple(numbers)

    def _bind_number(self, value: SSAValue) -> None:
        if value in self.known.numbers:
            number = self.known.numbers[value] = self._number(self.known.numbers[value])
            if isinstance(number, int):
                self.constants[value] = number

    def _bind(self, op: Operation) -> None:
        if isinstance(op, RegionOp):
            self._bind_regions(op)
        number = number_of(op, self.known)  # of what is known now, and may not have been before
        if number is not None:
            self.known.numbers[op.results[0]] = number
        for result in op.results:
            self._bind_number(result)
            self._bind_type(result)
        if isinstance(op, RegionOp):
            self._keep_yields(op)
            op.drop_unused((IndexType,))
        if isinstance(op, SchemaOp):
            if any(operand in self.constants for operand in op.operands):
                arguments = {name: self._constant(value) for name, value in op.args().items()}
                if op.name == EXTERN:  # types say those that are known
                    arguments["sizes"] = [s for s in arguments["sizes"] if isinstance(s, SSAValue)]
                kinds = [result.type for result in op.results]
                made = type(op)(**arguments, result_types=kinds, location=op.location)
                made.attributes = op.attributes
                self._replace(op, made)
                op = made
            _infer_again(op, self.known)
        elif isinstance(op, GenericOp | OrderedNest):
            bind_nest(op, [self.constants.get(value) for value in op.sizes])
        elif isinstance(op, SortOp):
            op.bind([self.constants.get(value) for value in op.sizes])
        elif isinstance(op, ReshapeOp):
            op.operands = [op.source, *(v for v in op.sizes if v not in self.constants)]
        elif isinstance(op, ExternOp):
            set_last_segment(op, [v for v in op.sizes if v not in self.constants])
        elif op.name != "arith.constant":
            for place, operand in enumerate(op.operands):
                if operand in self.constants and op.results[:1] != (operand,):
                    op.operands[place] = self._literal(op, operand)

    def _replace(self, op: Operation, made: Operation) -> None:
        for old, new in zip(op.results, made.results, strict=True):
            for table in (self.known.shapes, self.known.numbers, self.constants):
                if old in table:
                    table[new] = table[old]  # pyright: ignore[reportArgumentType]
        Rewriter.replace_op(op, made)

    def _constant(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._constant(entry) for entry in value]
        return self.constants.get(value, value) if isinstance(value, SSAValue) else value

    def _literal(self, op: Operation, value: SSAValue) -> SSAValue:
        """A constant in front of an op that takes a number which is known now."""
        kind = value.type
        assert isinstance(kind, IntegerType | IndexType)
        made = arith.ConstantOp(IntegerAttr(self.constants[value], kind))
        made.location = op.location
        Rewriter.insert_op(made, InsertPoint.before(op))
        self.constants[made.result] = self.constants[value]
        return made.result

    def _attributes(self, declared: Declared, names: Mapping[str, SizeName]) -> DictionaryAttr:
        """Those of an argument or result, of whose sizes some are known now."""
        entries = dict(declared.entries)
        said = entries.pop(DIMS, None)
        if isinstance(said, ArrayAttr):
            shape = shape_of(declared, names)
            pairs = zip(said, open_dims_of(declared), strict=True)
            kept = [
                self._entry(entry, number)
                for entry, dim in pairs
                if isinstance(number := self._number(shape[dim]), Size)
            ]
            entries |= {DIMS: ArrayAttr(kept)} if kept else {}
        return DictionaryAttr(entries)

    def _entry(self, entry: Attribute, size: Size) -> SizeAttr:
        """What says a size that is still open, of whose names some are known."""
        assert isinstance(entry, SizeAttr)
        if {name.text for name in self.values}.isdisjoint(entry.data.names):
            return entry
        text = size_text(size)
        assert text is not None  # factors of what is said are positive
        return SizeAttr(text)


def _infer_again(op: SchemaOp, known: SymbolicShapes) -> None:
    """Gives results the types that the op's rule has for them, where sizes did not tell these.

    What is of known sizes, a rule always tells, unless data do.
    """
    if all(_is_known(result) for result in op.results) or not all(map(_is_known, op.operands)):
        return
    try:
        kinds = infer_result_types(op)
    except ValueError as error:
        raise invalid(op, str(error)) from None
    if kinds is None or len(kinds) != len(op.results):
        return
    for result, kind in zip(op.results, kinds, strict=True):
        if isinstance(kind, TensorType) and not _is_known(result) and kind.has_static_shape():
            made = Rewriter.replace_value_with_new_type(result, kind)
            known.shapes[made] = tuple(kind.get_shape())


def _is_known(value: SSAValue) -> bool:
    return not isinstance(value.type, TensorType) or value.type.has_static_shape()
