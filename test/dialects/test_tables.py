"""The table files: they say what torch says, name their rows once, and cost nothing until used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lamina.dialects.aten import Aten
from lamina.dialects.context import Context
from lamina.dialects.core_aten import CoreAten
from lamina.dialects.core_aten import extensions as core_extensions
from lamina.dialects.prims import Prims
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.names import UnknownOpError

DIALECTS = {"aten": Aten, "core_aten": CoreAten, "prims": Prims}


def test_files_agree_with_torch() -> None:
    """In a process of its own: Inductor, where another test loads it, registers more prims."""
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "lamina.frontends.dump_torch_tables", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_sizes() -> None:
    """Torch 2.13's counts; three of the 193 core overloads write."""
    assert len(Aten.rows) == 3110
    assert len(CoreAten.rows) - len(core_extensions()) == 190
    extensions = [name for name in Prims.rows if "ext" in Prims.schema(name).tags]
    assert len(Prims.rows) - len(extensions) == 126
    assert {"contract", "convolution", "reduce_window", "take", "pad"} <= set(extensions)


def test_core_extensions_are_functional_overloads_of_aten_with_a_reason() -> None:
    for name, reason in core_extensions().items():
        assert "core" not in Aten.schema(name).tags, f"{name} is core already"
        assert not Aten.schema(name).mutates, name
        assert len(reason.split()) > 2, name


def test_core_mutates_nothing() -> None:
    for name in CoreAten.names:
        assert not CoreAten.schema(name).mutates, name


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_schemas_name_their_arguments_once(dialect: TableDialect) -> None:
    for name in dialect.names:
        schema = dialect.schema(name)
        names = [arg.name for arg in schema.args]
        assert len(set(names)) == len(names), name
        assert not {"location", "result_types"} & set(names), f"{name}: taken by the constructor"


def test_unknown_op_names_near_ones() -> None:
    with pytest.raises(UnknownOpError, match=r"aten\.relu\.default"):
        Aten.op("relu")
    with pytest.raises(UnknownOpError, match=r"aten\.softmax\.int"):
        Aten.op("softmax.itn")
    assert issubclass(UnknownOpError, KeyError)


def test_op_classes_are_made_once() -> None:
    assert Aten.op("relu.default") is Aten.op("relu.default")
    assert Aten.op("relu.default") is not CoreAten.op("relu.default")
    assert Context().get_op("aten.relu.default") is Aten.op("relu.default")
    assert Context().get_optional_op("aten.rellu.default") is None


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_import_reads_no_table_and_one_op_makes_one_class() -> None:
    made = run(
        "from lamina.dialects.aten import Aten\n"
        "from lamina.dialects.context import Context\n"
        "print('rows' in Aten.__dict__)\n"
        "Context().get_op('aten.relu.default')\n"
        "print(len(Aten._classes))\n"
    )
    assert made.split() == ["False", "1"]


def test_an_op_imports_little() -> None:
    """The package, beyond what xDSL's own op base imports: with this, 0.02 s on a Zen 4."""
    loaded = run(
        "import xdsl.irdl, xdsl.dialects.builtin, xdsl.parser, sys\n"
        "before = set(sys.modules)\n"
        "from lamina.dialects import aten\n"
        "aten.op('relu.default')\n"
        "print(*set(sys.modules) - before)\n"
    ).split()
    assert len(loaded) <= 40
    assert not any(
        name.startswith(("lamina.passes", "lamina.lowering", "numpy")) for name in loaded
    )
