"""The function `main` that importers make: what its arguments and results are goes with it."""

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from lamina.dialects.narrow_types import CODES
from lamina.passes.contracts.argument_sizes import DIMS


def main_module(
    block: Block,
    arguments: Sequence[tuple[str, str]],
    results: Sequence[SSAValue],
    result_attributes: Sequence[DictionaryAttr],
    codes: Mapping[str, str] | None = None,
    dims: Mapping[str, ArrayAttr] | None = None,
) -> ModuleOp:
    """A module of one function with `block` as its body, which this function ends.

    `arguments` has name and kind of each block argument, `codes` the narrow type of those that
    have one (`narrow_types`), by name, and `dims` the sizes that types leave open.
    """
    block.add_op(ReturnOp.create(operands=results))
    entries = [_argument_attributes(*entry, (codes or {}).get(entry[0])) for entry in arguments]
    for number, (name, _) in enumerate(arguments):
        if dims is not None and name in dims:
            entries[number] = DictionaryAttr({**entries[number].data, DIMS: dims[name]})
    function = FuncOp(
        "main",
        FunctionType.from_lists(block.arg_types, [result.type for result in results]),
        Region(block),
        arg_attrs=ArrayAttr(entries),
        res_attrs=ArrayAttr(result_attributes),
    )
    return ModuleOp([function])


def output_attributes(codes: str | None = None) -> DictionaryAttr:
    """What marks a result that the caller gets, and the narrow type that it holds codes of."""
    return _with_codes({"lamina.kind": StringAttr("output")}, codes)


def _argument_attributes(name: str, kind: str, codes: str | None) -> DictionaryAttr:
    return _with_codes({"lamina.name": StringAttr(name), "lamina.kind": StringAttr(kind)}, codes)


def _with_codes(entries: dict[str, Attribute], codes: str | None) -> DictionaryAttr:
    return DictionaryAttr(entries if codes is None else {**entries, CODES: StringAttr(codes)})
