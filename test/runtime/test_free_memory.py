"""Calls that take more memory than there is: errors that say of what, and what makes it so much."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim

import lamina
from lamina import OutOfMemoryError
from lamina.runtime import free_memory
from lamina.runtime.buffers import AlignedMemory
from lamina.runtime.dispatch.native import output_memory
from lamina.runtime.free_memory import ASKED_FROM, free_bytes

MANY = 300_000
"""Of rows and columns: 360 GB of floats."""

PRODUCT = """
func.func @main(%x: tensor<?x1xf32> {lamina.dims = [#lamina.size<n>]},
                %y: tensor<?xf32> {lamina.dims = [#lamina.size<m in [1, 9999999]>]})
    -> (tensor<?x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]}) {
  %1 = aten.mul.Tensor(%x, %y) : (tensor<?x1xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}
"""
"""Of a column and a row."""

BLAME = (
    "dimension 0 of argument 'arg0' makes 'n' 300000, in [0, ?]\n"
    "  dimension 0 of argument 'arg1' makes 'm' 300000, in [1, 9999999]"
)


def arrays(count: int, kind: str = "numpy") -> tuple[Any, Any]:
    x, y = np.ones((count, 1), np.float32), np.full(count, 2, np.float32)
    return (x, y) if kind == "numpy" else (torch.from_numpy(x), torch.from_numpy(y))


@pytest.fixture(params=["auto", "exact", "padded", "loaded"])
def product(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Of a column and a row, in versions of each kind."""
    if request.param != "loaded":
        return lamina.compile(PRODUCT, versions=request.param)
    made = lamina.compile(PRODUCT, versions="padded")
    made.save(tmp_path / "p", sizes=[{"n": 5, "m": 5}, {"n": MANY, "m": MANY}])
    return lamina.load(tmp_path / "p")


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_result_beyond_memory_names_its_dimensions(product: Any, kind: str) -> None:
    for _ in range(2):  # another way each time: the version is there, and native code chooses it
        with pytest.raises(OutOfMemoryError) as caught:
            product(*arrays(MANY, kind))
        said, _, blamed = str(caught.value).partition("\n  ")
        assert "result 0 (tensor<300000x300000xf32>) takes 360000000000 bytes" in said
        assert blamed == BLAME and isinstance(caught.value, MemoryError)
        assert product(*arrays(5, kind)).tolist() == [[2.0] * 5] * 5


def test_a_result_of_known_sizes_is_named() -> None:
    compiled = lamina.compile(PRODUCT, sizes={"n": MANY, "m": MANY})
    blocks = output_memory()
    with pytest.raises(OutOfMemoryError, match=r"^result 0 \(tensor<300000x300000xf32>\) takes 36"):
        compiled(*arrays(MANY))
    assert output_memory() == blocks


class Flipped(torch.nn.Module):
    """Something that is as large as the product, and given to nobody."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x[:, None] * y, 0).flip(0).sum()


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
def test_scratch_memory_beyond_memory_names_all_sizes(policy: str) -> None:
    dims = {"x": {0: Dim("n", max=1 << 30)}, "y": {0: Dim("m", max=1 << 30)}}
    program = torch.export.export(Flipped(), (torch.ones(4), torch.ones(5)), dynamic_shapes=dims)
    compiled = lamina.compile(program, versions=policy)
    x = np.ones(MANY, np.float32)
    with pytest.raises(OutOfMemoryError) as caught:
        compiled(x, x)
    said, *lines = str(caught.value).splitlines()
    assert said.startswith("scratch memory of the program takes ") and len(lines) == 2
    assert "dimension 0 of argument 'y' makes" in lines[1]
    assert compiled(x[:3], x[:4]) == 24


@pytest.mark.parametrize("is_dynamic", [True, False])
@pytest.mark.parametrize(
    ("function", "what"),
    [(lambda x, y: x[:, None] * y, "result 0"), (Flipped(), "scratch memory of the program")],
)
def test_graphs_name_what_their_symbols_are(
    function: Callable[..., Any], what: str, is_dynamic: bool
) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="lamina", dynamic=is_dynamic)
    if is_dynamic:
        compiled(torch.ones(3), torch.ones(4))
    for _ in range(2):
        with pytest.raises(OutOfMemoryError) as caught:
            compiled(torch.ones(MANY), torch.ones(MANY + 1))
        said, *lines = str(caught.value).splitlines()
        assert said.startswith(f"{what} ") and len(lines) == 2 * is_dynamic
        if is_dynamic:
            assert f" 300001, in [2, {'?'}]" in lines[1] and "dimension 0 of argument" in lines[1]
    if is_dynamic:
        compiled(torch.ones(3), torch.ones(4))


def test_copies_of_arguments_are_asked_for() -> None:
    one = torch.ones(1).expand(1 << 40)
    compiled = lamina.compile(
        """
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<f32> {
  %1 = aten.sum.default(%x) : (tensor<?xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}""",
        versions="padded",
    )
    for given in (one, one.numpy()):
        with pytest.raises(
            OutOfMemoryError, match=r"row-major copy of argument 'arg0'.*\n.*1099511"
        ):
            compiled(given)
    torch._dynamo.reset()
    negated = torch.compile(torch.neg, backend="lamina", dynamic=True)
    negated(torch.ones(1).expand(7))
    with pytest.raises(OutOfMemoryError, match="row-major copy of a tensor takes 4398046511104"):
        negated(one)


def test_several_results_are_asked_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has touched the first when memory for the second is taken."""
    rows = ASKED_FROM // 4096 // 4
    text = f"""
func.func @main(%x: tensor<{rows}x1xf32>, %y: tensor<4096xf32>)
    -> (tensor<{rows}x4096xf32>, tensor<{rows}x4096xf32>) {{
  %1 = aten.mul.Tensor(%x, %y) : (tensor<{rows}x1xf32>, tensor<4096xf32>) -> tensor<{rows}x4096xf32>
  %2 = aten.add.Tensor(%x, %y) : (tensor<{rows}x1xf32>, tensor<4096xf32>) -> tensor<{rows}x4096xf32>
  func.return %1, %2 : tensor<{rows}x4096xf32>, tensor<{rows}x4096xf32>
}}"""
    compiled = lamina.compile(text)
    asked: list[int] = []

    def little() -> int:
        asked.append(1)
        return 3 * ASKED_FROM // 2

    monkeypatch.setattr(free_memory, "free_bytes", little)
    with pytest.raises(OutOfMemoryError, match=rf"^result 1 .* takes {ASKED_FROM} bytes, with "):
        compiled(np.ones((rows, 1), np.float32), np.ones(4096, np.float32))
    assert asked
    monkeypatch.undo()
    compiled(np.ones((rows, 1), np.float32), np.ones(4096, np.float32))


def test_a_version_without_memory_gives_way_to_one_for_the_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dims = {"x": {0: Dim("n", max=1 << 30)}, "y": {0: Dim("m", max=1 << 30)}}
    program = torch.export.export(Flipped(), (torch.ones(4), torch.ones(5)), dynamic_shapes=dims)
    compiled = lamina.compile(program)
    monkeypatch.setattr(free_memory, "free_bytes", lambda: 1 << 28)
    x = np.ones(4100, np.float32)
    assert compiled(x, x) == pytest.approx(4100 * 4101 / 2 * 4100)
    assert compiled.sizes[-1].is_exact and list(compiled.sizes[-1].sizes.values()) == [4100, 4100]


def test_what_is_small_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> int:
        raise AssertionError("this takes longer than the call")

    monkeypatch.setattr(free_memory, "free_bytes", never)
    compiled = lamina.compile(PRODUCT)
    assert compiled(*arrays(3)).shape == (3, 3) and compiled(*arrays(700)).shape == (700, 700)


def test_aligned_memory_says_what_it_is_for() -> None:
    with pytest.raises(
        OutOfMemoryError, match=r"^weights takes 70368744177664 bytes, and .* free$"
    ):
        AlignedMemory(1 << 46, "weights")


# What the system says

MACHINE = "MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable:   3000 kB\nSwapFree: 100 kB\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


GROUPS: dict[str, tuple[dict[str, str], int]] = {
    "none": ({}, 3100 << 10),
    "unlimited": (
        {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"},
        3100 << 10,
    ),
    "version 2, an outer one": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/memory.max": "max\n",
            "sys/fs/cgroup/a/memory.max": "900000\n",
            "sys/fs/cgroup/a/memory.current": "500000\n",
            "sys/fs/cgroup/a/memory.stat": "anon 9\ninactive_file 1000\nactive_file 200\n",
        },
        401_200,
    ),
    "version 1, in a container": (
        {
            "proc/self/cgroup": "9:cpu,memory:/docker/x\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "700000\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "100000\n",
            "sys/fs/cgroup/memory/memory.stat": "total_inactive_file 7\n",
        },
        600_007,
    ),
    "full": (
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "100\n",
            "sys/fs/cgroup/memory.current": "200\n",
        },
        0,
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_memory_is_what_machine_and_group_leave(name: str, tmp_path: Path) -> None:
    files, free = GROUPS[name]
    assert free_bytes(write(tmp_path, {"proc/meminfo": MACHINE, **files})) == free


def test_a_system_that_says_nothing_limits_nothing(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) == (1 << 63) - 1
