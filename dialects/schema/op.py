"""`SchemaOp`: the base of every op that comes from a schema table.

Tensors, and sizes known only at run time, are operands in schema order; every other argument is a
property of the same name, left out where it equals the schema's default. Text is a python call:

    %2 = aten.sum.dim_IntList(%x, dim = [1], keepdim = true) : (tensor<2x3xf32>) -> tensor<2x1xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerType,
    LocationAttr,
    TensorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.schema.grammar import NO_DEFAULT, Arg, Kind, Schema
from lamina.dialects.schema.values import (
    DYNAMIC,
    decode_as,
    encode,
    fits,
    parse_constant,
    print_constant,
)

SEGMENTS = "operandSegmentSizes"


class SchemaOp(Operation):
    """An op of a table dialect; subclasses are made on demand, one for each overload."""

    schema: ClassVar[Schema]
    value_args: ClassVar[tuple[Arg, ...]]
    """Arguments that may be operands, in order."""
    needs_segments: ClassVar[bool]
    """Whether the number of operands of each value argument varies."""

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

        Without `result_types` they come from the overload's result rule. Raises TypeError for
        arguments that do not bind, ValueError if the rule refuses them or there is none.
        """
        bound = self._bind(args, kwargs)
        operands: list[SSAValue] = []
        segments: list[int] = []
        properties: dict[str, Attribute] = {}
        for arg in self.schema.args:
            value = bound.get(arg.name, NO_DEFAULT)
            if arg.type.may_hold_values:
                before = len(operands)
                self._encode_values(arg, value, operands, properties)
                segments.append(len(operands) - before)
            elif value is not NO_DEFAULT and not _same(value, arg.default):
                properties[arg.name] = self._encode(arg, value)
        if self.needs_segments:
            properties[SEGMENTS] = DenseArrayBase.from_list(i32, segments)
        super().__init__(
            operands=operands, result_types=[], properties=properties, location=location
        )
        if result_types is None:
            result_types = self.infer_result_types()
            if result_types is None:
                raise ValueError(f"{self.name}: no result rule; give result_types")
        self._set_results(result_types)

    def _set_results(self, types: Sequence[Attribute]) -> None:
        from xdsl.ir import OpResult

        self.results = tuple(OpResult(t, self, i) for i, t in enumerate(types))

    @classmethod
    def _bind(cls, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = [a.name for a in cls.schema.args]
        if len(args) > len(names):
            raise TypeError(f"{cls.name} takes {len(names)} arguments, got {len(args)}")
        bound = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{cls.name} has no argument '{name}'; it has {', '.join(names)}")
            if name in bound:
                raise TypeError(f"{cls.name}: argument '{name}' is given twice")
            bound[name] = value
        missing = [a.name for a in cls.schema.args if a.required and a.name not in bound]
        if missing:
            raise TypeError(f"{cls.name} misses the argument '{missing[0]}'")
        return bound

    @classmethod
    def _encode(cls, arg: Arg, value: Any) -> Attribute:
        if value is None and not arg.type.optional:
            raise TypeError(f"{cls.name}: argument '{arg.name}' may not be None")
        try:
            return encode(value, arg.type)
        except TypeError as error:
            raise TypeError(f"{cls.name}: argument '{arg.name}': {error}") from None

    def _encode_values(
        self, arg: Arg, value: Any, operands: list[SSAValue], properties: dict[str, Attribute]
    ) -> None:
        if value is NO_DEFAULT:
            return
        if arg.type.kind is Kind.TENSOR:
            self._encode_tensors(arg, value, operands, properties)
        elif arg.type.is_list and value is not None:
            entries = value if isinstance(value, list | tuple) else [value]
            dynamic = [isinstance(v, SSAValue | Operation) for v in entries]
            operands += [SSAValue.get(v) for v, d in zip(entries, dynamic, strict=True) if d]
            if any(dynamic):
                value = [DYNAMIC if d else v for v, d in zip(entries, dynamic, strict=True)]
            if not _same(value, arg.default):
                properties[arg.name] = self._encode(arg, value)
        elif isinstance(value, SSAValue | Operation):
            operands.append(SSAValue.get(value))
        elif not _same(value, arg.default):
            properties[arg.name] = self._encode(arg, value)

    def _encode_tensors(
        self, arg: Arg, value: Any, operands: list[SSAValue], properties: dict[str, Attribute]
    ) -> None:
        if value is None:
            if not arg.type.optional:
                raise TypeError(f"{self.name}: argument '{arg.name}' may not be None")
            return
        if not arg.type.is_list:
            if not isinstance(value, SSAValue | Operation):
                raise TypeError(f"{self.name}: argument '{arg.name}' must be a tensor value")
            operands.append(SSAValue.get(value))
            return
        entries = list(value)
        if arg.type.optional_elements:
            present = [int(v is not None) for v in entries]
            properties[f"{arg.name}_present"] = DenseArrayBase.from_list(i32, present)
        operands += [SSAValue.get(v) for v in entries if v is not None]

    # Reading

    @property
    def overload_name(self) -> str:
        """`add.Tensor`, without the dialect."""
        return self.schema.overload_name

    def arg(self, name: str) -> Any:
        """An argument by name: SSAValue, None, list, Python constant or type; defaults included.

        Raises KeyError for a name that the schema does not have.
        """
        arg = self.schema.arg(name)
        if arg is None:
            raise KeyError(f"{self.name} has no argument '{name}'")
        if not arg.type.may_hold_values:
            return self._constant(arg)
        offset = 0
        for place, other in enumerate(self.value_args):
            size = self._segment(place)
            if other is arg:
                return self._value(arg, self.operands[offset : offset + size])
            offset += size
        raise KeyError(name)

    def args(self) -> dict[str, Any]:
        """All arguments by name, as `arg` gives them."""
        found: dict[str, Any] = {}
        offset = place = 0
        for arg in self.schema.args:
            if arg.type.may_hold_values:
                size = self._segment(place)
                found[arg.name] = self._value(arg, self.operands[offset : offset + size])
                offset, place = offset + size, place + 1
            else:
                found[arg.name] = self._constant(arg)
        return found

    def _segment(self, place: int) -> int:
        if not self.needs_segments:
            return 1
        sizes = self.properties[SEGMENTS]
        assert isinstance(sizes, DenseArrayBase)
        return int(sizes.get_values()[place])

    def _constant(self, arg: Arg) -> Any:
        attribute = self.properties.get(arg.name)
        if attribute is None:
            return None if arg.required else arg.default
        return decode_as(attribute, arg.type)

    def _value(self, arg: Arg, values: Sequence[SSAValue]) -> Any:
        if arg.type.kind is Kind.TENSOR:
            if not arg.type.is_list:
                return values[0] if values else None
            present = self.properties.get(f"{arg.name}_present")
            if isinstance(present, DenseArrayBase):
                given = iter(values)
                return [next(given) if p else None for p in present.get_values()]
            return list(values)
        if not arg.type.is_list:
            return values[0] if values else self._constant(arg)
        entries = self._constant(arg)
        if not values:
            return entries
        given = iter(values)
        return [next(given) if e == DYNAMIC else e for e in entries]

    # Types

    def infer_result_types(self) -> list[Attribute] | None:
        """Result types by the overload's rule; None without a rule, ValueError if it refuses."""
        from lamina.dialects.schema.result_rules import find_rule

        rule = find_rule(self.name.partition(".")[0], self.rule_name(), self.schema.tags)
        if rule is None:
            return None
        return rule({name: _as_type(value) for name, value in self.args().items()})

    @classmethod
    def rule_name(cls) -> str:
        return cls.name.partition(".")[2]

    # Verification

    def verify_(self) -> None:
        self._verify_operands()
        for name, attribute in self.properties.items():
            self._verify_property(name, attribute)
        for arg in self.schema.args:
            missing = arg.required and not arg.type.may_hold_values
            if missing and arg.name not in self.properties:
                raise VerifyException(f"{self.name}: argument '{arg.name}' is missing")
        try:
            expected = self.infer_result_types()
        except ValueError as error:
            raise VerifyException(f"{self.name}: {error}") from None
        if expected is not None:
            self._verify_results(expected)

    def _verify_operands(self) -> None:
        if self.needs_segments:
            sizes = self.properties.get(SEGMENTS)
            if not isinstance(sizes, DenseArrayBase) or len(sizes) != len(self.value_args):
                raise VerifyException(
                    f"{self.name}: {SEGMENTS} must give one size for each of "
                    f"{', '.join(a.name for a in self.value_args)}"
                )
            if sum(sizes.get_values()) != len(self.operands):
                raise VerifyException(f"{self.name}: {SEGMENTS} does not add up to the operands")
        elif len(self.operands) != len(self.value_args):
            raise VerifyException(
                f"{self.name} takes {len(self.value_args)} operands, got {len(self.operands)}"
            )
        offset = 0
        for place, arg in enumerate(self.value_args):
            size = self._segment(place)
            for value in self.operands[offset : offset + size]:
                _verify_operand(self.name, arg, value)
            offset += size
            if not arg.type.is_list and size > 1:
                raise VerifyException(f"{self.name}: argument '{arg.name}' takes one value")
            needed = arg.required and not arg.type.optional and not arg.type.is_list
            if needed and size == 0 and arg.name not in self.properties:
                raise VerifyException(f"{self.name}: argument '{arg.name}' is missing")

    def _verify_property(self, name: str, attribute: Attribute) -> None:
        if name == SEGMENTS or name.endswith("_present"):
            return
        arg = self.schema.arg(name)
        if arg is None:
            names = ", ".join(a.name for a in self.schema.args)
            raise VerifyException(f"{self.name} has no argument '{name}'; it has {names}")
        if not fits(attribute, arg.type):
            wanted = arg.type.base + ("[]" if arg.type.is_list else "")
            raise VerifyException(
                f"{self.name}: argument '{name}' must be {wanted}, got {attribute}"
            )

    def _verify_results(self, expected: Sequence[Attribute]) -> None:
        given = [r.type for r in self.results]
        if len(given) != len(expected) or not all(map(_compatible, given, expected)):
            raise VerifyException(
                f"{self.name}: the result must be {', '.join(map(str, expected))}, "
                f"not {', '.join(map(str, given)) or 'nothing'}"
            )

    # Text

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        named = False
        first = True
        for arg, value in zip(self.schema.args, self.args().values(), strict=True):
            if _left_out(arg, value):
                named = True
                continue
            if not first:
                printer.print_string(", ")
            first = False
            named = named or arg.type.kind is not Kind.TENSOR
            if named:
                printer.print_string(f"{arg.name} = ")
            _print_value(printer, value)
        printer.print_string(")")
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> SchemaOp:
        parser.parse_punctuation("(")
        parsed = _parse_arguments(parser, cls)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        at = parser.pos
        kind = parser.parse_function_type()
        unresolved = [v for value in parsed.values() for v in _unresolved(value)]
        if len(unresolved) != len(kind.inputs):
            parser.raise_error(
                f"{len(unresolved)} operands but {len(kind.inputs)} operand types", at
            )
        types = iter(kind.inputs.data)
        order = [a.name for a in cls.schema.args if a.name in parsed]
        bound = {name: _resolve(parser, parsed[name], types) for name in order}
        try:
            op = cls(**bound, result_types=list(kind.outputs.data))
        except TypeError as error:
            parser.raise_error(str(error), at)
        op.attributes.update(attributes)
        return op


def _left_out(arg: Arg, value: Any) -> bool:
    if arg.required:
        return False
    if arg.type.kind is Kind.TENSOR:
        return value is None or value == arg.default
    return _same(value, arg.default)


def _same(value: Any, default: Any) -> bool:
    """Equal in value and in being a bool, an int or a float."""
    if isinstance(value, SSAValue | Operation):
        return False
    if isinstance(value, list | tuple) and isinstance(default, list):
        return len(value) == len(default) and all(map(_same, value, default))
    return type(value) is type(default) and value == default


def _as_type(value: Any) -> Any:
    if isinstance(value, SSAValue):
        return value.type if isinstance(value.type, TensorType) else -1
    if isinstance(value, list):
        return [_as_type(v) for v in value]
    return value


def _verify_operand(name: str, arg: Arg, value: SSAValue) -> None:
    if arg.type.kind is Kind.TENSOR:
        if not isinstance(value.type, TensorType):
            raise VerifyException(
                f"{name}: argument '{arg.name}' must be a tensor, got {value.type}"
            )
    elif not isinstance(value.type, IntegerType | IndexType) or value.type == i1:
        raise VerifyException(f"{name}: argument '{arg.name}' must be an i64, got {value.type}")


def _compatible(given: Attribute, expected: Attribute) -> bool:
    if given == expected:
        return True
    if not isinstance(given, TensorType) or not isinstance(expected, TensorType):
        return False
    if given.element_type != expected.element_type:
        return False
    pairs = zip(given.get_shape(), expected.get_shape(), strict=False)
    same_rank = given.get_num_dims() == expected.get_num_dims()
    return same_rank and all(a == b or a < 0 or b < 0 for a, b in pairs)


def _print_value(printer: Printer, value: Any) -> None:
    if isinstance(value, SSAValue):
        printer.print_ssa_value(value)
    elif isinstance(value, list) and any(isinstance(v, SSAValue) for v in value):
        printer.print_string("[")
        printer.print_list(value, lambda v: _print_value(printer, v))
        printer.print_string("]")
    else:
        print_constant(printer, value)


# Parsing


def _parse_arguments(parser: Parser, cls: type[SchemaOp]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    place = 0
    if parser.parse_optional_punctuation(")"):
        return parsed
    while True:
        at = parser.pos
        word = parser.parse_optional_identifier()
        if word is not None and parser.parse_optional_punctuation("="):
            arg = cls.schema.arg(word)
            if arg is None or word in parsed:
                names = ", ".join(a.name for a in cls.schema.args)
                what = "is given twice" if arg else f"does not exist; {cls.name} has {names}"
                parser.raise_error(f"argument '{word}' {what}", at)
            parsed[word] = _parse_value(parser, arg)
        else:
            if place >= len(cls.schema.args):
                parser.raise_error(f"{cls.name} takes {place} arguments", at)
            arg = cls.schema.args[place]
            if word is None:
                parsed[arg.name] = _parse_value(parser, arg)
            elif word == "none":
                parsed[arg.name] = None
            else:
                parser.raise_error(f"expected a value for argument '{arg.name}'", at)
        place += 1
        if parser.parse_optional_punctuation(")"):
            return parsed
        parser.parse_punctuation(",")


def _parse_value(parser: Parser, arg: Arg) -> Any:
    if not arg.type.may_hold_values:
        return parse_constant(parser, arg.type)
    operand = parser.parse_optional_unresolved_operand()
    if operand is not None:
        return operand
    if not arg.type.is_list or not parser.parse_optional_punctuation("["):
        return parse_constant(parser, arg.type)
    entries: list[Any] = []
    while not parser.parse_optional_punctuation("]"):
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            missing = parser.parse_optional_keyword("none")
            operand = None if missing else parser.parse_integer()
        entries.append(operand)
        if not parser.parse_optional_punctuation(","):
            parser.parse_punctuation("]")
            break
    return entries


def _unresolved(value: Any) -> list[UnresolvedOperand]:
    if isinstance(value, UnresolvedOperand):
        return [value]
    if isinstance(value, list):
        return [v for v in value if isinstance(v, UnresolvedOperand)]
    return []


def _resolve(parser: Parser, value: Any, types: Any) -> Any:
    if isinstance(value, UnresolvedOperand):
        return parser.resolve_operand(value, next(types))
    if isinstance(value, list):
        return [_resolve(parser, v, types) for v in value]
    return value
