"""Reading the text of a `linalg` op: its clauses, in whatever order MLIR prints them."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ShapedType, i64
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.parser import Parser

from lamina.dialects.linalg.named_ops_table import Form


def element_of(kind: Attribute) -> Attribute:
    """What a body sees of an operand: the element of a tensor, a number itself."""
    return kind.get_element_type() if isinstance(kind, ShapedType) else kind  # pyright: ignore


class StructuredText:
    """The clauses of one op, as far as they are read."""

    def __init__(self, parser: Parser, form: Form) -> None:
        self.parser = parser
        self._is_generic = form.is_generic
        self._takes_payload = form.payload is not None
        self._behind = form.behind
        self.inputs: list[SSAValue] = []
        self.outputs: list[SSAValue] = []
        self.attributes: dict[str, Attribute] = {}
        self.types: list[Attribute] = []
        self.region: Region | None = None
        self.payload: str | None = None
        self.payload_attributes: dict[str, Attribute] = {}

    def read(self) -> None:
        """Read clauses until something else follows."""
        while self._clause():
            pass

    def _clause(self) -> bool:
        parser = self.parser
        if parser.parse_optional_keyword("ins"):
            self.inputs = self._operands()
        elif parser.parse_optional_keyword("outs"):
            self.outputs = self._operands()
        elif parser.parse_optional_keyword("attrs"):
            parser.parse_punctuation("=")
            self.attributes.update(parser.parse_optional_attr_dict())
        elif parser.parse_optional_keyword("dimension"):
            with parser.in_parens():
                self.attributes["dimension"] = IntegerAttr(parser.parse_integer(), i64)
        elif self._behind is not None and parser.parse_optional_keyword(self._behind):
            parser.parse_punctuation("=")
            listed = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_integer
            )
            self.attributes[self._behind] = DenseArrayBase.from_list(i64, listed)
        elif name := self._named():
            parser.parse_punctuation("=")
            self.attributes[name] = parser.parse_attribute()
        elif parser.parse_optional_punctuation("->"):
            self._results()
        else:
            return self._braces()
        return True

    def _named(self) -> str | None:
        words = ("indexing_maps", "kind")
        return next((word for word in words if self.parser.parse_optional_keyword(word)), None)

    def _braces(self) -> bool:
        """A region, a body that is one op, or attributes; false for anything else."""
        parser = self.parser
        if self.region is not None or self._at_end():
            return False
        if self._is_generic and self.outputs:
            self.region = parser.parse_optional_region()
            return self.region is not None
        if self._takes_payload and self.payload is None and not self.outputs:
            if not parser.parse_optional_punctuation("{"):
                return False
            self.payload = parser.parse_identifier()
            self.payload_attributes = parser.parse_optional_attr_dict()
            parser.parse_punctuation("}")
            return True
        if self._takes_payload and self.outputs and parser.parse_optional_punctuation("("):
            arguments = [parser.parse_argument()]
            while parser.parse_optional_punctuation(","):
                arguments.append(parser.parse_argument())
            parser.parse_punctuation(")")
            self.region = parser.parse_region(arguments)
            return True
        found = parser.parse_optional_attr_dict()
        self.attributes.update(found)
        return bool(found)

    def _at_end(self) -> bool:
        return bool(self.types)

    def _operands(self) -> list[SSAValue]:
        parser = self.parser
        parser.parse_punctuation("(")
        at = parser.pos
        names = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation(")")
        return list(parser.resolve_operands(names, types, at))

    def _results(self) -> None:
        parser = self.parser
        types = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_type
        )
        if types is None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        self.types = list(types)
