"""Ops that exist and may be meant by a name that none has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from xdsl.context import Context
from xdsl.ir import Dialect


def op_names(dialect: Dialect) -> list[str]:
    """Full names of all ops of a dialect; makes no op classes for the table dialects."""
    rows: Iterable[str] | None = getattr(dialect, "names", None)
    if rows is not None:
        return [f"{dialect.name}.{row}" for row in rows]
    return [operation.name for operation in dialect.operations]


_SAME_OPS = ("aten", "core_aten", "prims")
"""Dialects in which an op of one name means the same, layer by layer."""

_RELATED = (*_SAME_OPS, "loop", "control", "func", "arith", "math", "scf", "memref", "vector", "cf")
"""Dialects that programs are made of. Others of xDSL can be read, but are no help to anybody."""


def nearest_ops(ctx: Context, name: str, count: int = 3) -> list[str]:
    """Up to `count` ops that exist and may be meant by `name`, which is none; best first.

    They are of the dialect that `name` says, or have the same name in a dialect of programs.
    """
    dialect_name, dot, rest = name.partition(".")
    if not dot:
        return _of_that_name(ctx, name)[:count]
    if dialect_name not in set(ctx.registered_dialect_names):
        inner = rest.partition(".")[0]
        if inner in _SAME_OPS:  # as torch.aten.relu
            return nearest_ops(ctx, rest, count)
        return _of_that_name(ctx, rest)[:count]
    layers = _SAME_OPS if dialect_name in _SAME_OPS else ()
    same = _of_that_name(ctx, rest, sorted(layers, key=lambda d: d != dialect_name), exact=True)
    own = [op.partition(".")[2] for op in _names_of(ctx, dialect_name)]
    near = [f"{dialect_name}.{found}" for found in nearest(rest, own, count)]
    return list(dict.fromkeys([*same[:1], *near, *same[1:]]))[:count]


def _names_of(ctx: Context, dialect_name: str) -> list[str]:
    dialect = ctx.get_optional_dialect(dialect_name)
    return [] if dialect is None else op_names(dialect)


def _of_that_name(
    ctx: Context, rest: str, dialects: Iterable[str] = _RELATED, *, exact: bool = False
) -> list[str]:
    """Ops that are called `rest`, or some overload of it; without `exact` names like it."""
    packet = rest.partition(".")[0].lower()
    names = [name for dialect in dialects for name in _names_of(ctx, dialect)]
    by_packet: dict[str, list[str]] = {}
    for name in names:
        by_packet.setdefault(name.split(".")[1], []).append(name)
    if packet not in by_packet:
        near = () if exact else get_close_matches(packet, by_packet, n=1, cutoff=0.75)
        return [name for found in near for name in _best_overloads(by_packet[found], rest)]
    return _best_overloads(by_packet[packet], rest)


_USUAL = ("default", "Tensor", "int", "Scalar")
"""Overloads that programs call, in the order in which they are likely meant."""


def _best_overloads(names: Sequence[str], rest: str) -> list[str]:
    """The likeliest overload for each dialect."""
    best: dict[str, str] = {name.partition(".")[0]: "" for name in names}
    order = (rest.partition(".")[2], *_USUAL)

    def rank(name: str) -> int:
        overload = name.split(".", 2)[2:]
        return order.index(overload[0]) if overload and overload[0] in order else len(order)

    for name in sorted(names, key=rank, reverse=True):
        best[name.partition(".")[0]] = name
    return list(best.values())


def nearest(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Up to `count` candidates that begin with `name` as a word, or look like it; best first.

    What is no text is near to none.
    """
    if not isinstance(name, str):
        return []
    names = list(candidates)
    by_lower = {n.lower(): n for n in names}
    if name not in names and name.lower() in by_lower:
        return [by_lower[name.lower()]]
    longer = sorted((n for n in names if n.startswith(name + ".")), key=lambda n: n[len(name) :])
    preferred = [n for n in longer if n.endswith(".default")] + longer
    close = get_close_matches(name, names, n=3 * count, cutoff=0.6)
    close.sort(key=lambda n: n.endswith((".out", "_out")))  # seldom meant
    return list(dict.fromkeys(preferred + close))[:count]


def nearest_packets(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """An overload each of packets that look like it: of short names the overload is the most."""
    packets: dict[str, str] = {}
    for overload in sorted(names, key=lambda n: not n.endswith(".default")):
        packets.setdefault(overload.partition(".")[0], overload)
    close = get_close_matches(name.partition(".")[0], packets, n=count, cutoff=0.6)
    return [packets[packet] for packet in close]
