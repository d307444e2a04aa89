"""`functionalize`: no op mutates or aliases; what the program mutated becomes extra results.

One walk in program order. Every tensor value is an *alias*: a storage and the chain of view ops
that leads from the storage's whole tensor to it. An in-place op becomes its functional form; the
new value is written back through the chain, and later reads of other aliases of that storage replay
their chains on the new whole tensor. Where torch decides at run time whether an op copies (reshape
of a tensor that may not be contiguous), the two tensors are marked, and reading one after the
other was written is refused: the result would depend on strides.

Function arguments are contiguous: the caller sees to that.
"""

from __future__ import annotations

from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from lamina.dialects import aten
from lamina.dialects.control import RegionOp
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.stages import stages_of
from lamina.passes.functionalize.aliases import Alias, Storage, is_contiguous_result
from lamina.passes.functionalize.aliasing import Aliasing, aliasing_of
from lamina.passes.functionalize.foreach_writes import elements_in_turn
from lamina.passes.functionalize.functional_forms import (
    functional_value,
    functional_values,
    view_of_change,
    writes_one,
    written_arguments,
    written_values,
)
from lamina.passes.functionalize.metadata_changes import (
    changes_nothing,
    is_metadata_change,
    refuse_resizing,
)
from lamina.passes.functionalize.overlaps import refuse_overlaps
from lamina.passes.functionalize.view_chains import inserted
from lamina.passes.refusal import unsupported

IDENTITIES = frozenset(
    {"detach.default", "detach_.default", "alias.default", "lift.default", "positive.default"}
)
"""Ops that are their operand, as a value and as an alias."""

COPIES = frozenset({"lift_fresh_copy.default", "lift_fresh.default"})
"""Ops that are their operand as a value, but an alias of their own."""

DROPPED = frozenset(
    {
        "_assert_tensor_metadata.default",
        "sym_constrain_range.default",
        "sym_constrain_range_for_size.default",
    }
)
"""Ops that only state what the types already say."""


class FunctionalizePass(ModulePass):
    """Replace mutation by values and by results with `lamina.kind = "mutation"`."""

    name = "functionalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if stages_of(op):
            return  # stages write nothing, as verify-aten has seen
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                functionalize(function)


def functionalize(function: FuncOp) -> None:
    """Functionalize one function of a single block, in place."""
    blocks = list(function.body.blocks)
    if len(blocks) != 1:
        raise unsupported(function, "functionalize needs a body of one block")
    _Walk(function, blocks[0]).run()


def storages_in(function: FuncOp) -> dict[SSAValue, Storage]:
    """The memory behind each tensor of a function, which is functionalized."""
    walk = _Walk(function, function.body.block)
    walk.run()
    return {value: alias.storage for value, alias in walk.aliases.items()}


def _functionalize_region(op: RegionOp, block: Block) -> None:
    """Functionalize one region, whose operands are values that it may not write."""
    walk = _Walk(None, block)
    walk.run()
    for storage in walk.storages:
        if storage.argument is not None and storage.version:
            raise unsupported(
                op,
                "a region writes a tensor that it takes from outside",
                "the written value as a result, copied after the op",
            )


