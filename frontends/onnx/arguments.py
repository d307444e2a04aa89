"""Arguments of an imported ONNX model: inputs, initializers, and arrays known at import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import GraphProto, TypeProto, numpy_helper
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.schema.promotion import ui8
from lamina.frontends.onnx.element_types import ELEMENT_OF_DTYPE, ELEMENT_TYPES, NARROW, name_of
from lamina.frontends.onnx.values import Coded, Held, Known, held
from lamina.runtime.entry import NARROW_DTYPES


class Arguments:
    """The arguments of a program's block, and what is bound to them.

    `bound` has the caller's arrays by name, `named_sizes` numbers for names of sizes. `listed` has
    name and kind of each argument, `codes` the narrow types that callers see, `taken` the inputs
    that are bound already.
    """

    def __init__(
        self, block: Block, file: str, bound: Mapping[str, Any], named_sizes: Mapping[str, int]
    ) -> None:
        self.block = block
        self.file = file
        self.bound = bound
        self.named_sizes = named_sizes
        self.listed: list[tuple[str, str]] = []
        self.constants: dict[str, np.ndarray] = {}
        self.codes: dict[str, str] = {}
        self.taken: set[str] = set()

    def initializer(self, initializer: Any) -> Known | Coded:
        """The array in a tensor of the model, or what is bound in its place."""
        name = initializer.name
        if initializer.data_type not in ELEMENT_TYPES and initializer.data_type not in NARROW:
            kind = name_of(initializer.data_type)
            raise UnsupportedError(
                f"initializer {name}", f"elements of type {kind}", location=self.file
            )
        try:
            array = numpy_helper.to_array(initializer)
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.file}: error: initializer '{name}': {error}") from None
        if name in self.bound:
            array = np.asarray(self.bound[name])
        return held(array, name, "parameter")

    def input(self, name: str, kind: TypeProto) -> Held:
        """An input of the graph: a new argument, or what is bound to it."""
        if not kind.HasField("tensor_type"):
            what = (kind.WhichOneof("value") or "no type").replace("_type", "")
            raise UnsupportedError(
                f"input {name}", f"only tensors are taken, not {what}", location=self.file
            )
        code = kind.tensor_type.elem_type
        narrow = NARROW.get(code)
        if code not in ELEMENT_TYPES and narrow is None:
            raise UnsupportedError(
                f"input {name}", f"elements of type {name_of(code)}", location=self.file
            )
        if name in self.bound:
            self.taken.add(name)
            return held(np.asarray(self.bound[name]), name)
        sizes = self._sizes(name, kind)
        if narrow is None:
            return self._argument(name, "input", TensorType(ELEMENT_TYPES[code], sizes))
        self.codes[name] = narrow.name
        return Coded(self._argument(name, "input", TensorType(ui8, sizes)), narrow)

    def _sizes(self, name: str, kind: TypeProto) -> list[int]:
        nearest = "onnx.tools.update_model_dims.update_inputs_outputs_dims"
        if not kind.tensor_type.HasField("shape"):
            raise UnsupportedError(
                f"input {name}", "has no shape", location=self.file, nearest=nearest
            )
        sizes: list[int] = []
        for place, dim in enumerate(kind.tensor_type.shape.dim):
            if dim.dim_param in self.named_sizes and dim.dim_param:
                sizes.append(self.named_sizes[dim.dim_param])
                continue
            if dim.WhichOneof("value") != "dim_value":
                shown = f"'{dim.dim_param}'" if dim.dim_param else "unknown"
                if dim.dim_param:
                    nearest = f"bind it when compiling: sizes={{'{dim.dim_param}': 1}}"
                raise UnsupportedError(
                    f"input {name}",
                    f"size {place} is {shown}; sizes must be numbers",
                    location=self.file,
                    nearest=nearest,
                )
            sizes.append(dim.dim_value)
        return sizes

    def check_named_sizes(self, graph: GraphProto) -> None:
        """Raises InputError for a size that no input has."""
        dims = [d for entry in graph.input for d in entry.type.tensor_type.shape.dim]
        names = sorted({dim.dim_param for dim in dims if dim.dim_param})
        for name in self.named_sizes:
            if name not in names:
                there = ", ".join(names) or "none"
                raise InputError(
                    f"{self.file}: error: no input has a size '{name}'; there are: {there}"
                )

    def _argument(self, name: str, kind: str, type_: Attribute) -> SSAValue:
        value = self.block.insert_arg(type_, len(self.block.args))
        if SSAValue.is_valid_name(name):
            value.name_hint = name
        self.listed.append((name, kind))
        return value

    def materialize(self, known: Known) -> SSAValue:
        """The argument that a known array is bound to."""
        if known.value is None:
            taken = {name for name, _ in self.listed}
            name = known.name or "constant"
            number = 0
            while name in taken:
                number += 1
                name = f"{known.name or 'constant'}_{number}"
            array = known.array
            kind = TensorType(ELEMENT_OF_DTYPE[array.dtype], array.shape)
            known.value = self._argument(name, known.kind, kind)
            array = np.ascontiguousarray(array).reshape(array.shape)
            if known.codes is not None:
                self.codes[name] = known.codes.name
                array = array.view(NARROW_DTYPES[known.codes.name])
            self.constants[name] = array
        return known.value

    def inputs_behind(self, value: SSAValue) -> list[str]:
        """Names of the inputs that a value is computed from."""
        found: dict[str, None] = {}
        seen: set[SSAValue] = set()
        pending = [value]
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            if isinstance(current, BlockArgument):
                name, kind = self.listed[current.index]
                if kind == "input":
                    found[name] = None
            else:
                pending += current.owner.operands  # pyright: ignore[reportAttributeAccessIssue]
        return list(found)
