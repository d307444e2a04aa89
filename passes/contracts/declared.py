"""Arguments and results of functions, as their types and `lamina.*` attributes declare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from lamina.dialects.errors import InputError
from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.records import record
from lamina.passes.refusal import invalid

ARGUMENT, RESULT = "argument", "result"

_STEMS = {"input": "arg", "output": "out"}


@record
class Declared:
    """An argument or result of a function, as its attributes describe it."""

    function: FuncOp
    place: str
    number: int
    type: Attribute
    entries: dict[str, Attribute]
    kind: str
    name: str

    def refuse(self, reason: str) -> InputError:
        """The error that names the argument or result."""
        where = f"{self.place} {self.number} of @{self.function.sym_name.data}"
        return invalid(self.function, f"{where}: {reason}")


def given_names(kinds: Sequence[str], names: Sequence[str | None]) -> list[str]:
    """The names of arguments or results; those without one are numbered within their kind."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    for kind, name in zip(kinds, names, strict=True):
        found.append(f"{_STEMS.get(kind, kind)}{seen[kind]}" if name is None else name)
        seen[kind] += 1
    return found


def arguments_of(function: FuncOp) -> list[Declared]:
    """A function's arguments, with their kinds and names."""
    types = list(function.function_type.inputs)
    return _declared(function, ARGUMENT, types, function.arg_attrs, "input")


def results_of(function: FuncOp) -> list[Declared]:
    """A function's results, with their kinds and names."""
    types = list(function.function_type.outputs)
    return _declared(function, RESULT, types, function.res_attrs, "output")


def _declared(
    function: FuncOp,
    place: str,
    types: Sequence[Attribute],
    attributes: ArrayAttr[DictionaryAttr] | None,
    default: str,
) -> list[Declared]:
    entries = [dict(a.data) for a in attributes] if attributes is not None else [{} for _ in types]
    if len(entries) != len(types):
        name = function.sym_name.data
        raise invalid(
            function, f"@{name} has {len(types)} {place}s, and attributes of {len(entries)}"
        )
    if attributes is None:
        kinds = (default,) * len(entries)
        names = given_names(kinds, [None] * len(entries))
    else:
        kinds, names = _kinds_and_names(attributes, default)
    return [
        Declared(function, place, number, type_, entry, kind, name)
        for number, (type_, entry, kind, name) in enumerate(
            zip(types, entries, kinds, names, strict=True)
        )
    ]


@once_an_object
def _kinds_and_names(
    attributes: ArrayAttr[DictionaryAttr], default: str
) -> tuple[Sequence[str], Sequence[str]]:
    """Those that attributes say, which few passes change and many ask for."""
    kinds = [text_of(entry.data.get("lamina.kind")) or default for entry in attributes]
    given = [text_of(entry.data.get("lamina.name")) for entry in attributes]
    return kinds, given_names(kinds, given)


def text_of(attribute: Attribute | None) -> str | None:
    """What a string attribute says; None for any other."""
    return attribute.data if isinstance(attribute, StringAttr) else None
