"""A function in two parts, one that runs first and one whose sizes are known then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from lamina.dialects.records import mutable_record
from lamina.lowering.stages.explicit_sizes import with_explicit_size
from lamina.lowering.stages.size_names import SizeNames, equal_sizes
from lamina.lowering.stages.size_operands import is_size_query
from lamina.passes.contracts.argument_sizes import DIMS
from lamina.passes.contracts.declared import Declared, arguments_of


@mutable_record
class Cut:
    """A function in two parts.

    `first` takes the arguments `taken` of the function and gives the values `handed`; the arguments
    of `rest` stand for `given`: arguments of the function, and what is handed.
    """

    first: FuncOp
    rest: FuncOp
    taken: list[BlockArgument]
    handed: list[SSAValue]
    given: list[SSAValue]


def cut(function: FuncOp, at: Operation, names: SizeNames) -> Cut | None:
    """The function up to an op of its block, and from it on; it may be changed, and stays equal.

    None where the first part would compute nothing. Raises InputError where sizes that must be
    equal are not known to be.
    """
    at = with_explicit_size(at, names)
    block = function.body.block
    ops = list(block.ops)
    place = ops.index(at)
    crossing = _Crossing(set(ops[place:]))
    handed = crossing.handed
    if not handed and not any(_acts(op) for op in ops[:place]):
        return None
    first, taken = _first(function, ops[:place], handed)
    arguments = [a for a in block.args if a in crossing.arguments]
    given = [*arguments, *handed]
    rest = _rest(function, [*crossing.repeated(ops[:place]), *ops[place:]], given)
    declared = {block.args[one.number]: one for one in arguments_of(function)}
    said = names.of_values(function, first, handed)
    said = names.told([declared[argument] for argument in arguments], said)
    entries = [_entries_of(declared[a], names) for a in arguments]
    titles = _titles(handed, {one.name for one in declared.values()})
    for title, sizes in zip(titles, said, strict=True):
        held = {"lamina.kind": StringAttr("input"), "lamina.name": StringAttr(title)}
        entries.append(DictionaryAttr(held | ({DIMS: sizes} if sizes is not None else {})))
    rest.properties["arg_attrs"] = ArrayAttr(entries)
    equal_sizes(rest, names)
    return Cut(first, rest, taken, handed, given)


def _acts(op: Operation) -> bool:
    return not op.name.startswith("arith.") and not is_size_query(op)


@mutable_record
class _Crossing:
    """What ops take that stands in front of them."""

    ops: set[Operation]
    arguments: set[BlockArgument] = field(default_factory=set[BlockArgument])
    _handed: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    _repeated: set[Operation] = field(default_factory=set[Operation])

    def __post_init__(self) -> None:
        needed = [operand for op in self.ops for operand in op.operands]
        needed = [value for value in needed if value.owner not in self.ops]
        for value in needed:  # tensors first: sizes of those are asked again
            if isinstance(value, BlockArgument):
                self.arguments.add(value)
            elif isinstance(value.type, TensorType):
                self._handed[value] = None
        for value in needed:
            self._need(value)

    def _need(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(value, BlockArgument):
            self.arguments.add(value)
        elif not isinstance(owner, Operation) or DIMS in owner.attributes:
            self._handed[value] = None
        elif owner.name.startswith("arith.") or (
            is_size_query(owner)
            and (owner.operands[0] in self._handed or isinstance(owner.operands[0], BlockArgument))
        ):
            if owner not in self._repeated:
                self._repeated.add(owner)
                for operand in owner.operands:
                    self._need(operand)
        else:
            self._handed[value] = None

    @property
    def handed(self) -> list[SSAValue]:
        """Values, in the order in which they are made."""
        order: dict[SSAValue, int] = {}
        owners = {value.owner for value in self._handed}
        some = next((o for o in owners if isinstance(o, Operation)), None)
        if some is not None and some.parent is not None:
            results = (result for op in some.parent.ops for result in op.results)
            order = {result: number for number, result in enumerate(results)}
        return sorted(self._handed, key=lambda value: order[value])

    def repeated(self, ops: Iterable[Operation]) -> list[Operation]:
        """Arithmetic of sizes that is done again, in order."""
        return [op for op in ops if op in self._repeated]


def _first(
    function: FuncOp, ops: Sequence[Operation], handed: Sequence[SSAValue]
) -> tuple[FuncOp, list[BlockArgument]]:
    used = {operand for op in ops for operand in op.operands}
    taken = [argument for argument in function.body.block.args if argument in used]
    block = Block(arg_types=[argument.type for argument in taken])
    mapping = _arguments(block, taken)
    _copy(ops, block, mapping)
    _add(block, ReturnOp(*[mapping[value] for value in handed]), function)
    for op in reversed(list(block.ops)):
        if not _acts(op) and op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    declared = arguments_of(function)
    made = _function(function, block, [value.type for value in handed])
    names = SizeNames.of(function)
    entries = [_entries_of(declared[argument.index], names) for argument in taken]
    made.properties["arg_attrs"] = ArrayAttr(entries)
    return made, taken


def _rest(function: FuncOp, ops: Sequence[Operation], given: Sequence[SSAValue]) -> FuncOp:
    block = Block(arg_types=[value.type for value in given])
    mapping = _arguments(block, given)
    _copy(ops, block, mapping)
    results = [value.type for value in ops[-1].operands]
    return _function(function, block, results)


def _arguments(block: Block, values: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
    for argument, value in zip(block.args, values, strict=True):
        argument.name_hint = value.name_hint
    return dict(zip(values, block.args, strict=True))


def _copy(ops: Iterable[Operation], block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
    for op in ops:
        block.add_op(op.clone(mapping))


def _add(block: Block, op: Operation, like: Operation) -> None:
    op.location = like.location
    block.add_op(op)


def _function(like: FuncOp, block: Block, results: Sequence[object]) -> FuncOp:
    kind = FunctionType.from_lists([a.type for a in block.args], list(results))  # pyright: ignore
    made = FuncOp(like.sym_name.data, kind, Region([block]))
    made.location = like.location
    return made


def _entries_of(declared: Declared, names: SizeNames) -> DictionaryAttr:
    """What is said of an argument, its name and all its sizes with their ranges."""
    entries = dict(declared.entries)
    entries["lamina.kind"] = StringAttr(declared.kind)
    entries["lamina.name"] = StringAttr(declared.name)
    sizes = names.said_of(declared)
    return DictionaryAttr(entries | ({DIMS: sizes} if sizes is not None else {}))


def _titles(values: Sequence[SSAValue], taken: set[str]) -> list[str]:
    """Names of what is handed on: those of the ops that make it. Places would be in cache keys."""
    found: list[str] = []
    for value in values:
        owner = value.owner
        assert isinstance(owner, Operation)
        title, count = owner.name, 1
        while title in taken:
            count += 1
            title = f"{owner.name} ({count})"
        taken.add(title)
        found.append(title)
    return found
