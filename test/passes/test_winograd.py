"""Convolutions by Winograd's F(2x2, 3x3) against torch, in the interpreter and in native code."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

import lamina
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.passes.loop import choose_winograd
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(2)

CONVOLUTION = """
func.func @main(%x: tensor<{n}x{h}x{w}x{image}x{t}> {{lamina.kind = "input", lamina.name = "x"}},
    %k: tensor<{result}x{c}x3x3x{t}> {{lamina.kind = "input", lamina.name = "k"}})
    -> tensor<{n}x{oh}x{ow}x{result}x{t}> {{
  %r = loop.generic (n, y, x, g, o, i, j, c) in [{n}, {oh}, {ow}, {groups}, {o}, 3, 3, {c}]
      reads(%x[n, y + i - {top}, x + j - {left}, g * {c} + c] pad 0.0 : {t}
        : tensor<{n}x{h}x{w}x{image}x{t}>, %k[g * {o} + o, c, i, j] : tensor<{result}x{c}x3x3x{t}>)
      writes([n, y, x, g * {o} + o] add : tensor<{n}x{oh}x{ow}x{result}x{t}>)
      attributes {{lamina.winograd = "{way}"}} {{
  ^bb0(%a: {t}, %b: {t}):
    %v = arith.mulf %a, %b : {t}
    loop.yield %v : {t}
  }}
  func.return %r : tensor<{n}x{oh}x{ow}x{result}x{t}>
}}
"""

CASES = [
    # images, lines, columns, groups, channels of each: in, out; lines above, below, left, right
    (1, 6, 8, 1, 5, 7, (1, 1, 1, 1)),
    (3, 4, 4, 1, 16, 32, (1, 1, 1, 1)),
    (1, 28, 28, 1, 64, 33, (1, 1, 1, 1)),
    (2, 9, 7, 2, 17, 3, (0, 1, 1, 0)),
    (1, 4, 6, 1, 1, 1, (0, 0, 0, 0)),
    (1, 2, 4, 4, 8, 20, (2, 0, 0, 2)),
    (1, 10, 12, 1, 130, 48, (1, 1, 1, 1)),
]


def _program(case: tuple, kind: str, way: str) -> tuple[str, np.ndarray, np.ndarray, np.ndarray]:
    n, h, w, groups, c, o, (top, below, left, right) = case
    torch.manual_seed(0)
    dtype = {"f32": torch.float32, "f64": torch.float64}[kind]
    x = torch.randn(n, groups * c, h, w, dtype=dtype)
    k = torch.randn(groups * o, c, 3, 3, dtype=dtype)
    wanted = F.conv2d(F.pad(x.double(), (left, right, top, below)), k.double(), groups=groups)
    words = {
        "way": way,
        "n": n,
        "h": h,
        "w": w,
        "groups": groups,
        "c": c,
        "o": o,
        "top": top,
        "left": left,
    }
    words |= {"oh": wanted.shape[2], "ow": wanted.shape[3], "t": kind}
    words |= {"image": groups * c, "result": groups * o}
    image = x.permute(0, 2, 3, 1).contiguous().numpy()
    return CONVOLUTION.format(**words), image, k.numpy(), wanted.permute(0, 2, 3, 1).numpy()


@pytest.mark.parametrize("way", ["line", "image"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_native_code(case: tuple, kind: str, way: str) -> None:
    text, x, k, wanted = _program(case, kind, way)
    compiled = lamina.compile(text, cache=False)
    assert any("winograd_product" in kernel.ops for kernel in compiled.kernels)
    found = compiled(x, k)
    bound = {"f32": 2e-6, "f64": 4e-15}[kind]
    assert np.linalg.norm(found - wanted) <= bound * np.linalg.norm(wanted)


@pytest.mark.parametrize("case", CASES[:2] + CASES[3:6], ids=str)
@pytest.mark.parametrize("way", ["line", "image"])
def test_each_pass_keeps_the_meaning(case: tuple, way: str) -> None:
    text, x, k, wanted = _program(case, "f64", way)
    module = lamina.parse(text)
    run_pipeline(module, pipeline(stop="loop"), Context())
    for spec in pipeline(start="loop", stop="fused"):
        run_pipeline(module, [spec], Context())
        (found,) = run_module(module, [x, k])
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=str(spec))


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All convolutions that can be are computed so."""
    monkeypatch.setattr(choose_winograd, "direct_seconds", lambda *_, **__: 1.0)
    yield


