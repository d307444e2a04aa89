"""Scaffolds the next step down of an op: a lowering that refuses, and its FileCheck test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import TensorType, f32

from lamina.dialects.context import load_dialect
from lamina.dialects.errors import InputError
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.grammar import Arg, Kind
from lamina.dialects.schema.op import SchemaOp
from lamina.tools.scaffold import append_name, fill, with_imports, write_new

LAYERS: dict[str, str] = {
    "aten": "aten_to_core_aten",
    "core_aten": "core_aten_to_prims",
    "prims": "prims_to_loop",
}
"""Dialect to the package of `lowering/` that takes its ops one layer down."""

SAMPLE_TENSOR = TensorType(f32, [3, 3])
SAMPLES: dict[Kind, Any] = {
    Kind.SYMINT: 1,
    Kind.INT: 1,
    Kind.FLOAT: 1.0,
    Kind.BOOL: False,
    Kind.SCALAR: 1.0,
    Kind.STR: "text",
    Kind.DTYPE: f32,
    Kind.WORD: "cpu",
}
"""What stands for a required argument of each kind in the scaffolded test."""


@dataclass(frozen=True)
class Step:
    """A package of lowerings and the class that builds ops there."""

    folder: Path
    builder: str

    @property
    def pass_name(self) -> str:
        """The pass that runs it."""
        return f"convert-{self.folder.name.replace('_', '-')}"


def find_step(root: Path, layer: str) -> Step:
    """The package that lowers `layer`, read from its `table.py`."""
    folder = root / "lowering" / LAYERS[layer]
    path = folder / "table.py"
    source = path.read_text() if path.is_file() else ""
    builder = re.search(r"^class (\w+Builder)\(", source, re.M)
    if builder is None:
        raise InputError(f"new: error: {path} has no Builder class")
    return Step(folder, builder[1])


def new_op(root: Path, layer: str, name: str, family: str) -> list[Path]:
    """Add a lowering of `layer`.`name` to the module `family`, and its test; the paths touched.

    An op of `prims` that does not exist gets a row in the table of extensions first. Raises
    InputError for an op no table has, one that has a lowering, and a family that is no module name.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", family):
        raise InputError(f"new: error: '{family}' is no family: words_with_underscores")
    step = find_step(root, layer)
    dialect = load_dialect(layer)
    assert isinstance(dialect, TableDialect)
    touched = []
    if layer == "prims" and dialect.find(name) is None:
        touched.append(_add_extension(root, name))
        dialect = TableDialect(
            "prims", lambda: {name: f"prims::{name}(Tensor self) -> Tensor\text"}
        )
    op_class = dialect.op(name)
    lowered = _lowered_in(step, name)
    if lowered is not None:
        raise InputError(f"new: error: {op_class.name} is lowered already, in {lowered}")
    return [*touched, *_write_lowering(root, step, op_class, name, family)]


def _add_extension(root: Path, name: str) -> Path:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InputError(f"new: error: '{name}' is no name of a prim: words_with_underscores")
    path = root / "dialects" / "prims" / "extensions.tsv"
    row = f"# {name}: say what it computes.\nprims::{name}(Tensor self) -> Tensor\text\n"
    path.write_text(path.read_text().rstrip("\n") + "\n" + row)
    return path


def _lowered_in(step: Step, name: str) -> str | None:
    short = name.removesuffix(".default")
    for path in sorted(step.folder.glob("*.py")):
        for call in re.findall(r"^@lowers\((.*?)\)$", path.read_text(), re.S | re.M):
            if {f'"{name}"', f'"{short}"'} & set(re.findall(r'"[^"]*"', call)):
                return path.name
    return None


def _write_lowering(
    root: Path, step: Step, op_class: type[SchemaOp], name: str, family: str
) -> list[Path]:
    module = step.folder / f"{family}.py"
    touched = [module]
    if not module.exists():
        title = family.replace("_", " ").capitalize()
        write_new(module, f'"""{title}."""\n\nfrom __future__ import annotations\n')
        table = step.folder / "table.py"
        table.write_text(append_name(table.read_text(), "families", family))
        touched.append(table)
    stem = re.sub(r"\W", "_", name.removesuffix(".default"))
    function = fill(
        "lowering.py.in",
        name=name.removesuffix(".default"),
        function=stem,
        builder=step.builder,
        schema=schema_line(op_class),
    )
    imports = {
        "xdsl.ir": ("SSAValue",),
        "lamina.dialects.schema.op": ("SchemaOp",),
        f"lamina.lowering.{step.folder.name}.table": (step.builder, "lowers"),
    }
    source = with_imports(module.read_text(), imports)
    module.write_text(source.rstrip("\n") + "\n" + function)
    test = root / "test" / "lowering" / step.folder.name / f"{stem}.mlir"
    values = {"op": op_class.name, "pass": step.pass_name, "program": sample_program(op_class)}
    return [*touched, write_new(test, fill("lowering.mlir.in", **values))]


def schema_line(op_class: type[SchemaOp]) -> str:
    """The schema as its table writes it, cut to fit a docstring."""
    schema = op_class.schema
    arguments = ", ".join(
        f"{arg.type.base}{'[]' * arg.type.is_list}{'?' * arg.type.optional} {arg.name}"
        for arg in schema.args
    )
    text = f"{schema.overload_name}({arguments})"
    return text if len(text) <= 90 else text[:87] + "..."


def sample_program(op_class: type[SchemaOp]) -> str:
    """A function with one such op: tensors are 3x3 of f32, constants are simple."""
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp, ReturnOp
    from xdsl.ir import Block, Region

    required = [arg for arg in op_class.schema.args if arg.required]
    names = [arg.name for arg in required if arg.type.kind is Kind.TENSOR]
    block = Block(arg_types=[SAMPLE_TENSOR] * len(names))
    values = dict(zip(names, block.args, strict=True))
    for name, value in values.items():
        value.name_hint = name
    given = {arg.name: _sample(arg, values) for arg in required}
    try:
        made = op_class(**given)
    except ValueError:  # no rule gives the result types, or it wants other arguments than these
        made = op_class(result_types=[SAMPLE_TENSOR] * len(op_class.schema.results), **given)
    block.add_ops([made, ReturnOp(*made.results)])
    types = [result.type for result in made.results]
    function = FuncOp("main", (list(block.arg_types), types), Region(block))
    lines = str(ModuleOp([function])).splitlines()[1:-1]
    return "\n".join(line.removeprefix("  ") for line in lines)


def _sample(arg: Arg, values: dict[str, Any]) -> Any:
    value = values[arg.name] if arg.name in values else SAMPLES[arg.type.kind]
    return [value] * (arg.type.size or 1) if arg.type.is_list else value
