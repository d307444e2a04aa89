"""How often `torch.compile` compiles for twenty sizes of one model: Lamina, and Inductor.

    python -m bench.compile_counts [--backends lamina inductor]

Each row is a model and what of its argument varies: batches, lengths, height and width of images.
It is called with twenty sizes, in the default mode (Dynamo compiles the first sizes alone, and then
one graph with symbolic sizes) and with `dynamic=True`. Inductor compiles each graph that Dynamo
makes once. Lamina compiles versions of it, for ranges of sizes: `lamina.compile_count()`.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

import lamina

SIZES = 20


class Pyramid(nn.Module):
    """Convolutions down and up again, on images of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.inner = nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.Conv2d(16, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of pixels."""
        fine = self.down(x).relu()
        coarse = self.inner(nn.functional.max_pool2d(fine, 2)).relu()
        wide = nn.functional.interpolate(coarse, size=fine.shape[2:], mode="bilinear")
        return self.up(torch.cat([fine, wide], 1))


def classifier() -> nn.Module:
    """Convolutions of images to five scores."""
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 8), (8, 16)):
        layers += [nn.Conv2d(inputs, outputs, 3, 2, 1), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))


def layer() -> nn.Module:
    """One layer of a transformer."""
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)


Inputs = Callable[[int], torch.Tensor]

ROWS: dict[str, tuple[Callable[[], nn.Module], Inputs]] = {
    "a layer, batches": (layer, lambda n: torch.randn(2 + n, 7, 16)),
    "a layer, lengths": (layer, lambda n: torch.randn(3, 8 * (n + 1), 16)),
    "images, batches": (classifier, lambda n: torch.randn(2 + n, 3, 24, 24)),
    "images, heights and widths": (classifier, lambda n: torch.randn(2, 3, 40 + 8 * n, 60 + 5 * n)),
    "images, down and up": (Pyramid, lambda n: torch.randn(2, 3, 40 + 8 * n, 60 + 6 * n)),
}


def count(backend: str, model: nn.Module, inputs: Inputs, dynamic: bool | None) -> int:
    """How many programs are compiled; results are those of eager mode."""
    torch._dynamo.reset()
    counter: Any = CompileCounterWithBackend(backend)
    compiled = torch.compile(model, backend=counter, dynamic=dynamic)
    before = lamina.compile_count()
    with torch.no_grad():
        for number in range(SIZES):
            x = inputs(number)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    return lamina.compile_count() - before if backend == "lamina" else counter.frame_count


def compare(backends: Sequence[str]) -> None:
    """Prints a line for each model and backend."""
    for name, (make, inputs) in ROWS.items():
        torch.manual_seed(0)
        model = make().eval()
        for backend in backends:
            default, dynamic = (count(backend, model, inputs, mode) for mode in (None, True))
            print(f"{name:28} {backend:9} default {default}, dynamic=True {dynamic}", flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m bench.compile_counts", description=__doc__)
    backends = ("lamina", "inductor")
    parser.add_argument("--backends", nargs="+", choices=backends, default=backends)
    compare(parser.parse_args().backends)


if __name__ == "__main__":
    main()
