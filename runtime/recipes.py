"""The recipes of prepared constants, read off a program at `fused`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from lamina.dialects.attribute_texts import text_of
from lamina.passes.contracts.declared import arguments_of, results_of
from lamina.runtime.entry import function_named
from lamina.runtime.shared_constants import Recipe


def recipes_of(module: ModuleOp) -> dict[str, Recipe]:
    """The recipe of each result of `@setup`, by name; the module stands at `fused`."""
    setup = function_named(module, "setup")
    if setup is None or len(setup.body.blocks) != 1 or any(op.regions for op in setup.body.ops):
        return {}
    block = setup.body.block
    names: dict[SSAValue, str] = {}
    names.update(zip(block.args, (given.name for given in arguments_of(setup)), strict=True))
    end = block.last_op
    assert end is not None
    made = zip(results_of(setup), end.operands, strict=True)
    texts = cache(lambda name: _kernel_text(module, name))  # layers share kernels
    return {result.name: _Reading(texts, names).recipe(value) for result, value in made}


class _Reading:
    """Follows one value back to the constants that it is made of."""

    def __init__(self, texts: Callable[[str], str], names: Mapping[SSAValue, str]) -> None:
        self._texts, self._names = texts, names
        self._constants: dict[str, int] = {}
        self._known: dict[Operation, str] = {}

    def recipe(self, value: SSAValue) -> Recipe:
        """What makes the value, and which arguments of the setup it takes for it."""
        text = self._text(value)
        return Recipe(_digest(text), tuple(self._constants))

    def _text(self, value: SSAValue) -> str:
        name = self._names.get(value)
        if name is not None:
            return (
                f"{self._constants.setdefault(name, len(self._constants))}: {text_of(value.type)}"
            )
        assert isinstance(value, OpResult)
        owner = value.op
        if owner not in self._known:
            operands = [self._text(operand) for operand in owner.operands]
            self._known[owner] = _digest("\n".join([self._op_text(owner), *operands]))
        return f"{self._known[owner]}#{value.index}"

    def _op_text(self, op: Operation) -> str:
        """An op without its operands; a kernel in the place of its call."""
        if isinstance(op, func.CallOp):
            return self._texts(op.callee.root_reference.data)
        kinds = [text_of(result.type) for result in op.results]
        noted = [f"{n} = {a}" for n, a in sorted({**op.attributes, **op.properties}.items())]
        return "\n".join([op.name, *kinds, *noted])


def _kernel_text(module: ModuleOp, name: str) -> str:
    """The digest of a kernel without what it and its values are called.

    Printing takes ten times as long: it asks of each name whether it is free, and says each type
    anew.
    """
    kernel = function_named(module, name)
    assert kernel is not None
    text = _Text()
    text.lines.append(text_of(kernel.function_type))
    for block in kernel.body.blocks:
        text.lines.append(text.typed(block.args))
        text.say_ops(block)
    return _digest("\n".join(text.lines))


class _Text:
    """Lines that say ops, with values by the order in which they are seen."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[SSAValue, int] = {}

    def say_ops(self, block: Block) -> None:
        """The ops of a block, with those in their regions."""
        for op in block.ops:
            self._say(op)

    def typed(self, values: Sequence[SSAValue]) -> str:
        """Values with their types."""
        return ", ".join([f"{self._number(value)}: {text_of(value.type)}" for value in values])

    def _say(self, op: Operation) -> None:
        operands = ", ".join(map(self._number, op.operands))
        properties = [f"{n} = {text_of(a)}" for n, a in sorted(op.properties.items())]
        noted = [f"{n} = {text_of(a)}" for n, a in sorted(op.attributes.items())]
        results = self.typed(op.results)
        self.lines.append(f"{op.name}({operands}) -> ({results}) <{properties}> {noted}")
        for region in op.regions:
            self.lines.append("{")
            for block in region.blocks:
                self.lines.append(f"^({self.typed(block.args)})")
                self.say_ops(block)
            self.lines.append("}")

    def _number(self, value: SSAValue) -> str:
        return f"%{self._numbers.setdefault(value, len(self._numbers))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
