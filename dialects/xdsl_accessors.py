"""xDSL's accessors, walks and constructor of ops with the same meaning and fewer calls of Python.

A program of a network has some ten thousand ops, of which each pass asks operands, results, types
and neighbours: millions of calls, and what a call of Python costs is most of what xDSL's answers
cost. Identity is hashed and compared by Python itself, links are read by properties in C, named
operands are read where they stand, walks are one generator for each op with regions, not three for
each op. That takes an eighth off the time of lowering (docs/compile_time.md).

What is replaced is private to xDSL, so that nothing is for a version that is not known; another one
is as fast as it is. `test/dialects/test_xdsl_accessors.py` compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import xdsl
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Data,
    Operation,
    OpResult,
    ParametrizedAttribute,
    Region,
    SSAValue,
    SSAValues,
    Use,
    core,
)
from xdsl.irdl import OptionalDef, VariadicDef
from xdsl.irdl import operations as irdl

KNOWN_VERSIONS = ("0.74.0",)
"""The versions of xDSL whose accessors are those that are written anew here."""

ORIGINALS: dict[tuple[type, str], Any] = {}
"""What is replaced, by class and name."""

_LINKS: tuple[tuple[type, str, str], ...] = (
    (SSAValue, "type", "_type"),
    (OpResult, "owner", "op"),
    (BlockArgument, "owner", "block"),
    (Operation, "next_op", "_next_op"),
    (Operation, "prev_op", "_prev_op"),
    (Operation, "parent_node", "parent"),
    (Block, "parent_node", "parent"),
    (Region, "parent_node", "parent"),
    (Block, "first_op", "_first_op"),
    (Block, "last_op", "_last_op"),
    (Block, "next_block", "_next_block"),
    (Block, "args", "_args"),
    (Region, "first_block", "_first_block"),
    (Region, "last_block", "_last_block"),
    (Use, "operation", "_operation"),
    (Use, "index", "_index"),
)
"""Properties that give a field: class, property and field."""

_COMPARED_BY_IDENTITY: tuple[type, ...] = (SSAValue, Use, core._IRNode, irdl.IRDLOperation)  # pyright: ignore[reportPrivateUsage]
"""Classes whose `__eq__` is `is`, and whose `__hash__` is `id`."""

_VALUES = {OpResult, BlockArgument}

_item = tuple.__getitem__


def replace_accessors() -> bool:
    """Replaces them in this process, once; False for a version of xDSL that is not known."""
    if str(xdsl.__version__) not in KNOWN_VERSIONS:
        return False
    if ORIGINALS:
        return True
    for owner in _COMPARED_BY_IDENTITY:
        _replace(owner, "__hash__", object.__hash__)
        _replace(owner, "__eq__", object.__eq__)
    for owner, name, field in _LINKS:
        _replace(owner, name, property(attrgetter(field), doc=getattr(owner, name).__doc__))
    _replace(SSAValues, "__getitem__", _value_or_values)
    _replace(irdl.BeforeVariadicSingleAccessor, "__get__", _named)
    _replace(irdl.UniqueVariadicAccessor, "__get__", _named_list)
    _replace(core.BlockOps, "__iter__", _ops)
    _replace(core.BlockOps, "__len__", _count)
    for owner, walk in ((Operation, _from_op), (Block, _in_block), (Region, _in_region)):
        _replace(owner, "walk", _walking(walk, owner.walk))
    _replace(Block, "_attach_op", _attach)
    _replace(SSAValue, "replace_all_uses_with", _replace_all_uses_with)
    _replace(Operation, "__init__", _begin_op)
    _replace(irdl.IRDLOperation, "__init__", _build_op)
    _replace(irdl.IRDLOperation, "__post_init__", _give_defaults)
    _replace(Attribute, "__post_init__", _verify_attribute)
    return True


def _replace(owner: type, name: str, value: Any) -> None:
    ORIGINALS[owner, name] = next(vars(c)[name] for c in owner.__mro__ if name in vars(c))
    setattr(owner, name, value)


def _value_or_values(self: SSAValues[Any], idx: int | slice) -> Any:
    return SSAValues(_item(self, idx)) if type(idx) is slice else _item(self, idx)


def _named(self: Any, obj: Any, objtype: Any = None) -> Any:
    construct = self.construct
    if construct is irdl.VarIRConstruct.OPERAND:
        return _item(obj._operands, self.idx)
    if construct is irdl.VarIRConstruct.RESULT:
        return _item(obj.results, self.idx)
    if construct is irdl.VarIRConstruct.REGION:
        return obj.regions[self.idx]
    return irdl.BaseAccessor.__get__(self, obj)


def _named_list(self: Any, obj: Any, objtype: Any = None) -> Any:
    construct = self.construct
    if construct is irdl.VarIRConstruct.OPERAND:
        values = obj._operands
    elif construct is irdl.VarIRConstruct.RESULT:
        values = obj.results
    else:
        return irdl.BaseAccessor.__get__(self, obj)
    return SSAValues(_item(values, slice(self.idx, self.idx + len(values) - self.num_defs + 1)))


# Blocks and ops behind the one that is given may be changed meanwhile, that one erased: the next is
# known before.


def _ops(self: Any) -> Iterator[Operation]:
    op = self.block._first_op
    while op is not None:
        following = op._next_op
        yield op
        op = following


def _count(self: Any) -> int:
    number, op = 0, self.block._first_op
    while op is not None:
        number, op = number + 1, op._next_op
    return number


def _walking(
    forwards: Callable[[Any], Iterator[Operation]], original: Callable[..., Iterable[Operation]]
) -> Callable[..., Iterable[Operation]]:
    """The walk that has what it walks in order, and the original for other orders."""

    def walk(
        self: Any, *, reverse: bool = False, region_first: bool = False
    ) -> Iterable[Operation]:
        if reverse or region_first:
            return original(self, reverse=reverse, region_first=region_first)
        return forwards(self)

    return walk


def _from_op(op: Operation) -> Iterator[Operation]:
    yield op
    for region in op.regions:
        yield from _in_region(region)


def _in_region(region: Any) -> Iterator[Operation]:
    block = region._first_block
    while block is not None:
        following_block = block._next_block
        op = block._first_op  # as in `_in_block`, which would be one more generator to go through
        while op is not None:
            following = op._next_op
            yield op
            for inner in op.regions:
                yield from _in_region(inner)
            op = following
        block = following_block


def _in_block(block: Any) -> Iterator[Operation]:
    op = block._first_op
    while op is not None:
        following = op._next_op
        yield op
        for inner in op.regions:
            yield from _in_region(inner)
        op = following


def _attach(self: Block, operation: Operation) -> None:
    if operation.parent is not None:
        raise ValueError("Can't add to a block an operation already attached to a block.")
    if operation.regions and operation.is_ancestor(self):
        raise ValueError("Can't add an operation to a block contained in the operation.")
    operation.parent = self


def _replace_all_uses_with(self: Any, value: Any) -> None:
    """Replace the value by another value in all its uses."""
    if value is self:
        return
    for use in [*self.uses]:
        op, index = use._operation, use._index
        operands = op._operands
        self.remove_use(use)
        value.add_use(use)
        op._operands = SSAValues((*operands[:index], value, *operands[index + 1 :]))
    if value._name is None and self._name is not None:
        value.name_hint = self._name  # not as it is: xDSL leaves out a number at its end
    assert self.first_use is None, "unexpected error in xdsl"


def _begin_op(
    self: Any,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: Any = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    values = SSAValues(operands)
    uses = tuple([Use(self, number) for number in range(len(values))])
    for value, use in zip(values, uses, strict=True):
        value.add_use(use)
    self._operands, self._operand_uses = values, uses
    self.results = SSAValues([OpResult(kind, self, n) for n, kind in enumerate(result_types)])
    self.properties, self.attributes = dict(properties), dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    if successors:
        self.successors = successors
    self.regions = ()
    for region in regions:
        self.add_region(region)
    self.__post_init__()


def _build_op(self: Any, **given: Any) -> None:
    """Sorts out what is given, but for ops that have all of it in order, as most do."""
    operands, kinds = given.get("operands") or (), given.get("result_types") or ()
    counts = _plain_counts(type(self))
    if (
        counts != (len(operands), len(kinds))
        or given.get("regions")
        or given.get("successors")
        or not set(map(type, operands)) <= _VALUES
        or not all(map(_is_one_type, map(type, kinds)))
    ):
        ORIGINALS[irdl.IRDLOperation, "__init__"](self, **given)
        return
    properties, attributes = given.get("properties") or {}, given.get("attributes") or {}
    Operation.__init__(
        self,
        operands=operands,
        result_types=kinds,
        properties={n: a for n, a in properties.items() if a is not None},
        attributes={n: a for n, a in attributes.items() if a is not None},
    )


@cache
def _plain_counts(kind: Any) -> tuple[int, int] | None:
    """How many operands and results ops of a class have; None if there may be more or fewer."""
    definition = kind.get_irdl_definition()
    named = (*definition.operands, *definition.results)
    is_sized = any(
        isinstance(o, irdl.AttrSizedSegments | irdl.SameVariadicSize) for o in definition.options
    )
    if is_sized or definition.regions or definition.successors:
        return None
    if any(isinstance(one, VariadicDef) for _, one in named):
        return None
    return len(definition.operands), len(definition.results)


@cache
def _is_one_type(kind: type) -> bool:
    return issubclass(kind, Attribute) and not issubclass(kind, Sequence)


def _give_defaults(self: Any) -> None:
    for name, value in _defaults(type(self), "properties"):
        self.properties.setdefault(name, value)
    for name, value in _defaults(type(self), "attributes"):
        self.attributes.setdefault(name, value)
    Operation.__post_init__(self)  # which xDSL's builders replace: they put the op somewhere


@cache
def _defaults(kind: Any, group: str) -> tuple[tuple[str, Attribute], ...]:
    """The properties or attributes that an op of a class has where it is given none."""
    assert isinstance(kind.name, str) and kind.name
    definitions = getattr(kind.get_irdl_definition(), group)
    return tuple(
        (name, definition.default_value)
        for name, definition in definitions.items()
        if not isinstance(definition, OptionalDef) and definition.default_value is not None
    )


def _verify_attribute(self: Any) -> None:
    self._verify()
    if not _is_kind_of_attribute(type(self)):
        raise TypeError("Attributes should only be Data or ParametrizedAttribute")


@cache
def _is_kind_of_attribute(kind: type) -> bool:
    return issubclass(kind, Data | ParametrizedAttribute)
