"""`SchemaOp`: the base of every op that comes from a schema table.

Tensors, and numbers known only at run time, are operands in schema order; every other argument is
a property of the same name, left out where it equals the schema's default. Text is a Python call:

    %2 = aten.sum.dim_IntList(%x, dim = [1], keepdim = true) : (tensor<2x3xf32>) -> tensor<2x1xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.parser import Parser
from xdsl.printer import Printer

from lamina.dialects.plain_ops import PlainResult, verify_alone
from lamina.dialects.schema.grammar import NO_DEFAULT, Schema
from lamina.dialects.schema.inference import infer_result_types
from lamina.dialects.schema.names import BindError, NoResultRuleError, ResultTypeError
from lamina.dialects.schema.slots import (
    PRESENT_SUFFIX,
    SEGMENTS,
    Role,
    Slot,
    Slots,
    unpack_segments,
)
from lamina.dialects.schema.values import (
    DYNAMIC,
    NONE,
    decode,
    describe,
    encode,
    same,
    segments,
)
from lamina.dialects.sizes.size_values import with_sizes, with_values

ResultRule = Callable[[dict[str, Any]], "list[Attribute] | None"]

_CONSTANT, _TENSOR, _TENSORS, _MIXED = Role.CONSTANT, Role.TENSOR, Role.TENSORS, Role.MIXED


class SchemaOp(IRDLOperation):
    """An op of a table dialect; subclasses are made on demand, one for each overload."""

    schema: ClassVar[Schema]
    slots: ClassVar[Slots]
    _irdl: ClassVar[OpDef | None] = None
    _rule: ClassVar[ResultRule | None]

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        """Answers `isinstance` at once; as an abstract class it would ask each class of ops."""
        return cls in other.__mro__

    # Construction

    def __init__(
        self,
        /,  # schemas name their first argument `self`
        *args: Any,
        result_types: Sequence[Attribute] | None = None,
        location: LocationAttr | None = None,
        **kwargs: Any,
    ) -> None:
        """Bind arguments by position or name, as torch would.

        Tensors are SSA values or ops with one result, absent optional ones None; numbers known
        only at run time are SSA values, also inside lists of integers. Without `result_types` they
        come from the overload's result rule. Raises BindError (a TypeError) for arguments that do
        not fit the schema, NoResultRuleError (a ValueError) without a rule, ResultTypeError (a
        ValueError) if the rule refuses the arguments.
        """
        self._make(*self._store(self._bind(args, kwargs)), location, result_types)

    def on(self, operands: Sequence[SSAValue]) -> SchemaOp:
        """The same op with the same constants on other operands, of which there are as many.

        Raises as the constructor does if the op takes them not.
        """
        kind = type(self)
        made = kind.__new__(kind)
        made._make(list(operands), dict(self.properties), None, None)
        return made

    @property
    def takes_single_tensors(self) -> bool:
        """Whether its operands are tensors, each an argument by itself."""
        if any(slot.role is _TENSORS for slot in self.slots.all):
            return False
        return all(isinstance(operand.type, TensorType) for operand in self._operands)

    def _make(
        self,
        operands: list[SSAValue],
        properties: dict[str, Attribute],
        location: LocationAttr | None,
        result_types: Sequence[Attribute] | None,
    ) -> None:
        self.operands, self.properties = operands, properties
        self.attributes = {}
        self.location = UNKNOWN_LOC if location is None else location
        if result_types is None:
            try:
                result_types = self.infer_result_types()
            except ValueError as error:
                raise ResultTypeError(f"{self.name}: {error}") from error
            if result_types is None:
                raise NoResultRuleError(f"{self.name}: no result rule; give result_types")
        self.results = _results_of(self, result_types)
        Operation.__post_init__(self)

    def __post_init__(self) -> None:
        """What any op does, such as to go to an implicit builder's block; stores no defaults."""
        Operation.__post_init__(self)

    @classmethod
    def _bind(cls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments in schema order; NO_DEFAULT for one that is not given."""
        slots = cls.slots
        missing = len(slots.all) - len(args)
        if missing < 0:
            raise BindError(f"{cls.name} takes {len(slots.all)} arguments, not {len(args)}")
        bound = [*args, *([NO_DEFAULT] * missing)]
        if kwargs:
            for name, value in kwargs.items():
                slot = slots.by_name.get(name)
                if slot is None:
                    raise BindError(cls._no_argument(name))
                place = slots.all.index(slot)
                if bound[place] is not NO_DEFAULT:
                    raise BindError(f"{cls.name}: argument '{name}' is given twice")
                bound[place] = value
        return bound

    @classmethod
    def _no_argument(cls, name: str) -> str:
        has = ", ".join(cls.slots.by_name) or "none"
        return f"{cls.name} has no argument '{name}'; its arguments: {has}"

    @classmethod
    def _store(cls, bound: list[Any]) -> tuple[list[SSAValue], dict[str, Attribute]]:
        """Operands and properties of the bound arguments."""
        slots = cls.slots
        operands: list[SSAValue] = []
        sizes: list[int] = []
        properties: dict[str, Attribute] = {}
        for slot, value in zip(slots.all, bound, strict=True):
            before = len(operands)
            if value is NO_DEFAULT:
                if slot.needed:
                    raise BindError(f"{cls.name}: argument '{slot.name}' is missing")
            elif slot.role is _TENSOR and isinstance(value, SSAValue):
                operands.append(value)
            else:
                try:
                    _store_one(slot, value, operands, properties)
                except (TypeError, OverflowError) as error:
                    raise BindError(f"{cls.name}: argument '{slot.name}' {error}") from None
            if slot.segment >= 0:
                sizes.append(len(operands) - before)
        if slots.needs_segments:
            properties[SEGMENTS] = segments(tuple(sizes))
        return operands, properties

    # Reading

    @property
    def overload_name(self) -> str:
        """`add.Tensor`, without the dialect."""
        return self.schema.overload_name

    def arg(self, name: str) -> Any:
        """An argument by name: SSAValue, None, list, Python constant or type; defaults included.

        Raises KeyError for a name that the schema does not have.
        """
        slot = self.slots.by_name.get(name)
        if slot is None:
            raise KeyError(self._no_argument(name))
        if slot.role is _CONSTANT:
            return _constant(self, slot)
        sizes = self.slots.sizes(self)
        offset = sum(sizes[: slot.segment])
        return _value(self, slot, self._operands[offset : offset + sizes[slot.segment]])

    def args(self) -> dict[str, Any]:
        """All arguments by name, as `arg` gives them."""
        found: dict[str, Any] = {}
        operands = self._operands
        sizes = self.slots.sizes(self)
        offset = 0
        for slot in self.slots.all:
            if slot.role is _CONSTANT:
                found[slot.name] = _constant(self, slot)
                continue
            size = sizes[slot.segment]
            if slot.role is _TENSOR:
                found[slot.name] = operands[offset] if size else None
            else:
                found[slot.name] = _value(self, slot, operands[offset : offset + size])
            offset += size
        return found

    # Types

    def infer_result_types(self) -> list[Attribute] | None:
        """Result types by the overload's rule; None without a rule or where the rule cannot tell.

        Results that are arguments written in place have the types of those. Raises ValueError if
        the rule refuses the arguments.
        """
        op: Any = self
        return infer_result_types(op)

    # xDSL's hooks

    def verify(self, verify_nested_ops: bool = True) -> None:
        """As every op, sooner where it has no regions."""
        if self.regions:
            super().verify(verify_nested_ops)
        else:
            verify_alone(self)

    def verify_(self) -> None:
        """Operand kinds, property types, missing arguments, list lengths and result types."""
        from lamina.dialects.schema.verifier import verify_op

        op: Any = self
        verify_op(op)

    def print(self, printer: Printer) -> None:
        """The custom text after the op's name."""
        from lamina.dialects.schema.printing import print_op

        op: Any = self
        print_op(op, printer)

    @classmethod
    def parse(cls, parser: Parser) -> SchemaOp:
        """Read the custom text after the op's name."""
        from lamina.dialects.schema.parsing import parse_op

        op_class: Any = cls
        return parse_op(op_class, parser)

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        """The op in xDSL's own terms, made when a tool asks for it."""
        found = cls.__dict__.get("_irdl")
        if found is None:
            from lamina.dialects.schema.irdl import definition_of

            op_class: Any = cls
            found = cls._irdl = definition_of(op_class)
        return found


def _results_of(op: Operation, types: Sequence[Attribute]) -> Any:
    return SSAValues([PlainResult(kind, op, index) for index, kind in enumerate(types)])


_NO_VALUES = frozenset({bool, int, float, complex, str, list, tuple})


def _is_value(value: Any) -> bool:
    """Whether it stands for an SSA value."""
    # To ask Python whether a new type is an Operation takes a walk over all classes of ops.
    return type(value) not in _NO_VALUES and isinstance(value, SSAValue | Operation)


def _store_one(
    slot: Slot, value: Any, operands: list[SSAValue], properties: dict[str, Attribute]
) -> None:
    if value is None:
        if not slot.type.optional:
            raise TypeError(f"must be {describe(slot.type)}, not None")
        if slot.absent is not None:
            properties[slot.name] = NONE
    elif slot.role is _CONSTANT:
        if not same(value, slot.default):
            _store_constant(slot, value, properties)
    elif slot.role is _TENSOR:
        operands.append(_single(slot, value))
    elif slot.role is _TENSORS:
        _store_tensors(slot, value, operands, properties)
    elif slot.role is _MIXED:
        value = with_values(value)
        if _is_value(value):
            operands.append(_single(slot, value))
        elif not same(value, slot.default):
            _store_constant(slot, value, properties)
    else:
        _store_mixed_list(slot, with_values(value), operands, properties)


def _store_constant(slot: Slot, value: Any, properties: dict[str, Attribute]) -> None:
    attribute = encode(value, slot.type)
    # The default may have been given in another form: 1 for 1.0, one number for a list.
    if slot.default is NO_DEFAULT or not same(decode(attribute, slot.type), slot.default):
        properties[slot.name] = attribute


def _single(slot: Slot, value: Any) -> SSAValue:
    if isinstance(value, SSAValue):
        return value
    if isinstance(value, Operation) and len(value.results) == 1:
        return value.results[0]
    shown = (
        f"{value.name} with {len(value.results)} results" if isinstance(value, Operation) else ""
    )
    raise TypeError(f"must be {describe(slot.type)}, not {shown or repr(value)}")


def _store_tensors(
    slot: Slot, value: Any, operands: list[SSAValue], properties: dict[str, Attribute]
) -> None:
    if _is_value(value) or not isinstance(value, Sequence):
        raise TypeError(f"must be {describe(slot.type)}, not {value!r}")
    present = [entry is not None for entry in value]
    if not all(present):
        if not slot.type.optional_elements:
            raise TypeError("has None in its list of tensors")
        properties[slot.name + PRESENT_SUFFIX] = segments(tuple(map(int, present)))
    operands += [_single(slot, entry) for entry in value if entry is not None]


def _store_mixed_list(
    slot: Slot, value: Any, operands: list[SSAValue], properties: dict[str, Attribute]
) -> None:
    if _is_value(value):
        value = [value] * (slot.type.size or 1)
    if isinstance(value, list | tuple) and any(map(_is_value, value)):
        dynamic = list(map(_is_value, value))
        operands += [_single(slot, v) for v, d in zip(value, dynamic, strict=True) if d]
        value = [DYNAMIC if d else v for v, d in zip(value, dynamic, strict=True)]
        properties[slot.name] = encode(value, slot.type)
    elif not same(value, slot.default):
        _store_constant(slot, value, properties)


def _constant(op: Operation, slot: Slot) -> Any:
    attribute = op.properties.get(slot.name)
    if attribute is not None:
        return decode(attribute, slot.type)
    absent = slot.absent
    return list(absent) if isinstance(absent, list) else absent


def _value(op: Operation, slot: Slot, values: Sequence[SSAValue]) -> Any:
    if slot.role is _TENSOR:
        return values[0] if values else None
    if slot.role is _TENSORS:
        present = unpack_segments(op.properties.get(slot.name + PRESENT_SUFFIX))
        if present is None:
            return list(values) if values or not slot.type.optional else None
        given = iter(values)
        return [next(given) if p else None for p in present]
    if slot.role is _MIXED:
        return with_sizes(values[0]) if values else _constant(op, slot)
    entries = _constant(op, slot)
    if values and entries is not None:
        given = iter(values)
        return with_sizes([next(given) if entry == DYNAMIC else entry for entry in entries])
    return entries


__all__ = ["DYNAMIC", "SEGMENTS", "SchemaOp"]
