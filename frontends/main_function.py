"""The function `main` that importers make: what its arguments and results are goes with it."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue


def main_module(
    block: Block,
    arguments: Sequence[tuple[str, str]],
    results: Sequence[SSAValue],
    result_attributes: Sequence[DictionaryAttr],
) -> ModuleOp:
    """A module of one function with `block` as its body, which this function ends.

    `arguments` has name and kind of each block argument.
    """
    block.add_op(ReturnOp.create(operands=results))
    function = FuncOp(
        "main",
        FunctionType.from_lists(block.arg_types, [result.type for result in results]),
        Region(block),
        arg_attrs=ArrayAttr([_argument_attributes(*entry) for entry in arguments]),
        res_attrs=ArrayAttr(result_attributes),
    )
    return ModuleOp([function])


def output_attributes() -> DictionaryAttr:
    """What marks a result that the caller gets."""
    return DictionaryAttr({"lamina.kind": StringAttr("output")})


def _argument_attributes(name: str, kind: str) -> DictionaryAttr:
    return DictionaryAttr({"lamina.name": StringAttr(name), "lamina.kind": StringAttr(kind)})