class Network(torch.nn.Module):
    """A convolution by 3x3 among others, and what stands around it in residual networks."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(16, channels, 1)
        self.norm = torch.nn.BatchNorm2d(channels)
        self.second = torch.nn.Conv2d(channels, channels, 3, padding=1, groups=groups)
        self.last = torch.nn.Conv2d(channels, 16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x).relu()
        return self.last((self.norm(self.second(hidden)) + hidden).relu()) + x


@pytest.mark.parametrize(
    "channels, groups, size", [(32, 1, 14), (72, 1, 10), (64, 2, 6), (64, 2, 28)]
)
def test_of_networks(channels: int, groups: int, size: int, always: None) -> None:
    torch.manual_seed(0)
    model = Network(channels, groups).eval()
    x = torch.randn(2, 16, size, size)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(model, (x,)), cache=False)
        assert any("winograd_product" in kernel.ops for kernel in compiled.kernels)
        found = np.asarray(compiled(x))
        eager = model(x).numpy()
        wanted = model.double()(x.double()).numpy()
    error = np.linalg.norm(found - wanted)
    assert error <= 2 * np.linalg.norm(eager - wanted) + 1e-7 * np.linalg.norm(wanted)


@pytest.mark.parametrize("channels, size, kernels", [(32, 28, 1), (512, 28, 4), (32, 12, 4)])
def test_lines_by_near_weights_are_one_kernel(
    channels: int, size: int, kernels: int, always: None
) -> None:
    model, x = Network(channels, 1).eval(), torch.randn(1, 16, size, size)
    with torch.no_grad():
        program = torch.export.export(model, (x,))
        compiled = lamina.compile(program, cache=False, target="x86-64-v4;l2_bytes=2097152")
    made = [kernel for kernel in compiled.kernels if "winograd_product" in kernel.ops]
    assert sum(kernel.calls for kernel in made) == kernels


def test_odd_lines_stay(always: None) -> None:
    torch.manual_seed(0)
    model = Network(64, 1).eval()
    x = torch.randn(1, 16, 7, 7)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(model, (x,)), cache=False)
        assert not any("winograd_product" in kernel.ops for kernel in compiled.kernels)
        torch.testing.assert_close(torch.as_tensor(compiled(x)), model(x), rtol=1e-4, atol=1e-5)


class Arguments(torch.nn.Module):
    """Two convolutions of one argument, which others read as it is, and one of half of it."""

    def __init__(self) -> None:
        super().__init__()
        self.left = torch.nn.Conv2d(64, 32, 3, padding=1)
        self.right = torch.nn.Conv2d(64, 32, 3, padding=(0, 2))
        self.part = torch.nn.Conv2d(32, 64, 3, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.left(x), self.right(x).relu(), self.part(x[:, 32:]) + x


@pytest.mark.parametrize("open_sizes", [False, True])
def test_images_that_come_with_the_call_are_copied(open_sizes: bool) -> None:
    torch.manual_seed(0)
    model, x = Arguments().eval(), torch.randn(2, 64, 28, 28)
    dims = {a: torch.export.Dim(a, min=2 if a == "n" else 4, max=64) for a in "nhw"}
    shapes = ({0: dims["n"], 2: dims["h"], 3: dims["w"]},) if open_sizes else None
    with torch.no_grad():
        program = torch.export.export(
            model, (torch.randn(4, 64, 28, 32),) if open_sizes else (x,), dynamic_shapes=shapes
        )
        compiled = lamina.compile(program, cache=False)
        results = compiled(x)
        wanted = model.double()(x.double())
    if not open_sizes:
        assert any("winograd_product" in kernel.ops for kernel in compiled.kernels)
    for found, exact in zip(results, wanted, strict=True):
        error = np.linalg.norm(np.asarray(found) - exact.numpy())
        assert error <= 2e-6 * np.linalg.norm(exact.numpy())
