"""Where tensors live while a program is functionalized: storages, and aliases of them by views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.functionalize.view_chains import ViewStep, inserted, replayed
from lamina.passes.functionalize.view_inverses import written_back
from lamina.passes.refusal import unsupported

_CONTIGUOUS_FACTORIES = frozenset(
    [
        "arange",
        "empty",
        "eye",
        "full",
        "linspace",
        "new_empty",
        "new_full",
        "new_ones",
        "new_zeros",
        "ones",
        "rand",
        "randn",
        "scalar_tensor",
        "zeros",
    ]
)
CONTIGUITY_KEEPING = frozenset(
    [
        "adaptive_avg_pool2d",
        "addmm",
        "all",
        "amax",
        "amin",
        "aminmax",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "baddbmm",
        "batch_norm",
        "bmm",
        "bucketize",
        "cat",
        "cdist",
        "clone",
        "constant_pad_nd",
        "conv1d",
        "conv2d",
        "conv3d",
        "count_nonzero",
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
        "diag_embed",
        "diff",
        "embedding",
        "empty_like",
        "flip",
        "full_like",
        "gather",
        "gelu",
        "group_norm",
        "index_add",
        "index_copy",
        "index_fill",
        "index_put",
        "index_select",
        "kthvalue",
        "layer_norm",
        "linear",
        "log_softmax",
        "logcumsumexp",
        "logsumexp",
        "masked_fill",
        "masked_scatter",
        "matmul",
        "max_pool2d",
        "max_pool3d",
        "mean",
        "median",
        "mm",
        "nansum",
        "ones_like",
        "outer",
        "pad",
        "pixel_shuffle",
        "prod",
        "relu",
        "repeat",
        "repeat_interleave",
        "rms_norm",
        "roll",
        "scatter",
        "scatter_add",
        "searchsorted",
        "select_scatter",
        "slice_scatter",
        "softmax",
        "sort",
        "stack",
        "std",
        "sum",
        "take",
        "take_along_dim",
        "topk",
        "tril",
        "triu",
        "var",
        "zeros_like",
    ]
)
"""Contiguous operands give a contiguous result, as also for every op tagged pointwise."""


@dataclass(eq=False)
class Storage:
    """The memory behind tensors: the current value of the whole, and how often it was written."""

    value: SSAValue
    argument: SSAValue | None = None
    contiguous: bool = False
    version: int = 0
    relatives: list[Storage] = field(default_factory=list)
    spoiled: str | None = None

    def may_share_with(self, other: Storage) -> None:
        """Note that the two may be the same memory, which only strides would tell."""
        self.relatives.append(other)
        other.relatives.append(self)

    def family(self) -> list[Storage]:
        """All other storages that may share this one's memory."""
        found: dict[int, Storage] = {id(self): self}
        pending: list[Storage] = [self]
        while pending:
            for relative in pending.pop().relatives:
                if id(relative) not in found:
                    found[id(relative)] = relative
                    pending.append(relative)
        return [storage for storage in found.values() if storage is not self]

    def update(self, value: SSAValue, writer: Operation) -> None:
        """The whole has a new value, written by `writer`."""
        for relative in self.family():
            if relative.argument is not None:
                raise unsupported(
                    writer,
                    "writes a tensor that may or may not share memory with a function argument",
                    "clone() before the write, or a view that is surely one (view, transpose)",
                )
            relative.spoiled = f"{writer.name} may have written it, depending on strides"
        if any(relative.spoiled is None for relative in self.family()):
            raise AssertionError("a relative was left unspoiled")
        self.value = value
        self.version += 1


@dataclass(eq=False)
class Alias:
    """A tensor of the program: a storage seen through a chain of views.

    `value` is what it held when the storage had `version`.
    """

    storage: Storage
    chain: tuple[ViewStep, ...]
    value: SSAValue
    version: int
    contiguous: bool
    retired: str | None = None

    def read(self, reader: Operation) -> SSAValue:
        """The current value; views are replayed in front of `reader` if the storage changed."""
        reason = self.retired or self.storage.spoiled
        if reason is not None:
            raise unsupported(reader, f"reads a tensor after {reason}", "clone() before the write")
        if self.version != self.storage.version:
            self.value = replayed(self.chain, self.storage.value, reader)
            self.version = self.storage.version
        return self.value

    def write(self, value: SSAValue, writer: Operation) -> None:
        """The tensor gets `value`; the storage changes with it."""
        whole = written_back(self.chain, self.storage.value, value, writer)
        self.storage.update(whole, writer)
        self.value, self.version = value, self.storage.version

    def viewed(self, view: Operation, result_index: int) -> Alias:
        """The alias of a result of view op `view` on this alias."""
        step = ViewStep(view, result_index)
        contiguous = self.contiguous and step.keeps_contiguity()
        value = view.results[result_index]
        return Alias(self.storage, (*self.chain, step), value, self.version, contiguous)

    def strided(self, op: SchemaOp) -> Alias:
        """The alias that `as_strided` makes of this one: of the storage, whatever the view.

        Refused where strides are not known: of tensors that may not be contiguous, and where the
        start is the start of a view that may be anywhere.
        """
        if any(step.reads_bits for step in self.chain):
            raise unsupported(op, "counts elements of another type than its storage's", "clone()")
        start = op.arg("storage_offset")
        if not self.storage.contiguous or self.retired or self.storage.spoiled:
            raise unsupported(
                op,
                "depends on the strides of a tensor that may not be contiguous",
                "clone(memory_format = contiguous) before it",
            )
        if start is None:
            if not all(step.keeps_start() for step in self.chain):
                raise unsupported(op, "starts where its operand starts, a view", "storage_offset")
            start = 0
        op_class: Any = aten.op("as_strided.default")
        made = op_class(self.storage.value, op.arg("size"), op.arg("stride"), start)
        inserted(made, op)
        step = ViewStep(made, 0)
        return Alias(self.storage, (step,), made.results[0], self.storage.version, False)


def is_contiguous_result(op: Operation, aliases: Mapping[SSAValue, Alias]) -> bool:
    """Whether the results are surely contiguous if they are new tensors."""
    packet = op.name.removeprefix("aten.").partition(".")[0]
    if _is_channels_last(op):
        return False
    if packet in _CONTIGUOUS_FACTORIES or _is_made_contiguous(op, packet):
        return True
    pointwise = isinstance(op, SchemaOp) and "pointwise" in op.schema.tags
    if not pointwise and packet not in CONTIGUITY_KEEPING:
        return False
    tensors = [operand for operand in op.operands if isinstance(operand.type, TensorType)]
    return all(operand in aliases and aliases[operand].contiguous for operand in tensors)


def _is_channels_last(op: Operation) -> bool:
    """Whether an op asks for memory with the channels innermost."""
    if not isinstance(op, SchemaOp) or op.schema.arg("memory_format") is None:
        return False
    return str(op.arg("memory_format")).startswith("channels_last")


def _is_made_contiguous(op: Operation, packet: str) -> bool:
    return (
        packet == "clone"
        and isinstance(op, SchemaOp)
        and "contiguous_format" in str(op.arg("memory_format"))
    )
