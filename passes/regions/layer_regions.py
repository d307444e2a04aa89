"""The `control.repeat` that equal steps of a block become."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from lamina.dialects.control import RepeatOp, YieldOp
from lamina.passes.regions.layer_sources import Groups, Layers, Source
from lamina.passes.regions.repetitions import Made


def roll(layers: Layers) -> None:
    """Put one `control.repeat` in the place of the steps."""
    r = layers.repetition
    inside = [place for place in range(r.period) if place not in layers.outside]
    groups = Groups()
    for place in inside:
        for source in layers.sources[place]:
            groups.add(source)
    groups.sink()
    starts = [source.start for source in groups.carried]
    own = [source.values[step] for step in range(r.steps) for source in groups.own]
    wanted = _wanted(layers, inside, {source.made for source in groups.carried})
    given = [layers.op(0, place).results[number].type for place, number in wanted]
    kinds = [*(value.type for value in starts), *given * r.steps]
    region = Region(_body(layers, inside, groups, wanted))
    op = RepeatOp(starts, own, list(groups.same), kinds, region, r.steps)
    op.location = layers.op(0, 0).location
    block = layers.behind.parent_block()
    assert block is not None
    block.insert_op_before(op, layers.behind)
    for source, result in zip(groups.carried, op.res, strict=False):
        layers.hand_over(r.steps - 1, source.made, result)
    for step, results in enumerate(op.own_results):
        for made, result in zip(wanted, results, strict=True):
            layers.hand_over(step, made, result)
    _erase(layers)


def _wanted(layers: Layers, inside: Sequence[int], carried: set[Made]) -> list[Made]:
    """What ops behind the steps read, but for what is carried last."""
    wanted: list[Made] = []
    for place in inside:
        for number in range(len(layers.op(0, place).results)):
            values = layers.results(place, number).values
            if (place, number) in carried:
                values = values[:-1]
            if any(map(layers.read_behind, values)):
                wanted.append((place, number))
    return wanted


def _body(layers: Layers, inside: Sequence[int], groups: Groups, wanted: Sequence[Made]) -> Block:
    outside: list[tuple[Source, SSAValue]] = [
        *((source, source.start) for source in groups.carried),
        *((source, source.values[0]) for source in groups.own),
        *((source, source) for source in groups.same),
    ]
    body = Block(arg_types=[value.type for _, value in outside])
    known: dict[Source, SSAValue] = {}
    for (source, value), argument in zip(outside, body.args, strict=True):
        known[source] = argument
        argument.name_hint = value.name_hint
    for old in sorted(groups.sunk, key=layers.ops.index):
        results = _copy(old, [known[operand] for operand in old.operands], body)
        known |= dict(zip(old.results, results, strict=True))
    for place in inside:
        operands = [known[source] for source in layers.sources[place]]
        results = _copy(layers.op(0, place), operands, body)
        known |= {(place, n): result for n, result in enumerate(results)}
    end = YieldOp([*(known[s.made] for s in groups.carried), *(known[m] for m in wanted)])
    end.location = layers.op(0, 0).location
    body.add_op(end)
    return body


def _copy(op: Operation, operands: Sequence[SSAValue], body: Block) -> Sequence[SSAValue]:
    """The results of an op on other operands at the end of a block."""
    made = op.clone()
    made.operands = operands
    made.location = op.location
    body.add_op(made)
    return made.results


def _erase(layers: Layers) -> None:
    """The steps, but for what stays outside: once, if it is the same for all."""
    kept: set[Operation] = set()
    for place in layers.outside:
        for step in range(layers.repetition.steps):
            op = layers.op(step, place)
            if not step or not layers.is_common(place):
                kept.add(op)
            else:
                one = layers.op(0, place)
                for old, new in zip(op.results, one.results, strict=True):
                    old.replace_all_uses_with(new)
    for op in reversed(list(layers.numbers)):
        if op not in kept:
            op.detach()
            op.erase()
