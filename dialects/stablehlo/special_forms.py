"""Pretty forms that one op has alone."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    TupleType,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from lamina.dialects.stablehlo.attributes import body_of, make_attribute
from lamina.dialects.stablehlo.op import HloOp


def _operands(parser: Parser) -> list[UnresolvedOperand]:
    return parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_unresolved_operand
    )


def _end(
    parser: Parser,
    kind: type[HloOp],
    unresolved: list[UnresolvedOperand],
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute] | None = None,
) -> HloOp:
    """The op of these parts, whose function type comes next."""
    at = parser.pos
    parser.parse_punctuation(":")
    types = parser.parse_function_type()
    return kind.create(
        operands=parser.resolve_operands(unresolved, types.inputs.data, at),
        result_types=types.outputs.data,
        properties=properties,
        attributes=attributes or {},
    )


def _print_end(printer: Printer, op: HloOp) -> None:
    if op.attributes:
        printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_operation_type(op)


def _print_operands(printer: Printer, op: HloOp) -> None:
    printer.print_string("(")
    printer.print_list(op.operands, printer.print_ssa_value)
    printer.print_string(")")


class ConstantForm:
    """`stablehlo.constant dense<1.0> : tensor<f32>`."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """The literal says the type."""
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        type_ = getattr(value, "type", None)
        if not isinstance(type_, TensorType):
            parser.raise_error(f"expected a literal of a tensor, not {value}")
        return kind.create(result_types=[type_], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        if op.attributes:
            printer.print_op_attributes(op.attributes)
        printer.print_string(" ")
        value = op.attr("value")
        assert value is not None
        printer.print_attribute(value)


class SliceForm:
    """`stablehlo.slice %a [0:2, 1:9:4] : (T) -> U`."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Start, limit and stride of each dimension."""
        operand = parser.parse_unresolved_operand()

        def bounds() -> tuple[int, int, int]:
            start = parser.parse_integer()
            parser.parse_punctuation(":")
            limit = parser.parse_integer()
            stepped = parser.parse_optional_punctuation(":") is not None
            return start, limit, parser.parse_integer() if stepped else 1

        found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, bounds)
        columns = zip(*found, strict=True) if found else ((), (), ())
        names = ("start_indices", "limit_indices", "strides")
        properties: dict[str, Attribute] = {
            name: DenseArrayBase.from_list(i64, list(column))
            for name, column in zip(names, columns, strict=True)
        }
        return _end(parser, kind, [operand], properties, parser.parse_optional_attr_dict())

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        columns = (op.ints(n) for n in ("start_indices", "limit_indices", "strides"))
        rows = zip(*columns, strict=True)
        texts = [f"{a}:{z}" + (f":{step}" if step != 1 else "") for a, z, step in rows]
        printer.print_string(" ")
        printer.print_ssa_value(op.operands[0])
        printer.print_string(f" [{', '.join(texts)}]")
        _print_end(printer, op)


class ConvolutionForm:
    """`(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {...} {...} : types`."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Dimension numbers, the window, what else there is."""
        unresolved = _operands(parser)
        parser.parse_keyword("dim_numbers")
        parser.parse_punctuation("=")
        sides = [_dims(parser)]
        parser.parse_keyword("x")
        sides.append(_dims(parser))
        parser.parse_punctuation("->")
        sides.append(_dims(parser))
        properties: dict[str, Attribute] = {
            "dimension_numbers": make_attribute(
                "stablehlo.conv", f"{sides[0]}x{sides[1]}->{sides[2]}"
            )
        }
        parser.parse_punctuation(",")
        parser.parse_keyword("window")
        parser.parse_punctuation("=")
        parser.parse_comma_separated_list(
            parser.Delimiter.BRACES, lambda: _window_entry(parser, properties)
        )
        return _end(parser, kind, unresolved, properties, parser.parse_optional_attr_dict())

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        _print_operands(printer, op)
        dims = body_of(op.attr("dimension_numbers"))
        entries: list[str] = []
        for name, attribute in _WINDOW.items():
            given = op.attr(attribute)
            if given is None:
                continue
            if name == "reverse" and isinstance(given, DenseArrayBase):
                flags = ", ".join(str(bool(n)).lower() for n in given.get_values())
                entries.append(f"{name} = [{flags}]")
            elif name == "pad":
                numbers = op.ints(attribute)
                pairs = [numbers[n : n + 2] for n in range(0, len(numbers), 2)]
                entries.append(f"{name} = {pairs}")
            else:
                entries.append(f"{name} = {op.ints(attribute)}")
        printer.print_string(f" dim_numbers = {dims}, window = {{{', '.join(entries)}}}")
        rest = {
            name: value
            for name, value in op.properties.items()
            if name not in _WINDOW.values() and name != "dimension_numbers"
        }
        printer.print_op_attributes({**rest, **op.attributes})
        printer.print_string(" : ")
        printer.print_operation_type(op)