class _Walk:
    """Keys of `aliases` are values of the program as written; operands change when reached."""

    def __init__(self, function: FuncOp | None, block: Block) -> None:
        self.function = function
        self.block = block
        self.aliases: dict[SSAValue, Alias] = {}
        self.storages: list[Storage] = []
        self.replaced: list[Operation] = []

    def run(self) -> None:
        for argument in self.block.args:
            if isinstance(argument.type, TensorType):
                self.aliases[argument] = self._fresh(argument, contiguous=True, argument=argument)
        op = self.block.first_op
        while op is not None:
            following = op.next_op
            self._visit(op)
            op = following
        for op in reversed(self.replaced):
            op.detach()
            op.erase()

    def _fresh(self, value: SSAValue, contiguous: bool, argument: SSAValue | None = None) -> Alias:
        storage = Storage(value, argument, contiguous)
        self.storages.append(storage)
        return Alias(storage, (), value, 0, contiguous)

    def _visit(self, op: Operation) -> None:
        if isinstance(op, RegionOp):
            for block in op.blocks:
                _functionalize_region(op, block)
        elif isinstance(op, CallOp):
            raise unsupported(op, "functionalize does not look into calls", "inline-calls first")
        elif op.regions and not is_side_effect_free(op):
            raise unsupported(op, "functionalize does not look into regions of this op")
        name = op.name.removeprefix("aten.")
        if name in DROPPED:
            self.replaced.append(op)
        elif name in IDENTITIES:
            self._denotes(op, self.aliases[op.operands[0]])
        elif name in COPIES:
            source = self.aliases[op.operands[0]]
            self._denotes(op, self._fresh(source.read(op), source.contiguous))
        elif name == "broadcast_tensors.default" and all(map(_is_static, op.results)):
            self._expand(op)
        elif self._depends_on_strides(op):
            self._restride(op)
        elif written := written_arguments(op):
            self._mutate(op, written)
        else:
            self._keep(op)

    def _denotes(self, op: Operation, alias: Alias) -> None:
        """`op` goes away; its results are that alias."""
        for result in op.results:
            self.aliases[result] = alias
        self.replaced.append(op)

    def _expand(self, op: Operation) -> None:
        """Each result is an operand, expanded: a view, also where the shape stays."""
        expand: Any = aten.op("expand.default")
        for operand, result in zip(op.operands, op.results, strict=True):
            assert isinstance(result.type, TensorType)
            view = inserted(expand(operand, list(result.type.get_shape())), op)
            self._keep(view)
            self.aliases[result] = self.aliases[view.results[0]]
        self.replaced.append(op)

    def _read_operands(self, op: Operation) -> None:
        """Each operand becomes the current value of its alias."""
        for index, operand in enumerate(op.operands):
            alias = self.aliases.get(operand)
            if alias is not None:
                value = alias.read(op)
                if value is not operand:
                    op.operands[index] = value

    def _keep(self, op: Operation) -> None:
        """The op stays; its results are storages of their own, or views of an operand's."""
        found = [aliasing_of(op, index, self.aliases) for index in range(len(op.results))]
        contiguous = is_contiguous_result(op, self.aliases)
        self._read_operands(op)
        for index, (kind, operand) in enumerate(found):
            result = op.results[index]
            if not isinstance(result.type, TensorType):
                continue
            if kind is Aliasing.VIEW and operand is not None:
                self.aliases[result] = self.aliases[operand].viewed(op, index)
                continue
            self.aliases[result] = self._fresh(result, contiguous and kind is Aliasing.NONE)
            if kind is Aliasing.MAYBE and operand is not None:
                self.aliases[result].storage.may_share_with(self.aliases[operand].storage)
        if op.name == ReturnOp.name and self.function is not None:
            self._return_mutations(op, self.function)

    def _depends_on_strides(self, op: Operation) -> bool:
        """`as_strided` and its like, of anything but a contiguous tensor."""
        if not op.name.startswith("aten.as_strided"):
            return False
        alias = self.aliases.get(op.operands[0])
        return alias is not None and not alias.contiguous

    def _restride(self, op: Operation) -> None:
        assert isinstance(op, SchemaOp)
        if op.name != "aten.as_strided.default":
            raise unsupported(
                op,
                "depends on the strides of a tensor that may not be contiguous",
                "aten.as_strided.default",
            )
        self._denotes(op, self.aliases[op.operands[0]].strided(op))

    def _mutate(self, op: Operation, written: list[str]) -> None:
        assert isinstance(op, SchemaOp)
        if is_metadata_change(op):
            self._change_metadata(op, self.aliases[op.arg(written[0])])
            return
        if turns := elements_in_turn(op, written, self.aliases):
            for element in turns:
                self._mutate(element, written)
            self.replaced.append(op)
            return
        refuse_overlaps(op, written, self.aliases)
        if not writes_one(op, written):
            self._mutate_several(op, written)
            return
        alias = self.aliases[op.arg(written[0])]
        self._read_operands(op)
        alias.write(functional_value(op, written[0]), op)
        self._denotes(op, alias)

    def _mutate_several(self, op: SchemaOp, written: list[str]) -> None:
        """Values are all computed before the first tensor is written, as torch's kernels do."""
        aliases = [self.aliases[target] for target in written_values(op, written)]
        self._read_operands(op)
        news, results = functional_values(op, written)
        for alias, value in zip(aliases, news, strict=True):
            alias.write(value, op)
        for result, value in zip(op.results, results, strict=True):
            alias = aliases[value] if isinstance(value, int) else self._fresh(value, False)
            self.aliases[result] = alias
        self.replaced.append(op)

    def _change_metadata(self, op: SchemaOp, alias: Alias) -> None:
        """`transpose_` and its like: from now on the tensor object is another view."""
        if changes_nothing(op):
            self._denotes(op, alias)
            return
        refuse_resizing(op)
        self._read_operands(op)
        change = view_of_change(op)
        if alias.storage.argument is not None and not alias.chain:
            raise unsupported(op, "changes the shape of a function argument in place")
        viewed = alias.viewed(change, 0)
        alias.retired = f"its shape was changed in place by {op.name}"
        self._denotes(op, viewed)

    def _return_mutations(self, op: Operation, function: FuncOp) -> None:
        """Arguments that were written come back as results of kind `mutation`."""
        for storage in self.storages:
            if storage.argument is None or storage.version == 0:
                continue
            index = list(self.block.args).index(storage.argument)  # pyright: ignore
            op.operands = (*op.operands, storage.value)
            _add_result(function, storage.value, arguments_of(function)[index].name)


def _add_result(function: FuncOp, value: SSAValue, target: str) -> None:
    inputs = function.function_type.inputs.data
    outputs = function.function_type.outputs.data
    attributes = function.res_attrs
    old = attributes.data if attributes is not None else [DictionaryAttr({})] * len(outputs)
    mutation = {"lamina.kind": StringAttr("mutation"), "lamina.target": StringAttr(target)}
    function.function_type = FunctionType.from_lists(inputs, [*outputs, value.type])
    function.properties["res_attrs"] = ArrayAttr([*old, DictionaryAttr(mutation)])


def _is_static(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and value.type.has_static_shape()
