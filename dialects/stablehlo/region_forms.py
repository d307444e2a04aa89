"""The pretty forms of `reduce` and `while`, whose regions take what the form names."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, Block, Region
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.lexer import Span

from lamina.dialects.ir_links import block_ops
from lamina.dialects.stablehlo.op import HloOp


class ReduceForm:
    """`(%a init: %b) applies stablehlo.add across dimensions = [1] : types`, or with a reducer."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """The tensors, then their starts; a reducer is a region, or the name of an op."""
        pairs = [_parse_reduced(parser)]
        while parser.parse_optional_punctuation(",") is not None:
            pairs.append(_parse_reduced(parser))
        applied = None
        if parser.parse_optional_keyword("applies") is not None:
            at = parser.pos
            applied = parser.parse_identifier()
            if applied.partition(".")[0] not in ("stablehlo", "chlo"):
                parser.raise_error(
                    f"a reducer is an op of stablehlo, not {applied}", at, parser.pos
                )
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        at = parser.pos
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        unresolved = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
        operands = parser.resolve_operands(unresolved, types.inputs.data, at)
        if applied is None:
            region = _parse_reducer(parser, len(pairs))
        else:
            element = TensorType(_element(parser, operands[0].type), [])
            region = _applied(parser, applied, element)
        return kind.create(
            operands=operands,
            result_types=types.outputs.data,
            properties={"dimensions": DenseArrayBase.from_list(i64, dims)},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        count = len(op.operands) // 2
        for place in range(count):
            printer.print_string(", (" if place else "(")
            printer.print_ssa_value(op.operands[place])
            printer.print_string(" init: ")
            printer.print_ssa_value(op.operands[count + place])
            printer.print_string(")")
        applied = _one_op(op)
        if applied is not None:
            printer.print_string(f" applies {applied}")
        printer.print_string(f" across dimensions = {op.ints('dimensions')}")
        if op.attributes:
            printer.print_op_attributes(op.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(op)
        if applied is not None:
            return
        printer.print_string(" reducer")
        arguments = op.regions[0].block.args
        for place in range(count):
            printer.print_string("(")
            printer.print_block_argument(arguments[place])
            printer.print_string(", ")
            printer.print_block_argument(arguments[count + place])
            printer.print_string(") ")
        printer.print_region(op.regions[0], print_entry_block_args=False)


def _parse_reduced(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    parser.parse_punctuation("(")
    reduced = parser.parse_unresolved_operand()
    parser.parse_keyword("init")
    parser.parse_punctuation(":")
    start = parser.parse_unresolved_operand()
    parser.parse_punctuation(")")
    return reduced, start


def _parse_reducer(parser: Parser, count: int) -> Region:
    """`reducer(%a: T, %b: T) (%c: T, %d: T) {...}`: the left and the right of each value."""
    parser.parse_keyword("reducer")
    left: list[Parser.Argument] = []
    right: list[Parser.Argument] = []
    for _ in range(count):
        parser.parse_punctuation("(")
        left.append(parser.parse_argument())
        parser.parse_punctuation(",")
        right.append(parser.parse_argument())
        parser.parse_punctuation(")")
    return parser.parse_region([*left, *right])


def _element(parser: Parser, kind: object) -> Attribute:
    if not isinstance(kind, TensorType):
        parser.raise_error(f"expected a tensor, not {kind}")
    return kind.get_element_type()


def _applied(parser: Parser, name: str, element: TensorType) -> Region:
    block = Block(arg_types=[element, element])
    made = parser.ctx.get_op(name).create(operands=list(block.args), result_types=[element])
    end = parser.ctx.get_op("stablehlo.return").create(operands=[made.results[0]])
    block.add_ops([made, end])
    return Region(block)


def _one_op(op: HloOp) -> str | None:
    """The op's name if a reducer is one op on its two arguments."""
    if len(op.regions[0].blocks) != 1 or len(op.operands) != 2:
        return None
    block = op.regions[0].block
    ops = block_ops(block)
    plain = (
        len(ops) == 2
        and list(ops[0].operands) == list(block.args)
        and list(ops[1].operands) == list(ops[0].results)
        and not ops[0].properties
        and not ops[0].attributes
        and ops[0].name.startswith("stablehlo.")
    )
    return ops[0].name if plain else None


class WhileForm:
    """`(%a = %x, %b = %y) : T, U cond {...} do {...}`; both regions take the names on the left."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Names and starts, their types, two regions."""
        pairs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_carried(parser)
        )
        at = parser.pos
        types = []
        if parser.parse_optional_punctuation(":") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        operands = parser.resolve_operands([start for _, start in pairs], types, at)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        arguments = [
            Parser.Argument(name, type_) for (name, _), type_ in zip(pairs, types, strict=True)
        ]
        parser.parse_keyword("cond")
        test = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region(arguments)
        return kind.create(
            operands=operands,
            result_types=types,
            attributes=dict(attributes.data) if attributes is not None else {},
            regions=[test, body],
        )

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads; names of the first region serve for both."""
        starts = [*op.operands]
        test, body = op.regions
        printer.enter_scope()
        for own, other in zip(test.block.args, body.block.args, strict=True):
            if own.name_hint is None:
                own.name_hint = other.name_hint or "iterArg"
        printer.print_string("(")
        names: list[str] = []
        for place, (argument, start) in enumerate(zip(test.block.args, starts, strict=True)):
            printer.print_string(", " if place else "")
            names.append(printer.print_ssa_value(argument))
            printer.print_string(" = ")
            printer.print_ssa_value(start)
        printer.print_string(")")
        if starts:
            printer.print_string(" : ")
            printer.print_list([start.type for start in starts], printer.print_attribute)
        if op.attributes:
            printer.print_op_attributes(op.attributes, print_keyword=True)
        printer.print_string(" cond ")
        printer.print_region(test, print_entry_block_args=False)
        printer.print_string(" do ")
        given = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
        given.update(zip(body.block.args, names, strict=True))
        printer.print_region(body, print_entry_block_args=False)
        printer.exit_scope()


def _parse_carried(parser: Parser) -> tuple[Span, UnresolvedOperand]:
    name = parser.parse_unresolved_operand()
    parser.parse_punctuation("=")
    return name.span, parser.parse_unresolved_operand()