_WINDOW = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


def _dims(parser: Parser) -> str:
    def entry() -> str:
        number = parser.parse_optional_integer()
        return parser.parse_identifier() if number is None else str(number)

    return f"[{', '.join(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, entry))}]"


def _window_entry(parser: Parser, properties: dict[str, Attribute]) -> None:
    at = parser.pos
    name = parser.parse_identifier()
    if name not in _WINDOW:
        parser.raise_error(f"a window has no '{name}': {', '.join(_WINDOW)}", at, parser.pos)
    parser.parse_punctuation("=")

    def listed() -> list[int]:
        return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, number)

    def number() -> int:
        flag = parser.parse_optional_boolean() if name == "reverse" else None
        return parser.parse_integer() if flag is None else int(flag)

    if name == "pad":
        pairs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, listed)
        flat = [n for pair in pairs for n in pair]
        kind = TensorType(i64, [len(pairs), 2])
        properties[_WINDOW[name]] = DenseIntOrFPElementsAttr.from_list(kind, flat)
    else:
        properties[_WINDOW[name]] = DenseArrayBase.from_list(i64, listed())


class CustomCallForm:
    """`stablehlo.custom_call @target(%a) {...} : (T) -> U`."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Attributes are kept as they are."""
        target = parser.parse_symbol_name()
        unresolved = _operands(parser)
        attributes = parser.parse_optional_attr_dict()
        properties: dict[str, Attribute] = {"call_target_name": target}
        return _end(parser, kind, unresolved, properties, attributes)

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        target = op.attr("call_target_name")
        printer.print_string(" ")
        printer.print_symbol_name(target.data if isinstance(target, StringAttr) else "")
        _print_operands(printer, op)
        rest = {n: v for n, v in op.properties.items() if n != "call_target_name"}
        printer.print_op_attributes({**rest, **op.attributes})
        printer.print_string(" : ")
        printer.print_operation_type(op)


class CompositeForm:
    """`stablehlo.composite "name" %a {decomposition = @f} : (T) -> U`."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """The name, operands, attributes."""
        name = StringAttr(parser.parse_str_literal())
        unresolved = []
        first = parser.parse_optional_unresolved_operand()
        if first is not None:
            unresolved.append(first)
            while parser.parse_optional_punctuation(",") is not None:
                unresolved.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        return _end(parser, kind, unresolved, {"name": name}, attributes)

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        name = op.attr("name")
        printer.print_string(f' "{name.data if isinstance(name, StringAttr) else ""}" ')
        printer.print_list(op.operands, printer.print_ssa_value)
        rest = {n: v for n, v in op.properties.items() if n != "name"}
        printer.print_op_attributes({**rest, **op.attributes})
        printer.print_string(" : ")
        printer.print_operation_type(op)


class TupleForm:
    """`stablehlo.tuple %a, %b : tuple<T, U>`."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """The tuple's type says those of its parts."""
        unresolved = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(",") is not None:
            unresolved.append(parser.parse_unresolved_operand())
        at = parser.pos
        parser.parse_punctuation(":")
        made = parser.parse_type()
        if not isinstance(made, TupleType):
            parser.raise_error(f"expected a tuple, not {made}")
        return kind.create(
            operands=parser.resolve_operands(unresolved, made.types.data, at), result_types=[made]
        )

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        printer.print_string(" ")
        printer.print_list(op.operands, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(op.results[0].type)


class ElementForm:
    """`stablehlo.get_tuple_element %t[0] : (tuple<T, U>) -> T`."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Which part of which tuple."""
        operand = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            place = IntegerAttr(parser.parse_integer(), i32)
        return _end(parser, kind, [operand], {"index": place})

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        printer.print_string(" ")
        printer.print_ssa_value(op.operands[0])
        printer.print_string(f"[{op.int('index')}]")
        _print_end(printer, op)


class TopKForm:
    """`chlo.top_k(%a, k = 2) : T -> (U, V)`."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """The operand, k, the types."""
        parser.parse_punctuation("(")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("k")
        parser.parse_punctuation("=")
        count = IntegerAttr(parser.parse_integer(), i64)
        parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        at = parser.pos
        parser.parse_punctuation(":")
        given = parser.parse_type()
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        return kind.create(
            operands=parser.resolve_operands([operand], [given], at),
            result_types=results,
            properties={"k": count},
            attributes=attributes,
        )

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        printer.print_string("(")
        printer.print_ssa_value(op.operands[0])
        printer.print_string(f", k = {op.int('k')})")
        if op.attributes:
            printer.print_op_attributes(op.attributes)
        printer.print_string(" : ")
        printer.print_attribute(op.operands[0].type)
        printer.print_string(" -> (")
        printer.print_list([result.type for result in op.results], printer.print_attribute)
        printer.print_string(")")
