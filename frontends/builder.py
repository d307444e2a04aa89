"""A small builder of `aten` programs in Python, for tests, tools and embedding compilers.

program = ProgramBuilder()
x = program.input("x", (2, 3))
w = program.parameter("w", (4, 3))
y = program.op("linear.default", x, w)
program.output(program.op("relu.default", y))
compiled = lamina.compile(program.module(), constants={"w": weights})
"""

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from lamina.dialects import aten


class ProgramBuilder:
    """Builds one function, `main`, op by op; the result types come from the ops' own rules."""

    def __init__(self) -> None:
        self._block = Block()
        self._arguments: list[DictionaryAttr] = []
        self._outputs: list[SSAValue] = []

    def input(
        self, name: str, shape: Sequence[int | None], element_type: Attribute = f32
    ) -> SSAValue:
        """A tensor that is passed in each call; None is a dynamic size."""
        return self._argument(name, "input", shape, element_type)

    def parameter(
        self, name: str, shape: Sequence[int | None], element_type: Attribute = f32
    ) -> SSAValue:
        """A tensor that is bound when the program is compiled."""
        return self._argument(name, "parameter", shape, element_type)

    def op(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Appends `aten.<name>` ("add.Tensor"); its result, or a tuple of them if it has several.

        Arguments are SSA values, lists of them, and Python constants, by position or by the
        schema's names. Raises InputError for unknown ops and arguments that do not fit.
        """
        op_class: Any = aten.op(name)
        made = op_class(*args, **kwargs)
        self._block.add_op(made)
        return made.results[0] if len(made.results) == 1 else tuple(made.results)

    def output(self, *values: SSAValue) -> None:
        """Adds results of the function, in order."""
        self._outputs.extend(values)

    def module(self) -> ModuleOp:
        """The finished, verified module; the builder is spent."""
        self._block.add_op(ReturnOp(*self._outputs))
        function = FuncOp(
            "main",
            FunctionType.from_lists(self._block.arg_types, [v.type for v in self._outputs]),
            Region(self._block),
            arg_attrs=ArrayAttr(self._arguments),
            res_attrs=ArrayAttr(
                [DictionaryAttr({"lamina.kind": StringAttr("output")}) for _ in self._outputs]
            ),
        )
        module = ModuleOp([function])
        module.verify()
        return module

    def _argument(
        self, name: str, kind: str, shape: Sequence[int | None], element_type: Attribute
    ) -> SSAValue:
        sizes = [DYNAMIC_INDEX if size is None else size for size in shape]
        value = self._block.insert_arg(TensorType(element_type, sizes), len(self._block.args))
        value.name_hint = name
        self._arguments.append(
            DictionaryAttr({"lamina.name": StringAttr(name), "lamina.kind": StringAttr(kind)})
        )
        return value
