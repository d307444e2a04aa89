"""`torch.compile` on three small models: the lamina backend, torch eager and Inductor.

    python -m bench.torch_compile

A call of the lamina backend is Dynamo's guards, AOTAutograd's wrapper and one native call.
"""

import argparse
import os
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch
from torch import nn

from bench.timing import interleave, print_table

Model = tuple[nn.Module, torch.Tensor]


def mlp() -> Model:
    """784-512-10, batch 64."""
    layers = nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)
    return nn.Sequential(*layers), torch.randn(64, 784)


def cnn() -> Model:
    """Two convolutions with batch norm and pooling on 32x32 images, batch 4."""
    layers: list[nn.Module] = []
    for channels, features in ((3, 16), (16, 32)):
        convolution = nn.Conv2d(channels, features, 3, padding=1)
        layers += [convolution, nn.BatchNorm2d(features), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 8 * 8, 10))
    return model, torch.randn(4, 3, 32, 32)


def encoder() -> Model:
    """One transformer encoder layer of width 64, batch 2, 16 tokens."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return layer, torch.randn(2, 16, 64)


MODELS: dict[str, Callable[[], Model]] = {"MLP": mlp, "CNN": cnn, "encoder layer": encoder}


def compare(seconds: float = 5.0, inductor: bool = True) -> None:
    """Prints a table of call times for each model; `seconds` is for each."""
    backends = ("lamina", "inductor") if inductor else ("lamina",)
    with torch.no_grad():
        for name, make in MODELS.items():
            torch.manual_seed(0)
            torch._dynamo.reset()
            model, x = make()
            model.eval()
            functions = {b: torch.compile(model, backend=b) for b in backends}
            difference = (functions["lamina"](x) - model(x)).abs().max().item()
            calls: dict[str, Callable[[], object]] = {"torch eager": lambda m=model, x=x: m(x)}
            calls |= {b: lambda f=f, x=x: f(x) for b, f in functions.items()}
            title = f"{name}; largest difference from eager: {difference:.1e}"
            print_table(title, interleave(calls, seconds=seconds), "torch eager")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="torch.compile: lamina, eager, Inductor.")
    parser.add_argument("--no-inductor", action="store_true", help="leave Inductor out")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to measure each model")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    compare(arguments.seconds, inductor=not arguments.no_inductor)


if __name__ == "__main__":
    main()
