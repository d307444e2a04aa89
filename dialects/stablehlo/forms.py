"""The pretty forms of ops: how each is read and printed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    FunctionType,
    TensorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from lamina.dialects.stablehlo.attributes import make_word, word
from lamina.dialects.stablehlo.clauses import clause_text, parse_clause, word_attribute
from lamina.dialects.stablehlo.op import Form, HloOp
from lamina.dialects.stablehlo.region_forms import ReduceForm, WhileForm
from lamina.dialects.stablehlo.special_forms import (
    CompositeForm,
    ConstantForm,
    ConvolutionForm,
    CustomCallForm,
    ElementForm,
    SliceForm,
    TopKForm,
    TupleForm,
)


class GenericForm:
    """No form but the generic one."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Refuses."""
        parser.raise_error(f'{kind.name} has the generic form only: "{kind.name}"(...)')

    def print(self, printer: Printer, op: HloOp) -> None:
        """The generic form."""
        printer.print_op_with_default_format(op)


class ClausesForm:
    """`WORD, %a, word = value {attributes} : types`; how types are written is for subclasses."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Operands, clauses and words up to the types."""
        unresolved: list[UnresolvedOperand] = []
        properties: dict[str, Attribute] = {}
        clauses, words = dict(kind.row.clauses), list(kind.row.words)
        while True:
            operand = parser.parse_optional_unresolved_operand()
            if operand is not None:
                unresolved.append(operand)
            else:
                name = parser.parse_optional_identifier()
                if name is None:
                    break
                clause = clauses.get(name)
                if clause is not None:
                    parser.parse_punctuation("=")
                    parse_clause(parser, clause, properties)
                elif words:
                    attribute = words.pop(0)
                    properties[attribute] = make_word(word_attribute(attribute), name)
                else:
                    known = ", ".join(clauses) or "none"
                    parser.raise_error(f"{kind.name} has no '{name}'; what it has: {known}")
            if parser.parse_optional_punctuation(",") is None:
                break
        attributes = parser.parse_optional_attr_dict()
        at = parser.pos
        parser.parse_punctuation(":")
        given, results = self.parse_types(parser, len(unresolved))
        return kind.create(
            operands=parser.resolve_operands(unresolved, given, at),
            result_types=results,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        row, first = op.row, True

        def comma() -> None:
            nonlocal first
            printer.print_string(" " if first else ", ")
            first = False

        words = [op.attr(name) for name in row.words]
        if words:
            comma()
            printer.print_string(word(words[0]))
        for operand in op.operands:
            comma()
            printer.print_ssa_value(operand)
        for given in words[1:]:
            if given is not None:
                comma()
                printer.print_string(word(given))
        for name, clause in row.clauses:
            text = clause_text(op, clause)
            if text is not None:
                comma()
                printer.print_string(f"{name} = {text}")
        print_attributes(printer, op)
        printer.print_string(" : ")
        self.print_types(printer, op)

    def parse_types(
        self, parser: Parser, operands: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Types of operands and results."""
        kind = parser.parse_function_type()
        return kind.inputs.data, kind.outputs.data

    def print_types(self, printer: Printer, op: HloOp) -> None:
        """What `parse_types` reads."""
        print_function_type(printer, op)


class SameForm(ClausesForm):
    """One type for operands and results, or a function type if they differ."""

    def parse_types(
        self, parser: Parser, operands: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """The type for each."""
        kind = parser.parse_type()
        if isinstance(kind, FunctionType):
            return kind.inputs.data, kind.outputs.data
        return [kind] * operands, [kind]

    def print_types(self, printer: Printer, op: HloOp) -> None:
        """One type if all are equal."""
        kinds = {value.type for value in (*op.operands, *op.results)}
        if len(kinds) == 1:
            printer.print_attribute(op.results[0].type)
        else:
            print_function_type(printer, op)


class ResultForm(SameForm):
    """The type of the result, which is that of the operand."""


class ArrowForm(ClausesForm):
    """`T, T -> T`."""

    def parse_types(
        self, parser: Parser, operands: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Types of operands, an arrow, types of results."""
        given = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation("->")
        return given, [parser.parse_type()]

    def print_types(self, printer: Printer, op: HloOp) -> None:
        """What `parse_types` reads."""
        printer.print_list([value.type for value in op.operands], printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(op.results[0].type)


class SelectForm(ClausesForm):
    """The types of the predicate and of the result, or a function type."""

    def parse_types(
        self, parser: Parser, operands: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Both branches are of the second type."""
        kind = parser.parse_type()
        if isinstance(kind, FunctionType):
            return kind.inputs.data, kind.outputs.data
        parser.parse_punctuation(",")
        chosen = parser.parse_type()
        return [kind, chosen, chosen], [chosen]

    def print_types(self, printer: Printer, op: HloOp) -> None:
        """What `parse_types` reads."""
        kinds = [operand.type for operand in op.operands[1:]]
        if any(kind != op.results[0].type for kind in kinds):
            print_function_type(printer, op)
            return
        printer.print_attribute(op.operands[0].type)
        printer.print_string(", ")
        printer.print_attribute(op.results[0].type)


class ComplexForm(ClausesForm):
    """The type of the result, whose parts the operands are, or a function type."""

    def parse_types(
        self, parser: Parser, operands: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """The parts have the type in the result's."""
        kind = parser.parse_type()
        if isinstance(kind, FunctionType):
            return kind.inputs.data, kind.outputs.data
        part = getattr(getattr(kind, "element_type", None), "element_type", None)
        if not isinstance(kind, TensorType) or not isinstance(part, Attribute):
            parser.raise_error(f"expected a tensor of complex numbers, not {kind}")
        return [TensorType(part, kind.get_shape())] * operands, [kind]

    def print_types(self, printer: Printer, op: HloOp) -> None:
        """The result's type."""
        printer.print_attribute(op.results[0].type)


class ListForm(ClausesForm):
    """`%a, %b : T, T`, whose results are of the types of the operands; `()` for nothing."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Operands with types, if there are any."""
        if parser.parse_optional_punctuation("(") is not None:
            parser.parse_punctuation(")")
            return kind.create(attributes=parser.parse_optional_attr_dict())
        return super().parse(parser, kind)

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        if op.operands:
            super().print(printer, op)
        else:
            printer.print_string(" ()")

    def parse_types(
        self, parser: Parser, operands: int
    ) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """As many types as operands."""
        kinds = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return kinds, kinds

    def print_types(self, printer: Printer, op: HloOp) -> None:
        """The operands' types."""
        printer.print_list([value.type for value in op.operands], printer.print_attribute)


class ReturnForm(ListForm):
    """`stablehlo.return %a : T`, without results."""

    def parse(self, parser: Parser, kind: type[HloOp]) -> HloOp:
        """Nothing behind the name ends a region without results."""
        first = parser.parse_optional_unresolved_operand()
        if first is None:
            return kind.create()
        unresolved = [first]
        while parser.parse_optional_punctuation(",") is not None:
            unresolved.append(parser.parse_unresolved_operand())
        at = parser.pos
        parser.parse_punctuation(":")
        given, _ = self.parse_types(parser, len(unresolved))
        return kind.create(operands=parser.resolve_operands(unresolved, given, at))

    def print(self, printer: Printer, op: HloOp) -> None:
        """What `parse` reads."""
        if op.operands:
            super().print(printer, op)


def print_function_type(printer: Printer, op: Operation) -> None:
    """`(T, T) -> T`."""
    printer.print_operation_type(op)


def print_attributes(printer: Printer, op: HloOp) -> None:
    """` {name = value}`, if there are any."""
    if op.attributes:
        printer.print_op_attributes(op.attributes)


FORMS: dict[str, Form] = {
    "generic": GenericForm(),
    "function": ClausesForm(),
    "same": SameForm(),
    "result": ResultForm(),
    "arrow": ArrowForm(),
    "select": SelectForm(),
    "complex": ComplexForm(),
    "list": ListForm(),
    "return": ReturnForm(),
    "constant": ConstantForm(),
    "slice": SliceForm(),
    "convolution": ConvolutionForm(),
    "custom_call": CustomCallForm(),
    "composite": CompositeForm(),
    "element": ElementForm(),
    "tuple": TupleForm(),
    "top_k": TopKForm(),
    "reduce": ReduceForm(),
    "while": WhileForm(),
}
"""By the name that rows of the table say."""
