"""Trains the digits network and writes what the demo reads. Run once; the results are committed.

    pip install -c constraints.txt -e '.[torch,train]'
    python -m bench.train_digits

Writes `digits.mlir` (textual aten IR), `weights.npz` and `heldout.npz` in `examples/digits`. The
data are the 1,797 handwritten 8x8 digits that scikit-learn carries; a fixed quarter of them
is held out and never seen by training.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

DIGITS = Path(__file__).resolve().parents[1] / "examples" / "digits"
BATCH = 50
HELD_OUT = 450
EPOCHS = 60
SEED = 0


class Digits(nn.Module):
    """Two convolutions, one pooling, one linear layer: 50 images in, 10 scores each out."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.classify = nn.Linear(32 * 4 * 4, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """f32 images [N, 1, 8, 8] with values 0 to 16 give f32 scores [N, 10]."""
        hidden = torch.relu(self.conv1(images * 0.0625))
        hidden = torch.relu(self.conv2(hidden))
        hidden = torch.max_pool2d(hidden, 2)
        return self.classify(torch.flatten(hidden, 1))


def split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images and labels, held-out images and labels; images are uint8 [N, 8, 8]."""
    data = load_digits()
    order = np.random.default_rng(SEED).permutation(len(data.target))
    images = data.images.astype(np.uint8)[order]
    labels = data.target.astype(np.uint8)[order]
    return images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT]


def train(model: Digits, images: np.ndarray, labels: np.ndarray) -> None:
    """Adam with a decaying step; each batch is moved by at most one pixel against overfitting."""
    pixels = torch.from_numpy(images[:, None].astype(np.float32))
    classes = torch.from_numpy(labels.astype(np.int64))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(pixels)).split(64):
            down, right = (int(shift) for shift in torch.randint(-1, 2, (2,)))
            moved = torch.roll(pixels[rows], (down, right), (2, 3))
            loss = nn.functional.cross_entropy(model(moved), classes[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()


def export(model: Digits) -> str:
    """The program as textual aten IR, weights as arguments named like the parameters."""
    from lamina.frontends.exported_program import import_exported_program

    program = torch.export.export(model, (torch.zeros(BATCH, 1, 8, 8),))
    return str(import_exported_program(program).module)


def main() -> None:
    """Train, report the held-out accuracy, write the three files."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # the sums of several threads would differ from run to run
    train_images, train_labels, images, labels = split()
    model = Digits()
    train(model, train_images, train_labels)
    model.eval()
    with torch.no_grad():
        scores = model(torch.from_numpy(images[:, None].astype(np.float32)))
    accuracy = float((scores.argmax(1).numpy() == labels).mean())
    print(f"held-out accuracy: {accuracy:.2%} of {len(labels)} images")
    np.savez_compressed(
        DIGITS / "weights.npz",
        **{name: tensor.numpy() for name, tensor in model.state_dict().items()},
    )
    np.savez_compressed(DIGITS / "heldout.npz", images=images, labels=labels)
    (DIGITS / "digits.mlir").write_text(export(model))


if __name__ == "__main__":
    main()
