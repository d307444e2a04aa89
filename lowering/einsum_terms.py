"""The labels of an einsum's dimensions."""

from __future__ import annotations

from collections.abc import Sequence


def einsum_terms(equation: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """Labels of the dimensions of each operand, of these ranks, and of the result.

    A label is a letter, or for a dimension under an ellipsis its number from the ellipsis' end.
    ValueError for what is no equation, or none of as many operands.
    """
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks) or not all(map(_is_valid, (*terms, output))):
        raise ValueError(f"einsum {text!r} of {len(ranks)} tensors")
    labels = [_labels(term, rank) for term, rank in zip(terms, ranks, strict=True)]
    dots = max(sum(label.isdigit() for label in term) for term in labels)
    if arrow:
        return labels, _labels(output, len(output.replace("...", "")) + dots)
    return labels, _implied(inputs, dots)


def _is_valid(text: str) -> bool:
    letters = text.replace("...", "", 1)
    return not letters or (letters.isascii() and letters.isalpha())


def _labels(text: str, rank: int) -> list[str]:
    before, dots, after = text.partition("...")
    count = rank - len(before) - len(after)
    middle = [str(number) for number in reversed(range(count))] if dots else []
    return [*before, *middle, *after]


def _implied(inputs: str, dots: int) -> list[str]:
    """The ellipsis, then letters that occur once, sorted."""
    letters = inputs.replace(",", "").replace(".", "")
    once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
    return [*(str(number) for number in reversed(range(dots))), *once]
