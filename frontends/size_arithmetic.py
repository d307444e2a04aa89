"""Numbers that a torch.fx graph computes beside its tensors: sizes, relations of sizes, checks."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f64, i1, i64
from xdsl.ir import Operation, SSAValue

from lamina.frontends.open_sizes import range_of

Number = SSAValue | int | float | bool
"""A number known at run time, or a constant."""

_ARITHMETIC: dict[object, Callable[[SSAValue, SSAValue], Operation]] = {
    operator.add: arith.AddiOp,
    operator.sub: arith.SubiOp,
    operator.mul: arith.MuliOp,
    operator.floordiv: arith.FloorDivSIOp,
    torch.sym_max: arith.MaxSIOp,
    torch.sym_min: arith.MinSIOp,
}
"""Arithmetic of two integers."""

_RELATIONS: dict[object, str] = {
    operator.eq: "eq",
    operator.ne: "ne",
    operator.lt: "slt",
    operator.le: "sle",
    operator.gt: "sgt",
    operator.ge: "sge",
}
"""Relations of two integers, by their names in `arith.cmpi`."""

_CONNECTIVES: dict[object, Callable[[SSAValue, SSAValue], Operation]] = {
    operator.and_: arith.AndIOp,
    operator.or_: arith.OrIOp,
}
"""Logic of two booleans."""

_FOLDS: dict[object, Callable[[Any, Any], Any]] = {torch.sym_max: max, torch.sym_min: min}
"""What a function is for constants where it is not itself."""

_NOT = torch.sym_not
_NEGATIVE = operator.neg
_POWER = operator.pow
"""Of an integer by a constant that is positive."""
_CHOICE = torch.sym_ite
"""Of a boolean and two integers."""

_QUERIES = ("sym_size", "sym_numel", "sym_stride", "sym_storage_offset", "item")
"""Packets whose results are numbers, and which nothing else observes."""

_NEVER_NEGATIVE = ("sym_size", "sym_numel", "sym_stride", "sym_storage_offset")

_MOST_POWER = 8
"""Equal factors that a size has at most, each a multiplication: a guess, nothing was measured."""

_SUM = torch.sym_sum
"""Of a list of integers."""

_REMAINDER = operator.mod
"""Of a division that rounds down, as Python has it."""

SIZE_FUNCTIONS = frozenset(
    [*_ARITHMETIC, *_RELATIONS, *_CONNECTIVES, _NEGATIVE, _POWER, _NOT, _CHOICE, _REMAINDER, _SUM]
)
"""Functions on numbers that can be imported."""


def size_operation(
    function: object, arguments: Sequence[Number], insert: Callable[[Operation], object]
) -> Number | None:
    """The value of one of `SIZE_FUNCTIONS`; its ops go through `insert`.

    None where it has no integer or boolean arithmetic, as for floats.
    """
    if function is _SUM:
        return _sum(arguments[0], insert)  # pyright: ignore[reportArgumentType]
    if function is _NEGATIVE:
        return size_operation(operator.sub, [0, *arguments], insert)
    if function is _POWER:
        return _power(arguments[0], arguments[1], insert)
    if not any(isinstance(value, SSAValue) for value in arguments):
        return _FOLDS.get(function, function)(*arguments)  # pyright: ignore
    wanted = [i1 if function in _CONNECTIVES or function is _NOT else i64] * len(arguments)
    if function is _CHOICE:
        wanted[0] = i1
    values = [_value(argument, insert) for argument in arguments]
    if [None if value is None else value.type for value in values] != wanted:
        return None
    made = _made(function, values, insert)
    insert(made)
    return made.results[0]


def _sum(numbers: Sequence[Number], insert: Callable[[Operation], object]) -> Number | None:
    found: Number | None = 0
    for number in numbers:
        if found is not None:
            found = size_operation(operator.add, [found, number], insert)
    return found


def _power(
    number: Number, exponent: Number, insert: Callable[[Operation], object]
) -> Number | None:
    if not isinstance(exponent, int) or not 1 <= exponent <= _MOST_POWER:
        return None
    found: Number | None = number
    for _ in range(exponent - 1):
        if found is not None:
            found = size_operation(operator.mul, [found, number], insert)
    return found


def _made(function: object, values: list[Any], insert: Callable[[Operation], object]) -> Operation:
    if function is _NOT:
        return arith.XOrIOp(values[0], _value(True, insert))  # pyright: ignore
    if function is _CHOICE:
        return arith.SelectOp(*values)
    if function is _REMAINDER:
        whole = arith.FloorDivSIOp(*values)
        insert(whole)
        multiple = arith.MuliOp(whole.result, values[1])
        insert(multiple)
        return arith.SubiOp(values[0], multiple.result)
    if function in _RELATIONS:
        return arith.CmpiOp(values[0], values[1], _RELATIONS[function])
    return (_ARITHMETIC.get(function) or _CONNECTIVES[function])(values[0], values[1])


def _value(number: Any, insert: Callable[[Operation], object]) -> SSAValue | None:
    if isinstance(number, SSAValue):
        return number
    if isinstance(number, bool):
        constant = arith.ConstantOp(IntegerAttr(int(number), i1))
    elif isinstance(number, int):
        constant = arith.ConstantOp(IntegerAttr(number, i64))
    elif isinstance(number, float):
        constant = arith.ConstantOp(FloatAttr(number, f64))
    else:
        return None
    insert(constant)
    return constant.result


def size_limits(example: object) -> list[int] | None:
    """What each size of a tensor, or a number, is at most as torch knows it; -1 where it does not.

    None if it knows of none.
    """
    sizes = example.shape if isinstance(example, torch.Tensor) else [example]
    limits = [_upper(size) if isinstance(size, torch.SymInt) else -1 for size in sizes]
    return limits if any(limit >= 0 for limit in limits) else None


def _upper(size: torch.SymInt) -> int:
    most = range_of(size.node.expr, size.node).most
    return -1 if most is None else most


def idle_nodes(graph: fx.Graph) -> set[fx.Node]:
    """Nodes that need no import: checks that always hold, and numbers and answers not read.

    torch.export states of each size that depends on data that it is not negative.
    """
    idle: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.op != "call_function":
            continue
        if _is_check(node):
            if _always_holds(node.args[0]):
                idle.add(node)
        elif (_is_number(node) or _is_answer(node)) and all(user in idle for user in node.users):
            idle.add(node)
    return idle


def _packet(node: fx.Node) -> str:
    return str(getattr(node.target, "_opname", ""))


def _is_check(node: fx.Node) -> bool:
    return _packet(node) == "_assert_scalar"


def _is_number(node: fx.Node) -> bool:
    return node.target in SIZE_FUNCTIONS or _packet(node) in _QUERIES


def _is_answer(node: fx.Node) -> bool:
    """Whether a node asks about types and shapes, as `result_type` does: export knew the answer."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or schema.is_mutable or node.meta.get("val") is not None:
        return False
    kinds = [str(result.type) for result in schema.returns]
    # A schema prints a dtype as the number that stands for it.
    return bool(kinds) and all(kind in ("bool", "int") for kind in kinds)


def _always_holds(condition: object) -> bool:
    if not isinstance(condition, fx.Node):
        return condition is True
    if condition.target not in (operator.ge, operator.le):
        return False
    size, limit = condition.args
    if not isinstance(size, fx.Node) or not isinstance(limit, int):
        return False
    if condition.target is operator.ge:
        return _packet(size) in _NEVER_NEGATIVE and limit <= 0
    return _packet(size) == "sym_size" and _is_bound_of_self(size.args[0], limit)


def _is_bound_of_self(node: object, limit: int) -> bool:
    """Torch bounds `masked_select` by its first operand alone, which a larger mask exceeds."""
    if not isinstance(node, fx.Node) or _packet(node) != "masked_select":
        return False
    selected = node.args[0]
    value = selected.meta.get("val") if isinstance(selected, fx.Node) else None
    return isinstance(value, torch.Tensor) and value.numel() == limit
