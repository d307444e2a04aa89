"""One node of a graph, as importers of ops see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto, helper
from xdsl.dialects.builtin import DYNAMIC_INDEX, FileLineColLoc
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.errors import UnsupportedError
from lamina.frontends.onnx.element_types import ELEMENT_OF_DTYPE, FLOATS, LIMITS
from lamina.frontends.onnx.errors import ValuesNeededError
from lamina.frontends.onnx.values import (
    Coded,
    Held,
    Known,
    Value,
    described,
    element_of,
    shape_of,
)

if TYPE_CHECKING:
    from lamina.frontends.onnx.program import ProgramImporter


class Node:
    """A node with the values it reads; its methods append ops to the program."""

    def __init__(
        self,
        proto: NodeProto,
        inputs: list[Held | None],
        version: int,
        program: ProgramImporter,
        location: FileLineColLoc,
    ) -> None:
        self.proto = proto
        self.held = inputs
        self.version = version
        self.program = program
        self.location = location
        self.attributes = {a.name: a for a in proto.attribute}
        self.scope: dict[str, Held | None] = {}
        self.opsets: Mapping[str, int] = {}

    # Attributes and inputs

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute's value in Python's types, `default` where it is not given."""
        found = self.attributes.get(name)
        if found is None:
            return default
        value = helper.get_attribute_value(found)
        return value.decode() if isinstance(value, bytes) else value

    def ints(self, name: str) -> list[int] | None:
        """A list of integers, None where it is not given."""
        found = self.attr(name)
        return None if found is None else [int(entry) for entry in found]

    def get(self, index: int) -> Value | None:
        """An input that is a tensor of ordinary elements, None for one that is left out."""
        found = self.held[index] if index < len(self.held) else None
        if found is None or isinstance(found, Known | SSAValue):
            return found
        raise self.refuse(f"input {index} cannot be {described(found)}")

    @property
    def inputs(self) -> list[Value | None]:
        """All inputs, each as `get` gives it."""
        return [self.get(index) for index in range(len(self.held))]

    def any(self, index: int) -> Held:
        """An input of any kind, which is not left out."""
        found = self.held[index] if index < len(self.held) else None
        if found is None:
            raise self.refuse(f"input {index} is missing")
        return found

    def tensor_at(self, index: int) -> Value | Coded:
        """An input that is a tensor, of ordinary or narrow elements."""
        found = self.any(index)
        return found if isinstance(found, Coded) else self[index]

    def __getitem__(self, index: int) -> Value:
        found = self.get(index)
        if found is None:
            raise self.refuse(f"input {index} is missing")
        return found

    def known(self, index: int) -> np.ndarray:
        """The elements of an input that sizes depend on."""
        value = self[index]
        if isinstance(value, Known):
            return value.array
        raise self.needs(value, self.proto.input[index])

    def needs(self, value: SSAValue, name: str) -> ValuesNeededError:
        """The refusal of a value that would have to be known at import."""
        roots = self.program.arguments.inputs_behind(value)
        reason = f"sizes depend on the elements of '{name}', which are not known"
        return ValuesNeededError(self.op_name, reason, roots, self.place)

    def known_or(self, index: int, attribute: str) -> list[int] | None:
        """A list that newer versions take as an input and older ones as an attribute."""
        if self.get(index) is not None:
            return [int(v) for v in self.known(index).ravel()]
        return self.ints(attribute)

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Sizes of an input, all of them numbers.

        Raises UnsupportedError where one depends on data; `rank` is known of such, too.
        """
        sizes = shape_of(self[index])
        if DYNAMIC_INDEX in sizes:
            place = sizes.index(DYNAMIC_INDEX)
            raise self.refuse(f"needs size {place} of input {index}, which depends on data")
        return sizes

    def rank(self, index: int = 0) -> int:
        """Number of dims of an input."""
        return len(shape_of(self[index]))

    def element(self, index: int = 0) -> Attribute:
        """Element type of an input."""
        return element_of(self[index])

    def axis(self, default: int, rank: int | None = None) -> int:
        """The attribute `axis`, counted from the front."""
        return self.counted(int(self.attr("axis", default)), rank)

    def counted(self, axis: int, rank: int | None = None) -> int:
        """An axis counted from the front; the rank is that of the first input."""
        rank = self.rank() if rank is None else rank
        if not -rank <= axis < max(rank, 1):
            raise self.refuse(f"axis {axis} of a tensor of rank {rank}")
        return axis % rank if rank else 0

    # Refusals

    @property
    def op_name(self) -> str:
        """`onnx.Conv`, `onnx.com.example.Conv`."""
        return f"onnx.{self.proto.domain}.{self.proto.op_type}".replace("..", ".")

    @property
    def place(self) -> str:
        """File, function and node, for messages."""
        return self.location.filename.data

    def refuse(self, reason: str, nearest: str | None = None) -> UnsupportedError:
        """The error that names op, opset, node and file."""
        types = [described(value) for value in self.held if value is not None]
        return UnsupportedError(
            f"{self.op_name} (version {self.version})",
            reason,
            types=types,
            location=self.place,
            nearest=nearest,
        )

    # Making ops

    def tensor(self, value: Value) -> SSAValue:
        """A value of the IR."""
        return self.program.arguments.materialize(value) if isinstance(value, Known) else value

    def op(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Appends `aten.<name>`; its result, or a tuple of them if it has several."""
        node: Any = self
        return self.program.op(node, name, args, kwargs)

    def constant(self, array: Any, element: Attribute | None = None) -> Known:
        """A tensor of constants."""
        array = np.asarray(array)
        return Known(array if element is None else self.program.as_element(array, element))

    def scalar(self, number: float, like: Value) -> SSAValue:
        """A tensor of rank 0 and the element type of another."""
        return self.op("full.default", [], number, dtype=element_of(like))

    def cast(self, value: Value, element: Attribute) -> Value:
        """Conversion as torch does it: integers wrap, floats are cut."""
        if element_of(value) == element:
            return value
        if isinstance(value, Known) and value.is_small():
            whole = element in LIMITS and value.array.dtype.kind not in "iub"
            if not whole:
                return Known(self.program.as_element(value.array, element))
        return self.op("_to_copy.default", value, dtype=element)

    def reshape(self, value: Value, shape: list[int] | tuple[int, ...]) -> Value:
        """The elements in another shape; no op where nothing changes."""
        if tuple(shape) == shape_of(value):
            return value
        return self.op("reshape.default", value, list(shape))

    def transpose(self, value: Value, order: list[int]) -> Value:
        """Dims in another order."""
        if order == list(range(len(order))):
            return value
        return self.op("permute.default", value, order)

    def expand(self, value: Value, shape: list[int] | tuple[int, ...]) -> Value:
        """Broadcast to a shape."""
        if tuple(shape) == shape_of(value):
            return value
        return self.op("expand.default", value, list(shape))

    def is_float(self, index: int = 0) -> bool:
        """Whether an input has floats."""
        return self.element(index) in FLOATS

    def least(self, element: Attribute) -> float | int:
        """The least number of an element type; -inf of floats."""
        return LIMITS[element][0] if element in LIMITS else float("-inf")


__all__ = ["ELEMENT_OF_DTYPE", "Node"]
